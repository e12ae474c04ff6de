"""Framed tables for the terminal; a cell is never shortened, and a row is one line even if the terminal is narrower."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple

import click

from lpirc_score.cli.terminal_tables import Column, one_line, padded_cells


class Rule(NamedTuple):
    """The characters of a horizontal line."""

    begin: str
    filling: str
    crossing: str
    end: str


@dataclass(frozen=True)
class Frame:
    """The lines of a frame, and the bar between the cells of the head and of the rows."""

    top: Rule
    head_bar: str
    below_head: Rule
    top_without_head: Rule
    bar: str
    section: Rule
    bottom: Rule


DRAWN = Frame(
    top=Rule(*"┏━┳┓"),
    head_bar="┃",
    below_head=Rule(*"┡━╇┩"),
    top_without_head=Rule(*"┌─┬┐"),
    bar="│",
    section=Rule(*"├─┼┤"),
    bottom=Rule(*"└─┴┘"),
)
_ASCII = Rule(*"+-++")
PLAIN = Frame(_ASCII, "|", _ASCII, _ASCII, "|", _ASCII, _ASCII)
"""For encodings that cannot write the lines of DRAWN."""


class _Row(NamedTuple):
    cells: Sequence[str]
    is_bold: bool


@dataclass(eq=False)
class FramedTable:
    """A framed table, filled row by row; a heading may have several lines. Without a head, headings only align."""

    columns: Sequence[Column]
    title: str | None = None
    has_head: bool = True
    _rows: list[_Row] = field(default_factory=list)
    _sections: set[int] = field(default_factory=set)

    def add_row(self, *cells: str, is_bold: bool = False) -> None:
        """Add a row; cells that are left out at its end are empty."""
        missing = len(self.columns) - len(cells)
        row = [*map(one_line, cells), *[""] * missing]
        self._rows.append(_Row(row, is_bold))

    def add_section(self) -> None:
        """Draw a line below the last row."""
        self._sections.add(len(self._rows))

    def lines(self, frame: Frame) -> Iterator[str]:
        """Yield the lines of the table, styled for a terminal."""
        head = self._head_lines()
        texts = [*head, *(row.cells for row in self._rows)]
        padded, widths = padded_cells(self.columns, texts)
        if self.title:
            yield click.style(one_line(self.title), italic=True)
        if self.has_head:
            yield _drawn(frame.top, widths)
            for cells in padded[: len(head)]:
                yield click.style(_joined(frame.head_bar, cells), bold=True)
            yield _drawn(frame.below_head, widths)
        else:
            yield _drawn(frame.top_without_head, widths)
        for number, cells in enumerate(padded[len(head) :]):
            if number and number in self._sections:
                yield _drawn(frame.section, widths)
            line = _joined(frame.bar, cells)
            if self._rows[number].is_bold:
                line = click.style(line, bold=True)
            yield line
        yield _drawn(frame.bottom, widths)

    def _head_lines(self) -> list[list[str]]:
        if not self.has_head:
            return []
        names = [column.name.split("\n") for column in self.columns]
        by_line = zip_longest(*names, fillvalue="")
        return [[*map(one_line, cells)] for cells in by_line]


def figures_table(
    *names: str,
    figures: Sequence[str],
    title: str | None = None,
) -> FramedTable:
    """Return a framed table: columns of text, then columns of figures, aligned right."""
    columns = [Column(name) for name in names]
    columns += [Column(figure, is_figure=True) for figure in figures]
    return FramedTable(columns, title)


def facts_table(title: str) -> FramedTable:
    """Return a framed table of two columns without a head: a name, and what is said of it."""
    return FramedTable([Column(""), Column("")], title, has_head=False)


def print_framed(table: FramedTable) -> None:
    """Print a framed table on stdout, in ASCII where its encoding cannot draw lines."""
    frame = DRAWN if _can_draw() else PLAIN
    for line in table.lines(frame):
        click.echo(line)


def _can_draw() -> bool:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        "┏━┳┓┃┡╇┩┌─┬┐│├┼┤└┴┘".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _joined(bar: str, cells: Sequence[str]) -> str:
    between = f" {bar} "
    return f"{bar} {between.join(cells)} {bar}"


def _drawn(rule: Rule, widths: Sequence[int]) -> str:
    parts = [rule.filling * (width + 2) for width in widths]
    return f"{rule.begin}{rule.crossing.join(parts)}{rule.end}"
