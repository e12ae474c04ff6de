"""A WT300 behind an open link, as an address opens it."""

from __future__ import annotations

from typing import Any

from lpirc_power.addresses.visa_address import identity
from lpirc_power.clocks import Clocks
from lpirc_power.wt300.driver import Wt300
from lpirc_power.wt300.former_settings import FormerSettings


def wt300(
    link: Any,
    clocks: Clocks,
    former: FormerSettings | None = None,
) -> Wt300:
    """Ask the meter who it is, and return its driver."""
    return Wt300(link, identity(link.query("*IDN?")), clocks, former)
