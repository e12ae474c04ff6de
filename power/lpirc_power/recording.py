"""Recordings: one CSV row per reading, flushed row by row, and read back exactly.

The columns are the fields of `lpirc_power.meter.Reading`, and their names contain the units; the power factor has none.
`utc` is ISO 8601, flags are 0 or 1, no data is NAN, and over range is INF. Recordings by earlier versions lack the last
columns, either from `stopped` on or from the ranges on.

The contest's driver of 2015 wrote another format, which is also read: no heading, five columns V, A, W, Wh, s, one row
a second, and 9.91e+037 for no data (as in the FLOAT answers of IM WT310-17EN).
"""

from __future__ import annotations

import csv
import errno
import io
import itertools
import math
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Final, TextIO, cast

from lpirc_power.energy.reading_columns import ReadingColumns
from lpirc_power.errors import MeterError
from lpirc_power.meter import IntegratorState, Reading
from lpirc_power.one_line import one_line
from lpirc_power.presence import status
from lpirc_power.wt300 import answers

COLUMNS: Final = tuple(field.name for field in fields(Reading))
"""Columns of a recording, in order."""
FORMER_COLUMNS: Final = tuple(
    COLUMNS[: COLUMNS.index(name)] for name in ("stopped", "voltage_range_v")
)
"""Columns of recordings by earlier versions."""
COLUMNS_2015: Final = ("voltage_v", "current_a", "power_w", "energy_wh", "integrator_s")
NO_DATE: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Start date assigned to a 2015 recording, since its file contains no date."""
SHOWN_LENGTH: Final = 60
"""Maximum number of characters of a cell that an error message quotes."""
Parsers = Mapping[str, tuple[Callable[[str], object], str]]
"""Per column, the function that parses a cell, and a description of valid cells."""
_FLAGS: Final = ("over_range", "voltage_peak_over", "current_peak_over", "stopped")


def header_line() -> str:
    """Return the heading without a line end."""
    return ",".join(COLUMNS)


def row(reading: Reading) -> str:
    """Return a reading as one row, without a line end; `read_recording` restores the same reading."""
    return ",".join(_cell(getattr(reading, name)) for name in COLUMNS)


def reading_of(text: str) -> Reading:
    """Return the reading that `row` has written. Raises MeterError `recording-value`."""
    place = Path("the row")
    cells = next(csv.reader([text]), [])
    values = _values(place, 1, list(COLUMNS), _stripped(cells), _PARSERS)
    return Reading(**values)


def read_recording(path: Path, *, cut: bool = False) -> list[Reading]:
    """Return the readings of a recording as a list; the errors are those of `read_readings`."""
    return list(read_readings(path, cut=cut))


def read_readings(
    path: Path, *, cut: bool = False, file: BinaryIO | None = None
) -> ReadingColumns:
    """Return the readings of a recording, in our format or in that of 2015.

    With `cut`, lines that are not whole are left out: a power failure may have cut the last one anywhere. `file` is the
    open file at `path`, which may have lost its name since.

    Raises MeterError, naming file and line: `recording-unreadable` (no such file, no permission, not text),
    `recording-format` (neither format), `recording-value` (an invalid cell), `recording-order` (time goes back),
    `recording-empty` (no reading).
    """
    lines = _lines(path, cut=cut, file=file)
    first = next(lines, None)
    if first is None:
        raise _empty(path)
    number, names = first
    parsers = _PARSERS
    make = cast("Callable[..., Reading]", Reading)
    if tuple(names) not in (COLUMNS, *FORMER_COLUMNS):
        if len(names) != len(COLUMNS_2015) or not all(map(_is_number, names)):
            raise MeterError(
                "recording-format",
                f"{path}, line {number}, is not the start of a recording. A recording starts "
                f"with the heading {header_line()}, or with the five "
                "numbers V, A, W, Wh, s of the 2015 driver.",
            )
        lines = itertools.chain([first], lines)
        names = list(COLUMNS_2015)
        parsers = _PARSERS_2015
        make = _reading_of_2015
    return _in_order(
        path,
        (
            (number, make(**_values(path, number, names, cells, parsers)))
            for number, cells in lines
        ),
    )


def require_file(path: Path) -> None:
    """Raise OSError if the path exists and is not a regular file, such as a pipe, which may never end."""
    found = status(path)
    if found is not None and not stat.S_ISREG(found.st_mode):
        reason = "it is not a regular file"
        if stat.S_ISDIR(found.st_mode):
            reason += " but a folder; name a file in it"
        raise OSError(errno.EINVAL, reason, str(path))


def _stripped(cells: list[str]) -> list[str]:
    return [cell.strip() for cell in cells]


def _whole(stream: Iterable[str], *, cut: bool) -> Iterator[str]:
    """Yield lines; of a file that was cut, only whole ones: a file system may leave NUL characters at its end."""
    return (line for line in stream if not cut or _is_whole(line))


def _is_whole(line: str) -> bool:
    return line.endswith(("\n", "\r")) and "\0" not in line


def _opened(path: Path, file: BinaryIO | None) -> TextIO:
    if file is None:
        require_file(path)
        return path.open(newline="", encoding="utf-8-sig")
    again = os.fdopen(os.dup(file.fileno()), "rb")
    again.seek(0)
    return io.TextIOWrapper(again, encoding="utf-8-sig", newline="")


def _lines(
    path: Path, *, cut: bool, file: BinaryIO | None
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line that is not blank."""
    try:
        with _opened(path, file) as stream:
            rows = csv.reader(_whole(stream, cut=cut))
            for cells in rows:
                if cells:
                    yield rows.line_num, _stripped(cells)
    except (
        OSError,
        ValueError,
        csv.Error,
    ) as error:  # ValueError: no text, or a name that no file can have
        why = error.strerror if isinstance(error, OSError) else "it is not CSV text"
        raise MeterError(
            "recording-unreadable", f"The recording {path} cannot be read: {why}."
        ) from error


