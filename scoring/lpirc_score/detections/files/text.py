"""Text files split into numbered lines, cells and numbers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from math import isfinite
from pathlib import Path
from typing import NoReturn

from lpirc_score.detections import shown
from lpirc_score.detections.files.findings import refuse
from lpirc_testsets.csv_reader import other_separator
from lpirc_testsets.errors import TestSetError
from lpirc_testsets.file_bytes import (
    IS_UTF16,
    binary_kind,
    is_utf16,
    no_such_file,
    read_text,
    require_regular,
)
from lpirc_testsets.system_failures import reason_of
from lpirc_testsets.values import text_number

Numbered = Iterator[tuple[int, list[str]]]


def head_of(path: Path) -> str:
    """Return the beginning of a file that will be read completely later.

    Raises `CodedError` `unreadable-file`, also for an empty file and for a pipe, which cannot be read twice.
    """
    try:
        require_regular(path)
        with path.open("rb") as file:
            head = file.read(1 << 16)
    except FileNotFoundError:
        refuse(path, no_such_file(path))
    except OSError as error:
        refuse(path, reason_of(error))
    if not head.strip():
        refuse(path, "the file is empty")
    if kind := binary_kind(path, head):
        refuse(path, kind)
    if is_utf16(head):
        refuse(path, IS_UTF16)
    return head.decode("utf-8-sig", errors="replace")


def text_of(path: Path) -> str:
    """Return the whole text of a file. Raises `CodedError` `unreadable-file` if it is empty or not UTF-8."""
    text = any_text_of(path)
    if not text.strip():
        refuse(path, "the file is empty")
    return text


def any_text_of(path: Path) -> str:
    """Return the whole text of a file, which may be empty. Raises `CodedError` `unreadable-file`."""
    try:
        return read_text(path)
    except TestSetError as error:
        refuse(path, error.sentence.removeprefix(f"{path}: "))


def csv_lines(path: Path, headers: Iterable[list[str]]) -> Numbered:
    """Yield line numbers and cells below the header, which must be one of `headers`; blank lines are skipped."""
    reader = csv.reader(io.StringIO(text_of(path), newline=""), strict=True)
    try:
        header: list[str] | None = None
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if not any(stripped):
                continue
            if header is None:
                header = stripped
                if header not in headers:
                    _refuse_header(path, ",".join(header), headers)
            else:
                yield reader.line_num, stripped
    except csv.Error as error:
        refuse(path, f"line {reader.line_num}: {error}")


def _refuse_header(
    path: Path,
    header: str,
    headers: Iterable[list[str]],
) -> NoReturn:
    wanted = " or ".join(",".join(names) for names in headers)
    hint = other_separator(header)
    refuse(path, f"the header is {shown(header)}, not {wanted}{hint}")


def bare_lines(path: Path) -> Numbered:
    """Yield line numbers and cells of lines with values separated by blanks or commas."""
    yield from _cells_of(text_of(path))


def lines_of_any(path: Path) -> Numbered:
    """Yield what `bare_lines` does, and nothing for an empty file."""
    yield from _cells_of(any_text_of(path))


def _cells_of(text: str) -> Numbered:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, bare_cells(line)


def bare_cells(line: str) -> list[str]:
    """Split a line at blanks and commas."""
    return re.split(r"\s*,\s*|\s+", line.strip())


def check_length(cells: list[str], wanted: int) -> None:
    """Raise ValueError unless the number of cells is the wanted one."""
    if len(cells) != wanted:
        raise ValueError(
            f"a row needs {wanted} values, but this one has {len(cells)}: {shown(row_text(cells))}"
        )


def row_text(cells: Iterable[str]) -> str:
    """Return cells as a line of CSV has them: one with a comma in it stands in quotes."""
    return ",".join(map(_quoted, cells))


def _quoted(cell: str) -> str:
    if "," not in cell:
        return cell
    doubled = cell.replace('"', '""')
    return f'"{doubled}"'


def numbers(cells: list[str]) -> list[float]:
    """Return finite numbers. Raises ValueError with the first cell that is not one."""
    return [checked_finite(text_number(cell), cell) for cell in cells]


def are_numbers(cells: list[str]) -> bool:
    """Return True if all cells are finite numbers."""
    try:
        numbers(cells)
    except ValueError:
        return False
    return True


def checked_finite(value: float, source: object) -> float:
    """Return a finite number. Raises ValueError with `source` for any other value."""
    if not isfinite(value):
        raise ValueError(f"{shown(source)} is not a finite number")
    return value
