"""Readings in columns: a sequence of readings that needs 110 bytes for each, a quarter of what the objects need."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from lpirc_power.meter import IntegratorState, Reading

_FLOATS: Final = (
    "monotonic_s", "voltage_v", "current_a", "apparent_va", "power_w", "power_factor", "energy_wh", "integrator_s",
    "voltage_range_v", "current_range_a",
)  # fmt: skip
_FLAGS: Final = ("over_range", "voltage_peak_over", "current_peak_over", "stopped")
_STATES: Final = tuple(IntegratorState)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

Column = NDArray[Any]


class ReadingColumns(Sequence[Reading]):
    """A growing sequence of readings, stored in columns.

    A reading that is taken out of it looks its values up there.
    """

    def __init__(self, readings: Iterable[Reading] = ()) -> None:
        self.floats = [array("d") for _ in _FLOATS]
        self._flags = [bytearray() for _ in _FLAGS]
        self._states = bytearray()
        self._moments = array("q")
        self._changes: dict[int, str] = {}
        for one in readings:
            self.append(one)

    def append(self, reading: Reading) -> None:
        """Add a reading."""
        if reading.changed:
            self._changes[len(self)] = reading.changed
        for column, name in zip(self.floats, _FLOATS, strict=True):
            column.append(getattr(reading, name))
        for flags, name in zip(self._flags, _FLAGS, strict=True):
            flags.append(getattr(reading, name))
        self._states.append(_STATES.index(reading.state))
        self._moments.append((reading.utc - _EPOCH) // _MICROSECOND)

    @property
    def monotonic_s(self) -> Sequence[float]:
        """The times of all readings by the monotonic clock."""
        return self.floats[0]

    @property
    def utc_us(self) -> Sequence[int]:
        """The times of all readings by the wall clock, in microseconds since 1970."""
        return self._moments

    def __len__(self) -> int:
        return len(self._states)

    @overload
    def __getitem__(self, place: int) -> Reading: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Reading]: ...
    def __getitem__(self, place: int | slice) -> Reading | Sequence[Reading]:
        if isinstance(place, slice):
            return _Chosen(self, np.arange(*place.indices(len(self))))
        return self.at(range(len(self))[place])

    def __iter__(self) -> Iterator[Reading]:
        return map(self.at, range(len(self)))

    def at(self, place: int) -> Reading:
        """Return the reading at a place from 0."""
        found: Reading = object.__new__(_Stored)
        values = vars(found)
        values["columns"] = self
        values["place"] = place
        return found

    def column(self, name: str) -> Column:
        """Return a value of all readings, as `column` does; a copy, since an array that is shared cannot grow."""
        if name in _FLOATS:
            return np.array(self.floats[_FLOATS.index(name)])
        if name in _FLAGS:
            return np.array(self._flags[_FLAGS.index(name)]).astype(np.bool_)
        if name == "state":
            return np.asarray(np.array(_STATES)[np.array(self._states)])
        return np.array([self.value(name, place) for place in range(len(self))], object)

    def value(self, name: str, place: int) -> object:
        """Return a value of the reading at a place."""
        if name == "utc":
            return _EPOCH + timedelta(microseconds=self._moments[place])
        if name == "state":
            return _STATES[self._states[place]]
        if name == "changed":
            return self._changes.get(place, "")
        return bool(self._flags[_FLAGS.index(name)][place])


class _Stored(Reading):
    """A reading whose values stay in their columns until they are asked for: most questions are for one or two.

    It equals a plain reading of the same values.
    """

    columns: ReadingColumns
    place: int

    def __new__(cls, *values: Any, **named: Any) -> Reading:  # type: ignore[misc]
        """Return a plain reading: `dataclasses.replace` makes one of the same class."""
        return Reading(*values, **named)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reading) and _values(self) == _values(other)

    def __hash__(self) -> int:
        return hash(_values(self))

    def __repr__(self) -> str:
        return repr(replace(self))


def _float_of(number: int) -> property:
    def value(self: _Stored) -> float:
        return self.columns.floats[number][self.place]

    return property(value)


def _other_of(name: str) -> property:
    return property(lambda self: self.columns.value(name, self.place))


for _number, _name in enumerate(_FLOATS):
    setattr(_Stored, _name, _float_of(_number))
for _name in ("utc", "state", "changed", *_FLAGS):
    setattr(_Stored, _name, _other_of(_name))


def _values(reading: Reading) -> tuple[object, ...]:
    return tuple(getattr(reading, field.name) for field in fields(Reading))


class _Chosen(Sequence[Reading]):
    """Some readings of a sequence in columns, without a copy."""

    def __init__(self, columns: ReadingColumns, places: Column) -> None:
        self.columns = columns
        self.places = places

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, place: int) -> Reading: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Reading]: ...
    def __getitem__(self, place: int | slice) -> Reading | Sequence[Reading]:
        if isinstance(place, slice):
            return _Chosen(self.columns, self.places[place])
        return self.columns.at(int(self.places[place]))

    def __iter__(self) -> Iterator[Reading]:
        return map(self.columns.at, self.places.tolist())


def column(readings: Sequence[Reading], name: str) -> Column:
    """Return a value of all readings (N,): of float64, of bool for a flag, else of objects."""
    if isinstance(readings, ReadingColumns):
        return readings.column(name)
    if isinstance(readings, _Chosen):
        return readings.columns.column(name)[readings.places]
    values = [getattr(one, name) for one in readings]
    if name in _FLOATS:
        return np.array(values, np.float64)
    return np.array(values, np.bool_ if name in _FLAGS else object)


def chosen(readings: Sequence[Reading], wanted: Column) -> Sequence[Reading]:
    """Return the readings for which `wanted` (N,) is True; of readings in columns without a copy."""
    if isinstance(readings, ReadingColumns):
        return _Chosen(readings, np.flatnonzero(wanted))
    if isinstance(readings, _Chosen):
        return _Chosen(readings.columns, readings.places[wanted])
    return [*itertools.compress(readings, wanted.tolist())]


def joined(
    readings: Sequence[Reading], more: Sequence[Sequence[Reading]]
) -> Sequence[Reading]:
    """Return readings and behind them all of `more`."""
    if not more:
        return readings
    return ReadingColumns(itertools.chain(readings, *more))