def _in_order(path: Path, readings: Iterator[tuple[int, Reading]]) -> ReadingColumns:
    taken = ReadingColumns()
    last_s = -math.inf
    for number, reading in readings:
        if not math.isfinite(reading.monotonic_s):
            raise _wrong(
                path,
                number,
                "the time",
                str(reading.monotonic_s),
                "a finite number of seconds",
            )
        if reading.monotonic_s < last_s:
            raise MeterError(
                "recording-order",
                f"{path}, line {number}: the time goes back from {last_s:g} s to "
                f"{reading.monotonic_s:g} s; a file holds one recording.",
            )
        taken.append(reading)
        last_s = reading.monotonic_s
    if not taken:
        raise _empty(path)
    return taken


def _values(
    path: Path, number: int, names: list[str], cells: list[str], parsers: Parsers
) -> dict[str, Any]:
    if len(cells) != len(names):
        raise MeterError(
            "recording-value",
            f"{path}, line {number}, has {len(cells)} cells where {len(names)} should be; if it is the last line, the "
            "recording was cut off there: delete the line to use the rest.",
        )
    values: dict[str, Any] = {}
    for name, text in zip(names, cells, strict=True):
        parse, wanted = parsers[name]
        try:
            values[name] = parse(text)
        except (ValueError, OverflowError, MeterError):
            raise _wrong(path, number, name, text, wanted) from None
    return values


def _reading_of_2015(
    voltage_v: float,
    current_a: float,
    power_w: float,
    energy_wh: float,
    integrator_s: float,
) -> Reading:
    apparent_va = voltage_v * current_a
    return Reading(
        monotonic_s=integrator_s,
        utc=NO_DATE + timedelta(seconds=integrator_s),
        voltage_v=voltage_v,
        current_a=current_a,
        apparent_va=apparent_va,
        power_w=power_w,
        power_factor=power_w / apparent_va if apparent_va else math.nan,
        energy_wh=energy_wh,
        integrator_s=integrator_s,
        state=IntegratorState.START,
        over_range=any(map(math.isinf, (voltage_v, current_a, power_w))),
        voltage_peak_over=False,
        current_peak_over=False,
    )


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float | int):
        return (
            repr(float(value)).upper()
            if not math.isfinite(value)
            else repr(float(value))
        )
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    text = value.value if isinstance(value, IntegratorState) else str(value)
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(text)
    return moment.astimezone(UTC)  # OverflowError at either end of the calendar


def _number(text: str) -> float:
    number = float(text)
    # Python also accepts 1_0 and digits of every script, and reads a too large number as infinite: here, over range.
    if (
        "_" in text
        or not text.isascii()
        or (math.isinf(number) and "inf" not in text.casefold())
    ):
        raise ValueError(text)
    return number


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError(text)
    return text == "1"


def _number_of_2015(text: str) -> float:
    _number(text)
    return answers.value(text)


def _seconds_of_2015(text: str) -> float:
    seconds = _number_of_2015(text)
    NO_DATE + timedelta(seconds=seconds)  # ValueError, OverflowError
    return seconds


_PARSERS: Final[Parsers] = {
    **dict.fromkeys(COLUMNS, (_number, "a number, NAN or INF")),
    **dict.fromkeys(_FLAGS, (_flag, "0 or 1")),
    "utc": (_moment, "a time in ISO 8601 with its offset"),
    "state": (IntegratorState.parse, "a state of the integrator"),
    "changed": (one_line, "text"),
}
_PARSERS_2015: Final[Parsers] = {
    **dict.fromkeys(COLUMNS_2015, (_number_of_2015, "a number")),
    "integrator_s": (_seconds_of_2015, "a number of seconds within the range of dates"),
}


def _is_number(text: str) -> bool:
    try:
        _number(text)
    except ValueError:
        return False
    return True


def _wrong(path: Path, number: int, name: str, text: str, wanted: str) -> MeterError:
    shown = repr(text) if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]!r}..."
    return MeterError(
        "recording-value",
        f"{path}, line {number}: {name} is {shown} where {wanted} should be.",
    )


def _empty(path: Path) -> MeterError:
    return MeterError(
        "recording-empty",
        f"The recording {path} holds no reading; it was cut off or never began: record again.",
    )
