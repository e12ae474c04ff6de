"""What in a reading is not of the type that the protocol of a meter says. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Final, cast

from lpirc_power.meter import Reading

NUMBERS: Final = (
    "monotonic_s",
    "voltage_v",
    "current_a",
    "apparent_va",
    "power_w",
    "power_factor",
    "energy_wh",
    "integrator_s",
    "voltage_range_v",
    "current_range_a",
)
FLAGS: Final = ("over_range", "voltage_peak_over", "current_peak_over", "stopped")
LARGEST: Final = 1e300
"""A whole number from here on cannot be counted with as a float."""


def is_number(value: object) -> bool:
    """Return True for a float, NaN and infinity too, and for a whole number that a float can hold."""
    if isinstance(value, float):
        return True
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return is_whole and abs(cast("int", value)) < LARGEST


def reading_problem(reading: Reading) -> str:
    """Return what is not of its type, as `has power_w = 'x', where ...`; empty if all is."""
    for name in NUMBERS:
        value = getattr(reading, name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return f"has {name} = {value!r:.40}, where a number must be; NaN is no data"
    for name in FLAGS:
        value = getattr(reading, name)
        if not isinstance(value, bool):
            return f"has {name} = {value!r:.40}, where True or False must be"
    if not isinstance(reading.utc, datetime) or reading.utc.utcoffset() is None:
        return (
            f"has utc = {reading.utc!r:.40}, without its time zone: use clocks.utcnow()"
        )
    return ""
