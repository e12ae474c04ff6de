"""Reads the table of another program's recording: separator, heading, rows with their lines."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lpirc_power.errors import MeterError
from lpirc_power.foreign.cell_values import (
    clock_s,
    is_date,
    moment,
    number,
    without_unit,
)
from lpirc_power.foreign.column_names import quoted, recognized
from lpirc_power.foreign.file_kind import NO_TEXT, decoded, kind_of
from lpirc_power.foreign.program_logs import program_log
from lpirc_power.foreign.stated_units import is_unit, with_units
from lpirc_power.presence import status
from lpirc_power.recording import require_file

SEPARATORS: Final = (";", "\t", ",", "|")
LONGEST_PREAMBLE: Final = 60
"""Lines in which the heading is looked for; programs write a few about the meter before it."""
LONGEST_PARTED: Final = 200
"""Characters of a line in which blanks between values are looked for."""
LARGEST_BYTES: Final = 512 * 1024 * 1024
_IN_GROUPS: Final = re.compile(r"[1-9]\d{0,2}(\s\d{3})+([.,]\d+)?", re.ASCII)
"""A number whose thousands are parted by blanks."""
PTD_TIME: Final = "Time"
PTD_POWER: Final = "Watts"
"""Names of the time and of the power in a log of PTDaemon, whose rows name their own columns."""


@dataclass(frozen=True)
class ForeignTable:
    """Heads, and rows as their line in the file and their cells; `lead` is how many lines stand before the heading.

    `skipped` are the lines that are no sample, in a log that has such lines by design. `has_decimal_comma` is decided
    once, when the columns of numbers are known. `preamble` has the lines before the heading, `notes` sentences.
    """

    path: Path
    heads: Sequence[str]
    rows: Sequence[tuple[int, Sequence[str]]]
    separator: str
    lead: int = 0
    skipped: Sequence[int] = field(default_factory=tuple)
    is_log: bool = False
    has_decimal_comma: bool = False
    preamble: Sequence[tuple[int, str]] = ()
    notes: Sequence[str] = ()


def read_table(path: Path, *, has_head: bool = True) -> ForeignTable:
    """Read a table. Without a head, which is looked for, the heads are the places "1", "2" and so on.

    With `has_head` False a first line with a value, a time or a word for no data is a row; one of names is a heading.

    Raises MeterError: `recording-unreadable`, `recording-empty`, `recording-format` (no heading with a power),
    `recording-value` (a row with another number of cells), `recording-order` (a second heading: two files in one).
    """
    text, of_text = text_of(path)
    lines = text.splitlines()
    filled = [(place, line) for place, line in enumerate(lines, 1) if line.strip()]
    if not filled:
        raise MeterError(
            "recording-empty",
            f"The recording {path} holds no reading; it was cut off or never began: record again.",
        )
    samples = [one for one in filled if _is_sample(one[1])]
    if samples:
        return _log(path, samples, filled)
    if has_head and (found := program_log(path, filled)):
        notes = (*of_text, found.note)
        return ForeignTable(
            path, found.heads, found.rows, ",", 0, found.skipped, notes=notes
        )
    if has_head:
        separator, lead = _heading(path, filled)
    else:
        separator, lead = _first_of_table(path, filled)
        has_head = not _has_value(filled[lead][1].split(separator))
    heads_of, rows = _parted(path, filled[lead:], separator)
    of_units: Sequence[str] = ()
    if has_head:
        heads_of, rows, of_units = with_units(heads_of, rows)
    else:
        rows = [(filled[lead][0], heads_of), *rows]
        heads_of = [str(place) for place in range(1, len(heads_of) + 1)]
    table = ForeignTable(
        path,
        heads_of,
        rows,
        separator,
        lead,
        preamble=filled[:lead],
        notes=(*of_text, *of_units),
    )
    _require_rows(table)
    return table


def text_of(path: Path) -> tuple[str, Sequence[str]]:
    """Return the text of a file, and what there is to say of how it was read. Raises `recording-unreadable`.

    It is UTF-8, UTF-16 with its byte order mark, or else Windows-1252.
    """
    try:
        require_file(path)
        found = status(path)
        if found is not None and found.st_size > LARGEST_BYTES:
            raise _unreadable(path, f"it is larger than {LARGEST_BYTES >> 20} MB")
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise _unreadable(path, why or "the system does not say why") from error
    kind = kind_of(raw, str(path))
    if kind is not None:
        raise _unreadable(path, kind)
    try:
        return decoded(raw)
    except UnicodeError as error:
        raise _unreadable(path, NO_TEXT) from error


def _unreadable(path: Path, why: str) -> MeterError:
    sentence = f"The recording {path} cannot be read: {why}."
    return MeterError("recording-unreadable", sentence)


def _is_sample(line: str) -> bool:
    cells = [cell.strip() for cell in line.split(",", 4)]
    if len(cells) < 4:
        return False
    # What PTDaemon prints on its console begins with the time itself.
    is_printed = cells[1] == PTD_POWER and moment(cells[0]) is not None
    return is_printed or (cells[0], cells[2]) == (PTD_TIME, PTD_POWER)


def _log(
    path: Path,
    samples: Sequence[tuple[int, str]],
    filled: Sequence[tuple[int, str]],
) -> ForeignTable:
    """Return a log whose rows are pairs of a name and a value, up to the first cell "Ch1" with its channels."""
    first = _pairs(path, *samples[0])
    heads = list(first)
    rows = []
    for line, text in samples:
        pairs = _pairs(path, line, text)
        if list(pairs) != heads:
            raise MeterError(
                "recording-value",
                f"{path}, line {line}, has the values {quoted(list(pairs))} where {quoted(heads)} should be.",
            )
        rows.append((line, list(pairs.values())))
    taken = {line for line, _ in samples}
    skipped = [line for line, _ in filled if line not in taken]
    return ForeignTable(path, heads, rows, ",", 0, skipped, is_log=True)


def _pairs(path: Path, line: int, text: str) -> dict[str, str]:
    cells = [cell.strip() for cell in text.split(",")]
    if "Ch1" in cells:  # the sum stands before the channels
        del cells[cells.index("Ch1") :]
    if cells[0] != PTD_TIME:
        cells.insert(0, PTD_TIME)
    if len(cells) % 2:
        raise MeterError(
            "recording-value",
            f"{path}, line {line}: {cells[-1][:40]!r} is a name without a value; if it is the last line, the recording "
            "was cut off there: delete the line to use the rest.",
        )
    return dict(zip(cells[::2], cells[1::2], strict=True))


def _heading(
    path: Path,
    filled: Sequence[tuple[int, str]],
) -> tuple[str, int]:
    """Return the separator and the place of the heading: the first line of which a cell is a known power or time."""
    if (of_one := _heading_of_one(path, filled)) is not None:
        return of_one
    fallback: tuple[str, int] | None = None
    for place, (_, line) in enumerate(filled[:LONGEST_PREAMBLE]):
        separator = max(SEPARATORS, key=line.count)
        cells = line.split(separator)
        if not line.count(separator):
            continue
        known = [recognized(0, cell) for cell in cells]
        quantities = {one.quantity for one in known if one}
        if fallback and fallback[0] == separator and _are_units(cells):
            return fallback  # names that are unknown, with their units below
        if {"power", "time"} & quantities and len(cells) > 1:
            return separator, place
        if fallback is None and not any(map(_is_number, cells)):
            fallback = separator, place
    if fallback is not None:
        return fallback
    raise _no_columns(path, filled)


def _is_one_column(lines: Sequence[str]) -> bool:
    return not any(one in line for line in lines for one in SEPARATORS)


def _heading_of_one(
    path: Path, filled: Sequence[tuple[int, str]]
) -> tuple[str, int] | None:
    """Return a separator and the place of the heading of a file with one column, the power; None for more columns.

    Behind a heading without a comma, 1,5 is a number.
    """
    for place, (_, line) in enumerate(filled[:LONGEST_PREAMBLE]):
        known = recognized(0, line.strip().strip('"'))
        if known is None or known.quantity != "power":
            continue
        below = [text.replace(",", ".", 1) for _, text in filled[place:]]
        if _is_one_column([line, *below]):
            return ";", place
    if not _is_one_column([line for _, line in filled]):
        return None
    begun = filled[:LONGEST_PREAMBLE]
    parted = [one for one in begun if _has_values_between_blanks(one[1])]
    are_thousands = all(_IN_GROUPS.fullmatch(text.strip()) for _, text in parted)
    if 2 * len(parted) > len(begun) and not are_thousands:
        place, text = parted[0]
        raise MeterError(
            "recording-format",
            f"{path}, line {place}: blanks stand between the values of {text.strip()[:60]!r}; write commas there.",
        )
    first, text = filled[0]
    raise MeterError(
        "recording-format",
        f"{path}, line {first}: {text.strip()[:60]!r} does not name the power, and the file has one column. If that is "
        "the power in watts, say so, and how many seconds the readings are apart: --columns power=1 --interval 1.",
    )


def _has_values_between_blanks(line: str) -> bool:
    """Return True for several values, but not for a date with its clock."""
    words = line[:LONGEST_PARTED].split()
    if any(is_date(one) or clock_s(one) is not None for one in words):
        return False
    return sum(map(_is_value, words)) > 1


def _first_of_table(path: Path, filled: Sequence[tuple[int, str]]) -> tuple[str, int]:
    """Return the separator, and the place of the first line with as many of them as most lines have.

    Of several such numbers the one that came last counts. Of two separators in every line, as in 1,5;2,5, the earlier
    one in SEPARATORS parts the cells.
    """
    if _is_one_column([line for _, line in filled]):
        return ";", 0
    counts: Counter[tuple[str, int]] = Counter()
    last: dict[tuple[str, int], int] = {}
    for place, (_, line) in enumerate(filled):
        for separator in SEPARATORS:
            seen = separator, line.count(separator)
            if seen[1]:
                counts[seen] += 1
                last[seen] = place

    def weight(seen: tuple[str, int]) -> tuple[int, int, int]:
        return counts[seen], last[seen], -SEPARATORS.index(seen[0])

    separator, count = max(counts, key=weight)
    hits = [line.count(separator) == count for _, line in filled]
    return separator, hits.index(True)


def _has_value(cells: Sequence[str]) -> bool:
    """Return True if a cell is a number, a time, or a word for no data: the line is no heading."""
    words = [cell.strip().strip('"').strip() for cell in cells]
    return any(map(_is_value, filter(None, words)))


def _is_value(word: str) -> bool:
    if moment(word) is not None or clock_s(word) is not None or is_date(word):
        return True
    for has_decimal_comma in (False, True):
        try:
            number(without_unit(word), has_decimal_comma=has_decimal_comma)
        except ValueError:
            continue
        return True
    return False


def _no_columns(path: Path, filled: Sequence[tuple[int, str]]) -> MeterError:
    first, text = filled[0]
    return MeterError(
        "recording-format",
        f"{path}, line {first}: {text.strip()[:60]!r} names no columns. Write a first line with their names, or name "
        "them by their places, as --columns time=1,power=2 where column 2 is the power.",
    )


def _are_units(cells: Sequence[str]) -> bool:
    return all(is_unit(cell) for cell in cells if cell.strip())


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _parted(
    path: Path,
    filled: Sequence[tuple[int, str]],
    separator: str,
) -> tuple[list[str], list[tuple[int, Sequence[str]]]]:
    try:
        cells = list(_cells(filled, separator))
    except csv.Error as error:
        raise _unreadable(path, "it is not CSV text") from error
    _, heads = cells[0]
    rows: list[tuple[int, Sequence[str]]] = list(cells[1:])
    # A separator at the end of each line makes an empty last column.
    if heads and not heads[-1]:
        heads = heads[:-1]
        rows = [(line, _without_last(row, len(heads))) for line, row in rows]
    unlike = [(line, len(row)) for line, row in rows if len(row) != len(heads)]
    if len(unlike) > max(1, len(rows) // 2):
        line, count = unlike[0]
        if {count} == {one for _, one in unlike}:
            raise MeterError(
                "recording-value",
                f"{path}: its heading has {len(heads)} cells, its lines have {count} (line {line}); a separator is "
                "missing, or too many.",
            )
        raise _unreadable(
            path,
            "it is no table, since most of its lines have not as many cells as the first",
        )
    for line, row in rows:
        if row == heads:
            raise MeterError(
                "recording-order",
                f"{path}, line {line}, repeats the heading: two recordings are in one file; cut it in two there.",
            )
        if len(row) != len(heads):
            raise MeterError(
                "recording-value",
                f"{path}, line {line}, has {len(row)} cells where {len(heads)} should be; if it is the last line, the "
                "recording was cut off there: delete the line to use the rest.",
            )
    return heads, rows


def _without_last(row: Sequence[str], count: int) -> Sequence[str]:
    return row[:-1] if len(row) > count and not row[-1] else row


def _cells(
    filled: Sequence[tuple[int, str]],
    separator: str,
) -> Iterator[tuple[int, list[str]]]:
    for line, text in filled:
        row = next(csv.reader([text], delimiter=separator, strict=True))
        yield line, [cell.strip() for cell in row]


def _require_rows(table: ForeignTable) -> None:
    if not table.rows:
        raise MeterError(
            "recording-empty",
            f"The recording {table.path} has a heading, but no reading.",
        )
