"""Readings in columns: a sequence of readings that needs 110 bytes for each, a quarter of what the objects need."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, overload

from lpirc_power.meter import IntegratorState, Reading

_FLOATS: Final = (
    "monotonic_s", "voltage_v", "current_a", "apparent_va", "power_w", "power_factor", "energy_wh", "integrator_s",
    "voltage_range_v", "current_range_a",
)  # fmt: skip
_FLAGS: Final = ("over_range", "voltage_peak_over", "current_peak_over", "stopped")
_STATES: Final = tuple(IntegratorState)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class ReadingColumns(Sequence[Reading]):
    """A growing sequence of readings, stored in columns; a reading is made again whenever it is asked for."""

    def __init__(self, readings: Iterable[Reading] = ()) -> None:
        self._floats = [array("d") for _ in _FLOATS]
        self._flags = [bytearray() for _ in _FLAGS]
        self._states = bytearray()
        self._moments = array("q")
        self._changes: dict[int, str] = {}
        for one in readings:
            self.append(one)

    def append(self, reading: Reading) -> None:
        """Add a reading."""
        values = vars(reading)
        if reading.changed:
            self._changes[len(self)] = reading.changed
        for column, name in zip(self._floats, _FLOATS, strict=True):
            column.append(values[name])
        for flags, name in zip(self._flags, _FLAGS, strict=True):
            flags.append(values[name])
        self._states.append(_STATES.index(reading.state))
        self._moments.append((reading.utc - _EPOCH) // _MICROSECOND)

    def __len__(self) -> int:
        return len(self._states)

    @overload
    def __getitem__(self, place: int) -> Reading: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Reading]: ...
    def __getitem__(self, place: int | slice) -> Reading | Sequence[Reading]:
        places = range(len(self))[place]
        return self.at(places) if isinstance(places, int) else _Chosen(self, places)

    def __iter__(self) -> Iterator[Reading]:
        return map(self.at, range(len(self)))

    def at(self, place: int) -> Reading:
        """Return the reading at a place from 0."""
        values = dict(zip(_FLOATS, [one[place] for one in self._floats], strict=True))
        flags = zip(_FLAGS, [bool(one[place]) for one in self._flags], strict=True)
        made = object.__new__(Reading)  # twice as fast as its __init__, which is frozen
        vars(made).update(
            values,
            utc=_EPOCH + timedelta(microseconds=self._moments[place]),
            state=_STATES[self._states[place]],
            changed=self._changes.get(place, ""),
        )
        vars(made).update(flags)
        return made


class _Chosen(Sequence[Reading]):
    """Some readings of a sequence in columns, without a copy."""

    def __init__(self, columns: ReadingColumns, places: Sequence[int]) -> None:
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
        return self.columns.at(self.places[place])

    def __iter__(self) -> Iterator[Reading]:
        return map(self.columns.at, self.places)


def chosen(
    readings: Sequence[Reading], holds: Callable[[Reading], bool]
) -> Sequence[Reading]:
    """Return the readings for which `holds` is True; of readings in columns, without making them all at once."""
    if isinstance(readings, ReadingColumns):
        readings = _Chosen(readings, range(len(readings)))
    if not isinstance(readings, _Chosen):
        return [one for one in readings if holds(one)]
    pairs = zip(readings.places, readings, strict=True)
    return _Chosen(
        readings.columns, array("q", (at for at, one in pairs if holds(one)))
    )
