"""What in a reading is not of the type that the protocol of a meter says. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Final

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
