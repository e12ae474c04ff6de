"""The readings of a recording as numpy columns."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lpirc_power.meter import Reading

TIME: Final = "time_s"
UTC: Final = "utc"
_COLUMNS: Final = {
    "voltage_v": "float64",
    "current_a": "float64",
    "power_w": "float64",
    "apparent_va": "float64",
    "power_factor": "float64",
    "energy_wh": "float64",
    "integrator_s": "float64",
    "voltage_range_v": "float64",
    "current_range_a": "float64",
    "over_range": "bool",
    "voltage_peak_over": "bool",
    "current_peak_over": "bool",
}

Column = NDArray[Any]


class Readings(Mapping[str, Column]):
    """Columns of equal length, by name: `readings["power_w"]`, `dict(readings)` for a table of your own.

    `time_s` is the time since the start of the recording, `utc` the time of day. NaN means that the meter had no data,
    infinity that it was over range. The last reading is the one after the stop, with the energy.
    """

    def __init__(self, readings: Sequence[Reading], start_s: float) -> None:
        """Take the columns out of readings."""
        moments = [one.utc.replace(tzinfo=None) for one in readings]
        self._columns: dict[str, Column] = {
            TIME: np.array([one.monotonic_s - start_s for one in readings], "float64"),
            UTC: np.array(moments, "datetime64[us]"),
        }
        for name, kind in _COLUMNS.items():
            values = list(map(operator.attrgetter(name), readings))
            self._columns[name] = np.array(values, kind)

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        rows = len(self._columns[TIME])
        return f"<{rows} readings: {', '.join(self)}>"
