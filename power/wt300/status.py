"""The present settings of a meter of the WT300 family, in whichever words it answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from power.meter import IntegratorState, Status
from power.wt300 import answers
from power.wt300.models import Model
from power.wt300.settings import MODES, SYNCHRONIZATIONS

AUTOMATIC: Final = "AUTO"
LONGEST_INTERVAL_S: Final = 60.0
"""More than any meter of the family has: 20 s."""
Ask = Callable[[str], str]
"""Sends a query and returns its answer without a header."""


def status(
    ask: Ask, model: Model, state: Callable[[], IntegratorState], errors: Callable[[], tuple[str, ...]]
) -> Status:
    """Return the present settings, the integrator's state, and last the errors, those of the questions included."""
    return Status(
        voltage_range_v=_range(ask(":INPUT:VOLTAGE:RANGE?")),
        voltage_auto=answers.boolean(ask(":INPUT:VOLTAGE:AUTO?")),
        current_range_a=_range(ask(":INPUT:CURRENT:RANGE?")),
        current_auto=answers.boolean(ask(":INPUT:CURRENT:AUTO?")),
        update_interval_s=interval_s(ask, model),
        mode=_named(MODES, ask(":INPUT:MODE?")),
        crest_factor=crest_factor(ask),
        line_filter=answers.boolean(ask(":INPUT:FILTER:LINE?")),
        frequency_filter=answers.boolean(ask(":INPUT:FILTER:FREQUENCY?")),
        synchronize=_named(SYNCHRONIZATIONS, ask(":INPUT:SYNCHRONIZE?")),
        state=state(),
        errors=errors(),
    )


def crest_factor(ask: Ask) -> int:
    """Return the crest factor, 3 or 6."""
    # E models have a third one, A6: that of 6 with automatic ranging that looks at the rms value only.
    return 6 if ask(":INPUT:CFACTOR?").upper() in ("6", "A6") else 3


def interval_s(ask: Ask, model: Model) -> float:
    """Return the update interval."""
    # E models can follow the signal's period; no other figure than the shortest interval is known then.
    answer = ask(":RATE?")
    interval_s = model.rates_s[0] if answer.upper() == AUTOMATIC else answers.value(answer)
    if not 0 < interval_s <= LONGEST_INTERVAL_S:
        raise answers.strange(answer, "an update interval")
    return interval_s


def _range(answer: str) -> float:
    # EXTERNAL,0.05: the range of a current sensor at the socket for one, in volts; no amperes are known then.
    return math.nan if answer.upper().startswith("EXT") else answers.value(answer)


def _named(words: dict[str, str], answer: str) -> str:
    # Short words are beginnings of the long ones; none of those of a setting begins another.
    found = [name for name, word in words.items() if answer and word.startswith(answer.upper())]
    return found[0] if found else answer.lower()
