"""Power meters: the meter protocol and its readings, drivers, sampling, energy, and a simulated WT310.

Knows nothing of HTTP, runs or scoring. Start with `meter` (the protocol) and `meter_address` (opens the meter at an
address). `scheme` and `driver_registry` are the extension points for meters of other makers.

The names below are for programs and notebooks; each is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lpirc_power.marking import mark
    from lpirc_power.recorded_files import read_measurement, read_recorded

__all__ = ["mark", "read_measurement", "read_recorded"]

_PLACES: Final = {
    "mark": "marking",
    "read_measurement": "recorded_files",
    "read_recorded": "recorded_files",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_PLACES[name]}")
    return getattr(module, name)
