"""Readings of another program's recording: its columns mapped, its units converted, and what it does not say."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lpirc_power.errors import MeterError
from lpirc_power.foreign.cell_values import sized
from lpirc_power.foreign.column_names import (
    Column,
    are_places,
    asked_columns,
    option_by_unit,
    plain_name,
    quoted,
    recognized,
)
from lpirc_power.foreign.decimal_sign import Cell, decimal_sign
from lpirc_power.foreign.foreign_times import Times, even_times, times_of
from lpirc_power.foreign.mixed_recordings import (
    require_its_scale,
    require_one_device,
)
from lpirc_power.foreign.stated_units import require_its_unit
from lpirc_power.foreign.table_reader import ForeignTable, read_table
from lpirc_power.meter import IntegratorState, Reading

Floats = NDArray[np.float64]

NO_MARK: Final = ("", "notset")
"""Cells of a column of marks that stand for none."""
OTHER_ELEMENT: Final = re.compile(
    r"p\W?(e?[23]|sum|sigma|total|\N{GREEK CAPITAL LETTER SIGMA})\b", re.IGNORECASE
)
"""Head of the power of another element of a meter, or of the sum: then P1 is a part of the power."""
OF_CHANGES: Final = ("last changed", "last updated")
"""Plain heads of times at which a value changed, as Home Assistant writes them: it holds until the next one."""
PTD_NO_DATA: Final = -1.0
"""A log of PTDaemon writes -1 where it has no value."""
_VALUES: Final = ("power", "voltage", "current", "apparent", "factor", "energy", "counted")  # fmt: skip


@dataclass(frozen=True)
class NamedStretch:
    """Consecutive readings with one mark: its name, and from when to when they measured, in seconds."""

    name: str
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class ForeignRecording:
    """Readings, and how they were read.

    `quantities` are those that the file has; without "energy" the readings' energies are the trapezoid of the powers,
    or, if a power `holds` until the next one, their steps. Without "counted" their integrator times are the times
    themselves. `notes` are sentences for people.
    """

    readings: Sequence[Reading]
    quantities: frozenset[str]
    notes: Sequence[str]
    stretches: Sequence[NamedStretch]
    holds: bool = False


@dataclass(frozen=True)
class Reader:
    """How a person says that the file is to be read; the defaults read what they can by the heads.

    An interval contradicts the times that a file has, unless it is said of several files: then of those without times.
    """

    columns: str = ""
    interval_s: float | None = None
    is_dc: bool = False
    decimal: str | None = None
    is_of_several: bool = False


def read_foreign(path: Path, reader: Reader) -> ForeignRecording:
    """Return the recording in a file of another program.

    Raises MeterError, naming file, line and value: those of `read_table` and `times_of`, `recording-columns` (no power,
    no time, two columns for one, an unknown column), `recording-value` (a cell that is no number).
    """
    has_head = not are_places(reader.columns)
    table = read_table(path, has_head=has_head)
    columns = _columns(table, reader)
    table, signed = _with_decimal_sign(table, columns, reader)
    date = columns.get("date")
    is_interval_of_this = reader.interval_s is not None and not reader.is_of_several
    if "time" in columns and is_interval_of_this:
        raise MeterError(
            "recording-columns",
            f"{path} has times of its own, in the column {columns['time'].head!r}; leave --interval out.",
        )
    if "time" in columns:
        times = times_of(table, columns["time"], date, columns.get("millisecond"))
    elif reader.interval_s is not None:
        times = even_times(table, reader.interval_s)
    else:
        raise _lacking(
            table, "time", "; or state that the readings are --interval S apart"
        )
    values: dict[str, Floats] = {
        name: _values(table, columns[name]) for name in _VALUES if name in columns
    }
    require_one_device(table, {one.place for one in columns.values()})
    require_its_scale(table, columns, values)
    notes = [*table.notes, times.note, *signed, *_notes(table, columns)]
    if "power" not in values:
        values["power"] = values["voltage"] * values["current"]
        notes.append("The power is voltage x current, which holds for DC alone.")
    notes += _completed(values)
    places, repeated = _distinct(table, times)
    notes += repeated
    holds = "time" in columns and plain_name(columns["time"].head) in OF_CHANGES
    return ForeignRecording(
        _readings(places, times, values, holds=holds),
        frozenset(columns),
        notes,
        _stretches(table, columns.get("mark"), times),
        holds,
    )


def lacks_times(path: Path, reader: Reader) -> bool:
    """Return True if a file has no column of times. Raises MeterError: those of reading its table and columns."""
    table = read_table(path, has_head=not are_places(reader.columns))
    return "time" not in _columns(table, reader)


def _completed(values: dict[str, Floats]) -> list[str]:
    """Add what others determine, for the limits of error: V x I is the apparent power, or else P / PF. Say so."""
    known = set(values)
    if "apparent" not in known:
        if {"voltage", "current"} <= known:
            values["apparent"] = values["voltage"] * values["current"]
        elif "factor" in known:
            values["apparent"] = _divided(values["power"], values["factor"])
            return ["The apparent power is power / power factor."]
        return []
    for one, other in (("voltage", "current"), ("current", "voltage")):
        if one not in known and other in known:
            values[one] = _divided(values["apparent"], values[other])
            return [f"The {one} is apparent power / {other}."]
    return []


def _divided(one: Floats, other: Floats) -> Floats:
    """Return the size of a quotient; NaN where nothing divides."""
    found = np.full(len(one), math.nan)
    usable = np.isfinite(one) & np.isfinite(other) & (other != 0.0)
    np.divide(np.abs(one), np.abs(other), out=found, where=usable)
    return found


def _with_decimal_sign(
    table: ForeignTable, columns: Mapping[str, Column], reader: Reader
) -> tuple[ForeignTable, list[str]]:
    """Return the table with its decimal sign, and the sentence that says how it is known, if there is one."""
    used = [columns[name] for name in ("time", *_VALUES) if name in columns]
    cells = [_cells_of(table, one) for one in used]
    sign, note = decimal_sign(table.path, table.separator, cells, reader.decimal)
    return replace(table, has_decimal_comma=sign == ","), [note] if note else []


def _cells_of(table: ForeignTable, column: Column) -> list[Cell]:
    place = column.place
    return [Cell(line, column.head, row[place]) for line, row in table.rows]


def _columns(table: ForeignTable, reader: Reader) -> dict[str, Column]:
    """Return the columns by quantity: those that were asked for, then those that the heads name."""
    found = {one.quantity: one for one in asked_columns(reader.columns, table.heads)}
    taken = {one.place for one in found.values()}
    known = [recognized(place, head) for place, head in enumerate(table.heads)]
    free = [one for one in known if one and one.place not in taken]
    rivals = [one.head for one in free if one.quantity == "power"]
    rivals += [head for head in table.heads if rivals and OTHER_ELEMENT.match(head)]
    if "power" not in found and len(rivals) > 1:
        raise MeterError(
            "recording-columns",
            f"{table.path} has several columns that may be the power: {quoted(rivals)}. Name one with --columns "
            f"power={rivals[0]}.",
        )
    for one in free:
        # An energy without a unit, in Wh or in J, is not guessed at.
        if one.quantity != "energy" or one.size is not None:
            found.setdefault(one.quantity, one)
    energy = found.get("energy")
    if energy and energy.size is None:
        raise MeterError(
            "recording-columns",
            f"The unit of the column {energy.head!r} is unknown; write it: --columns energy:Wh={energy.head}, or "
            "energy:J=...",
        )
    for one in found.values():
        if one.quantity != "time":  # a date needs no unit
            require_its_unit(table.path, one, table.preamble)
    is_product = reader.is_dc and {"voltage", "current"} <= found.keys()
    if "power" not in found and not is_product:
        raise _lacking(
            table, "power", "; of a DC supply, --mode dc takes voltage x current"
        )
    return found


def _lacking(table: ForeignTable, quantity: str, more: str) -> MeterError:
    return MeterError(
        "recording-columns",
        f"{table.path} has no column that is known as the {quantity}; it has {quoted(table.heads)}. Name it with "
        f"--columns {quantity}=HEAD{more}.",
    )


def _values(table: ForeignTable, column: Column) -> Floats:
    size = 1.0 if column.size is None else column.size
    found = np.empty(len(table.rows))
    for place, (line, cells) in enumerate(table.rows):
        text = cells[column.place]
        try:
            value = sized(
                text, column.quantity, size, has_decimal_comma=table.has_decimal_comma
            )
        except ValueError:
            raise MeterError(
                "recording-value",
                f"{table.path}, line {line}: {column.head} is {text[:60]!r} where a number with the decimal sign "
                f"{',' if table.has_decimal_comma else '.'!r} should be.",
            ) from None
        found[place] = value
    if table.is_log:
        found[found == PTD_NO_DATA] = math.nan
    return found


def _notes(table: ForeignTable, columns: Mapping[str, Column]) -> list[str]:
    used = [one for name, one in columns.items() if name in _WORDS]
    named = [f"{one.head!r} is the {_WORDS[one.quantity]}{_unit(one)}" for one in used]
    notes = [f"Column {', column '.join(named)}."] if named else []
    places = {one.place for one in columns.values()}
    unused = [head for place, head in enumerate(table.heads) if place not in places]
    left = [head for head in unused if head]  # an index has no head
    if left:
        notes.append(f"Not used: {quoted(left)}.{option_by_unit(left, columns)}")
    unsized = [head for head in left if _is_energy_without_unit(head)]
    if unsized and "energy" not in columns:
        notes.append(
            f"The unit of the energy {unsized[0]!r} is not stated: --columns energy:Wh={unsized[0]}, or energy:J=..., "
            "states it."
        )
    if table.skipped:
        first = table.skipped[0]
        notes.append(
            f"Lines that are no samples: {len(table.skipped)}, first line {first}."
        )
    return notes


def _is_energy_without_unit(head: str) -> bool:
    found = recognized(0, head)
    return found is not None and found.quantity == "energy" and found.size is None


_WORDS: Final = {
    "power": "power", "voltage": "voltage", "current": "current", "apparent": "apparent power",
    "factor": "power factor", "energy": "energy", "counted": "integrator's time", "mark": "mark",
}  # fmt: skip
_UNIT_WORDS: Final = {
    "power": {1.0: "W", 1e-3: "mW", 1e-6: "uW", 1e3: "kW"},
    "voltage": {1.0: "V", 1e-3: "mV", 1e-6: "uV", 1e3: "kV"},
    "current": {1.0: "A", 1e-3: "mA", 1e-6: "uA", 1e-9: "nA"},
    "apparent": {1.0: "VA", 1e-3: "mVA", 1e3: "kVA"},
    "energy": {1.0: "Wh", 1e-3: "mWh", 1e3: "kWh", 1 / 3600: "J", 1e-3 / 3600: "mJ", 1e3 / 3600: "kJ"},
}  # fmt: skip


def _unit(column: Column) -> str:
    words = _UNIT_WORDS.get(column.quantity, {})
    shown = words.get(column.size or 1.0)
    if not shown:
        return ""
    return f" in {shown}" if column.is_stated else f", taken as {shown}"


def _distinct(table: ForeignTable, times: Times) -> tuple[list[int], list[str]]:
    """Return the places of the readings without repeated rows, and sentences about those and about equal times."""
    kept = [0]
    repeated: list[int] = []
    equal: list[int] = []
    for place in range(1, len(table.rows)):
        line, cells = table.rows[place]
        if times.seconds[place] != times.seconds[kept[-1]]:
            kept.append(place)
        elif list(cells) == list(table.rows[kept[-1]][1]):
            repeated.append(line)
        else:
            equal.append(line)
            kept.append(place)
    notes = []
    if repeated:
        notes.append(
            f"Rows that repeat the one before and are left out: {len(repeated)}, first line {repeated[0]}."
        )
    if equal:
        notes.append(
            f"Readings with the time of the one before: {len(equal)}, first line {equal[0]}; the times are coarse, or "
            "two recordings are mixed."
        )
    return kept, notes


def _readings(
    places: Sequence[int],
    times: Times,
    values: Mapping[str, Floats],
    *,
    holds: bool,
) -> list[Reading]:
    seconds = np.array([times.seconds[place] for place in places])
    at = {name: column[list(places)] for name, column in values.items()}
    none = np.full(len(places), math.nan)
    energy_wh = _energies(seconds, at, holds=holds)
    counted = at.get("counted")
    counted_s = seconds if counted is None else counted - counted[0]
    found = []
    for place, time_s in enumerate(seconds.tolist()):
        cells = {name: float(at.get(name, none)[place]) for name in _VALUES}
        found.append(
            Reading(
                monotonic_s=time_s,
                utc=times.utc(time_s),
                voltage_v=cells["voltage"],
                current_a=cells["current"],
                apparent_va=cells["apparent"],
                power_w=cells["power"],
                power_factor=cells["factor"],
                energy_wh=float(energy_wh[place]),
                integrator_s=float(counted_s[place]),
                state=IntegratorState.START,
                over_range=any(map(math.isinf, cells.values())),
                voltage_peak_over=False,
                current_peak_over=False,
            )
        )
    return found


def _energies(seconds: Floats, at: Mapping[str, Floats], *, holds: bool) -> Floats:
    """Return the energies since the first reading: of the file, or else the trapezoid or steps of the finite powers."""
    counted = at.get("energy")
    if counted is not None:
        finite = counted[np.isfinite(counted)]
        first = float(finite[0]) if finite.size else 0.0
        return counted - first
    power_w = at["power"]
    known = np.isfinite(power_w)
    if not known.any():
        return np.full(len(seconds), math.nan)
    times_s = seconds[known]
    powers_w = power_w[known]
    pauses_s = np.diff(seconds)
    if holds:
        last = np.searchsorted(times_s, seconds, side="right") - 1
        held_w = powers_w[np.maximum(last, 0)]
        steps = held_w[:-1] * pauses_s
    else:
        filled_w = np.interp(seconds, times_s, powers_w)
        means_w = (filled_w[1:] + filled_w[:-1]) / 2
        steps = means_w * pauses_s
    sums = np.cumsum(steps)
    return np.concatenate(([0.0], sums)) / 3600.0


def _stretches(
    table: ForeignTable, mark: Column | None, times: Times
) -> list[NamedStretch]:
    if mark is None:
        return []
    named = zip(
        times.seconds, (cells[mark.place] for _, cells in table.rows), strict=True
    )
    found = []
    for name, part in itertools.groupby(named, key=lambda one: one[1]):
        at_s = [one[0] for one in part]
        if name.casefold() not in NO_MARK:
            found.append(NamedStretch(name, at_s[0], at_s[-1]))
    return found
