"""Tables for the terminal; no figure, name or state is ever shortened."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import click


class Column(NamedTuple):
    """A column of a table; columns of figures are aligned right."""

    name: str
    is_figure: bool = False


def one_line(text: str) -> str:
    """Return the text with unprintable characters and line ends escaped, since names may come from other people."""
    if text.isprintable():
        return text
    letters = list(text)
    for place, letter in enumerate(letters):
        if not letter.isprintable():
            letters[place] = letter.encode("unicode_escape").decode()
    return "".join(letters)


def cell_width(text: str) -> int:
    """Return how many cells of a terminal a text takes: East Asian wide letters two, combining marks none."""
    if text.isascii():
        return len(text)
    width = 0
    for letter in text:
        if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
            continue
        is_wide = unicodedata.east_asian_width(letter) in ("W", "F")
        width += 2 if is_wide else 1
    return width


def padded_cells(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
) -> tuple[list[list[str]], list[int]]:
    """Return the cells of each row, padded to the width of their columns, and these widths."""
    widths = [0] * len(columns)
    for row in rows:
        widths = [*map(max, widths, map(cell_width, row))]
    padded = []
    for row in rows:
        cells = []
        for column, width, cell in zip(columns, widths, row, strict=True):
            gap = " " * (width - cell_width(cell))
            cells.append(gap + cell if column.is_figure else cell + gap)
        padded.append(cells)
    return padded, widths


def print_table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    caption: str,
) -> None:
    """Print a table without a frame on stdout; each row is one line, even if the terminal is narrower."""
    names = [column.name for column in columns]
    lines = [names, *([*map(one_line, row)] for row in rows)]
    padded, widths = padded_cells(columns, lines)
    for number, cells in enumerate(padded):
        click.echo(click.style("  ".join(cells), bold=number == 0 or None))
    for part in textwrap.wrap(caption, sum(widths) + 2 * len(widths) - 2):
        click.echo(click.style(part, italic=True))
