"""Values that no setup of a measurement can have, whatever the meter. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from lpirc_power.errors import MeterRangeError
from lpirc_power.meter import CREST_FACTORS, MODES, Setup

SHORTEST_UPDATE_S: Final = 1e-4
LONGEST_UPDATE_S: Final = 1e6
_NUMBERS: Final = (
    "voltage_range_v",
    "current_range_a",
    "update_interval_s",
    "integrator_timer_s",
    "ambient_change_c",
)
_MAY_BE_NONE: Final = ("voltage_range_v", "current_range_a")
_SWITCHES: Final = ("line_filter", "frequency_filter")
_WORDS: Final = ("mode", "synchronize", "element")


def setup_problems(setup: Setup) -> Iterator[str]:
    """Yield a clause for each value that cannot be: "update_interval_s is 0"."""
    wrong = [*_wrong_types(setup)]
    yield from wrong
    if not wrong:
        yield from _wrong_values(setup)


def require_setup_values(setup: Setup) -> None:
    """Raise MeterRangeError that names the first value that cannot be."""
    problem = next(setup_problems(setup), "")
    if problem:
        raise MeterRangeError(f"The setup cannot be: {problem}.")


def _wrong_types(setup: Setup) -> Iterator[str]:
    for name in _NUMBERS:
        value = getattr(setup, name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (is_number or (value is None and name in _MAY_BE_NONE)):
            yield f"{name} is {value!r}, not a number"
    for name in _SWITCHES:
        value = getattr(setup, name)
        if not isinstance(value, bool):
            yield f"{name} is {value!r}, not True or False"
    for name in _WORDS:
        value = getattr(setup, name)
        if not isinstance(value, str):
            yield f"{name} is {value!r}, not a text"


def _wrong_values(setup: Setup) -> Iterator[str]:
    interval_s = setup.update_interval_s
    if not SHORTEST_UPDATE_S <= interval_s <= LONGEST_UPDATE_S:
        limits = f"{SHORTEST_UPDATE_S:g} to {LONGEST_UPDATE_S:g} s"
        yield f"update_interval_s is {interval_s:g}, not from {limits}"
    if setup.crest_factor not in CREST_FACTORS:
        known = " or ".join(map(str, CREST_FACTORS))
        yield f"crest_factor is {setup.crest_factor!r}, not the number {known}"
    if setup.mode not in MODES:
        known = " or ".join(map(repr, MODES))
        yield f"mode is {setup.mode!r}, not {known}"
    for name in _MAY_BE_NONE:
        value = getattr(setup, name)
        if value is not None and not 0 < value < math.inf:
            yield f"{name} is {value:g}, not a finite number above 0"
    if setup.integrator_timer_s < 0:
        yield f"integrator_timer_s is {setup.integrator_timer_s}, not from 0 up"
    if not 0 <= setup.ambient_change_c < math.inf:
        yield f"ambient_change_c is {setup.ambient_change_c:g}, not a finite number from 0 up"
