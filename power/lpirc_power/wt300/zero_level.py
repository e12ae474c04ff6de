"""Compensates the zero level of a WT300 meter for all ranges (IM WT310-17EN, *CAL?)."""

from __future__ import annotations

from typing import Final

from lpirc_power.errors import MeterRefused
from lpirc_power.meter import Identity, VisaLink
from lpirc_power.wt300.dialogue import Dialogue

ZERO_TIMEOUT_MS: Final = 60_000
"""Timeout of the zero level compensation: the manuals state no duration; it takes seconds."""


def compensate_zero(link: VisaLink, dialogue: Dialogue, identity: Identity) -> None:
    """Compensate the zero level; MeterError `meter-refused` if the meter reports a failure."""
    answer = link.query("*CAL?", timeout_ms=ZERO_TIMEOUT_MS).strip()
    if answer == "0":
        return
    errors = dialogue.errors()
    why = f" ({'; '.join(errors)})" if errors else ""
    raise MeterRefused(
        f"The meter {identity.serial} could not compensate its zero level, it answers {answer}{why}; "
        "let it warm up for half an hour and try again, and have it serviced if that does not help."
    )
