"""Small CSV tables with named columns, checked cell by cell."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lpirc_score.detections import shown
from lpirc_score.detections.files.text import numbers, row_text, text_of
from lpirc_score.errors import CodedError
from lpirc_testsets.csv_reader import other_separator

_OF_FORMULAS = tuple("=+-@\t\r\n")


@dataclass(frozen=True)
class TableRow:
    """A line of a table: its cells, stripped, by column name."""

    path: Path
    line: int
    cells: dict[str, str]

    def bad(self, problem: str) -> CodedError:
        """Return the error for a problem, with the names of file and line."""
        return CodedError(
            "bad-table", f"{self.path}: line {self.line}: {problem}", line=self.line
        )

    def text(self, column: str) -> str:
        """Return a cell. Raises CodedError `bad-table` if it is blank."""
        if not self.cells[column]:
            raise self.bad(f"{column} is blank; every line needs a value")
        return self.cells[column]

    def number(
        self,
        column: str,
        least: float,
        most: float,
    ) -> float:
        """Return a number between two bounds. Raises CodedError `bad-table`."""
        cell = self.cells[column]
        try:
            value = numbers([cell])[0]
        except ValueError as error:
            raise self.bad(f"{column}: {error}") from None
        if value <= 0 < least:
            raise self.bad(f"{column} = {shown(cell)} must be above 0")
        if not least <= value <= most:
            raise self.bad(
                f"{column} = {shown(cell)} must lie between {least:g} and {most:g}"
            )
        return value


def read_table(
    path: Path,
    columns: Sequence[str],
    aliases: Mapping[str, str] | None = None,
) -> list[TableRow]:
    """Read the rows of a CSV with these columns, in any order and possibly among others; blank lines are skipped.

    `aliases` maps other column names to those of `columns`. With it, the header may use the other names, or be missing
    if the file begins with as many numbers as there are columns.

    Raises CodedError `unreadable-file` (no file, empty, not UTF-8), `bad-table` (a missing or duplicate column, a line
    of another length, no line below the header).
    """
    reader = csv.reader(io.StringIO(text_of(path), newline=""), strict=True)
    try:
        lines = []
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            lines.append((reader.line_num, stripped))
    except csv.Error as error:
        raise CodedError(
            "bad-table", f"{path}: line {reader.line_num}: {error}"
        ) from None
    lines = [(number, cells) for number, cells in lines if any(cells)]
    if aliases is not None and lines:
        number, first = lines[0]
        if len(first) == len(columns) and all(map(_is_number, first)):
            lines.insert(0, (0, list(columns)))
        else:
            lines[0] = (number, [aliases.get(cell, cell) for cell in first])
    header = _checked_header(path, lines[0][1], columns) if lines else []
    rows = [
        TableRow(path, number, dict(zip(header, cells, strict=False)))
        for number, cells in lines[1:]
    ]
    for row, (_, cells) in zip(rows, lines[1:], strict=True):
        if len(cells) != len(header):
            line = shown(row_text(cells))
            raise row.bad(
                f"the header has {len(header)} columns, but this line has {len(cells)}: {line}"
            )
    if not rows:
        raise CodedError(
            "bad-table",
            f"{path}: the file has no line below its header {','.join(columns)}{other_separator(','.join(header))}",
        )
    return rows


def table_bytes(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> bytes:
    """Return a CSV with a header, in UTF-8; each row is a mapping by column name."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def harmless(row: Mapping[str, object]) -> dict[str, object]:
    """Return the row made safe for spreadsheets: a text that would begin a formula there is prefixed with a quote."""
    return {name: _harmless_cell(cell) for name, cell in row.items()}


def _harmless_cell(cell: object) -> object:
    if isinstance(cell, str) and cell.startswith(_OF_FORMULAS):
        return f"'{cell}"
    return cell


def _is_number(cell: str) -> bool:
    try:
        numbers([cell])
    except ValueError:
        return False
    return True


def _checked_header(
    path: Path,
    header: list[str],
    columns: Sequence[str],
) -> list[str]:
    text = row_text(header)
    for column in columns:
        if column not in header:
            hint = other_separator(text)
            missing = "" if hint else f"the column {column} is missing; "
            raise CodedError(
                "bad-table",
                f"{path}: {missing}the header is {shown(text)}, needed are {','.join(columns)}{hint}",
            )
        if header.count(column) > 1:
            raise CodedError(
                "bad-table", f"{path}: the header names the column {column} twice"
            )
    return header
