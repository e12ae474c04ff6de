"""The readings of a recording as numpy columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lpirc_power.meter import Reading

TIME: Final = "time_s"
UTC: Final = "utc"
_FLOATS: Final = (
    "voltage_v",
    "current_a",
    "power_w",
    "apparent_va",
    "power_factor",
    "energy_wh",
    "integrator_s",
    "voltage_range_v",
    "current_range_a",
)
_FLAGS: Final = ("over_range", "voltage_peak_over", "current_peak_over")

Column = NDArray[Any]


class Readings(Mapping[str, Column]):
    """Columns of equal length, by name: `readings["power_w"]`, `dict(readings)` for a table of your own.

    `time_s` is the time since the start of the recording, `utc` the time of day. NaN means that the meter had no data,
    infinity that it was over range. The last reading is the one after the stop, with the energy.
    """

    def __init__(self, readings: Sequence[Reading], start_s: float) -> None:
        """Take the columns out of readings."""
        rows = [
            (one.monotonic_s - start_s, one.utc.replace(tzinfo=None), *_values(one))
            for one in readings
        ]
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
        names = (TIME, UTC, *_FLOATS, *_FLAGS)
        if not rows:
            columns = [() for _ in names]
        named = zip(names, columns, strict=True)
        self._columns = {name: np.array(values, _kind(name)) for name, values in named}

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        rows = len(self._columns[TIME])
        return f"<{rows} readings: {', '.join(self)}>"


def _values(one: Reading) -> tuple[object, ...]:
    values = vars(one)
    return tuple(values[name] for name in (*_FLOATS, *_FLAGS))


def _kind(name: str) -> str:
    if name == UTC:
        return "datetime64[us]"
    return "bool" if name in _FLAGS else "float64"
