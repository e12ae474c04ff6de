"""Times of another program's recording as seconds since its first reading. Pure."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

from lpirc_power.errors import MeterError
from lpirc_power.foreign.cell_values import clock_s, is_date, moment, number, unix_size
from lpirc_power.foreign.column_names import Column
from lpirc_power.foreign.stated_units import require_its_unit
from lpirc_power.foreign.table_reader import ForeignTable
from lpirc_power.recording import NO_DATE

DAY_S: Final = 86_400.0
HOUR_S: Final = 3600.0
SET_BACK: Final = (
    "; if the clock was set back from summer time there, give the times with their "
    "offsets, or cut the file in two"
)
LONGEST_S: Final = 1e9
"""Longest time between two readings of a recording, 30 years; the calendar ends not far beyond."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SLASHED: Final = re.compile(r"\s*\d{1,2}/\d{1,2}/\d{2,4}", re.ASCII)
Parse = Callable[[str], float | None]


@dataclass(frozen=True)
class Times:
    """Seconds since the first reading, that reading's date (`NO_DATE` if the file has none), and how they were read."""

    seconds: Sequence[float]
    begin: datetime
    note: str

    def utc(self, seconds: float) -> datetime:
        """Return the date of a time."""
        return self.begin + timedelta(seconds=seconds)


def even_times(table: ForeignTable, interval_s: float) -> Times:
    """Return the times of readings at equal steps, as a person states them."""
    seconds = [place * interval_s for place in range(len(table.rows))]
    return Times(
        seconds, NO_DATE, f"The times are those of --interval: {interval_s:g} s apart."
    )


def times_of(
    table: ForeignTable,
    column: Column,
    date: Column | None,
    millisecond: Column | None = None,
) -> Times:
    """Return the times of a column, with that of the dates and of the milliseconds if there are some.

    Raises MeterError: `recording-value` (no time), `recording-order` (a time that goes back).
    """
    texts = [_text(cells, column, date, millisecond) for _, cells in table.rows]
    parse, note, is_dated = _parser(table, column, texts[0])
    found: list[float] = []
    days = 0.0
    for (line, _), text in zip(table.rows, texts, strict=True):
        value = parse(text)
        if value is None or not math.isfinite(value):
            raise _wrong(table, line, column, text, "a time as in the lines before")
        value += days
        before = found[-1] if found else value
        if not is_dated and clock_s(text) is not None and value < before - DAY_S / 2:
            days += DAY_S  # a clock without a date has passed midnight
            value += DAY_S
        if value < before:
            back_s = before - value
            is_set_back = _is_local(text) and abs(back_s - HOUR_S) < HOUR_S / 2
            more = SET_BACK if is_set_back else ""
            raise MeterError(
                "recording-order",
                f"{table.path}, line {line}: the time goes back from {texts[len(found) - 1]!r} to {text!r}; a file "
                f"holds one recording, in the order of its times{more}.",
            )
        if value - (found[0] if found else value) > LONGEST_S:
            raise MeterError(
                "recording-value",
                f"{table.path}, line {line}: the time {text[:60]!r} is more than {LONGEST_S:.0e} s after the first "
                "one. No recording lasts so long; name the column of the time with --columns time=HEAD.",
            )
        found.append(value)
    if _is_local(texts[0]):
        note += _summer_time(texts, found)
    begin = EPOCH + timedelta(seconds=found[0]) if is_dated else NO_DATE
    return Times([one - found[0] for one in found], begin, note)


def _is_local(text: str) -> bool:
    """Return True for a time of day without an offset, whose clock may be set to summer time and back."""
    return ":" in text and not _has_offset(text)


def _summer_time(texts: Sequence[str], found: Sequence[float]) -> str:
    """Return a sentence if a pause is an hour longer than the others, as when a clock is set to summer time."""
    pauses_s = [after - before for before, after in pairwise(found)]
    if not pauses_s:
        return ""
    usual_s = statistics.median(pauses_s)
    place = pauses_s.index(max(pauses_s))
    over_s = pauses_s[place] - usual_s
    if not 0 < usual_s < HOUR_S / 60 or abs(over_s - HOUR_S) > 2 * usual_s:
        return ""
    return (
        f" From {texts[place]!r} to {texts[place + 1]!r} is an hour more than between the others: if the clock was set "
        "to summer time there, the energy has an hour too much; give the times with their offsets."
    )


def _text(
    cells: Sequence[str],
    column: Column,
    date: Column | None,
    millisecond: Column | None,
) -> str:
    time = cells[column.place]
    if millisecond and ":" in time and not {".", ","} & set(time):
        time = f"{time}.{cells[millisecond.place]:0>3}"
    return f"{cells[date.place]} {time}" if date else time


def _parser(table: ForeignTable, column: Column, first: str) -> tuple[Parse, str, bool]:
    """Return the function that reads the times, a sentence that says how, and whether they have dates."""
    named = f"Column {column.head!r} is the time"
    try:
        value = number(first, has_decimal_comma=table.has_decimal_comma)
    except ValueError:
        value = math.nan
    if math.isfinite(value):
        unix = unix_size(value)
        if unix is None:
            require_its_unit(table.path, column, table.preamble)
        size = unix or column.size or 1.0
        of_unit = {1e-3: "ms", 1e-6: "us", 1e-9: "ns", 60.0: "min", 3600.0: "h"}
        unit = of_unit.get(size, "s")
        kind = "Unix time" if unix else "counted from anywhere"
        guessed = "" if unix or column.size else " (its unit is not stated)"
        note = f"{named}, {kind}, in {unit}{guessed}."
        return _scaled(size, table.has_decimal_comma), note, bool(unix)
    if clock_s(first) is not None:
        return clock_s, f"{named} of day, without a date.", False
    if moment(first) is not None and not is_date(first):
        zone = "" if _has_offset(first) else "; it states no offset and is taken as UTC"
        return _dated, f"{named} and date{zone}.", True
    wanted = "a time should be: seconds, a Unix time, or a date with time such as 2026-03-01T12:00:00.5Z"
    if SLASHED.match(first):
        wanted += (
            "; whether a date with / begins with its day or its month, nobody can tell"
        )
    raise _wrong(
        table,
        table.rows[0][0],
        column,
        first,
        wanted,
        "where",
    )


def _scaled(size: float, has_decimal_comma: bool) -> Parse:
    def parse(text: str) -> float | None:
        try:
            return number(text, has_decimal_comma=has_decimal_comma) * size
        except ValueError:
            return None

    return parse


def _dated(text: str) -> float | None:
    found = moment(text)
    return None if found is None else (found - EPOCH).total_seconds()


def _has_offset(text: str) -> bool:
    tail = text.strip()[10:]
    return tail.endswith(("Z", "z")) or "+" in tail or "-" in tail


def _wrong(
    table: ForeignTable,
    line: int,
    column: Column,
    text: str,
    wanted: str,
    joined: str = "and not",
) -> MeterError:
    return MeterError(
        "recording-value",
        f"{table.path}, line {line}: {column.head} is {text[:60]!r} {joined} {wanted}.",
    )
