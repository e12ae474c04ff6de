"""Tables for the terminal; no figure, name or state is ever shortened."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import click
from rich.cells import cell_len

if TYPE_CHECKING:  # importing these takes longer than to print a table
    from rich.console import Console
    from rich.table import Table


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


def console() -> Console:
    """Return a console on stdout that prints text unchanged."""
    from rich.console import Console

    return Console(soft_wrap=True, highlight=False, markup=False, emoji=False)


def figures_table(
    *names: str,
    figures: Sequence[str],
    title: str | None = None,
) -> Table:
    """Return a framed table: columns of text, then columns of figures, aligned right."""
    from rich.table import Table

    table = Table(*names, title=title, title_justify="left")
    for figure in figures:
        table.add_column(figure, justify="right")
    return table


def print_table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    caption: str,
) -> None:
    """Print a table without a frame on stdout; each row is one line, even if the terminal is narrower."""
    names = [column.name for column in columns]
    lines = [names, *([*map(one_line, row)] for row in rows)]
    widths = [max(map(cell_len, cells)) for cells in zip(*lines, strict=True)]
    for number, line in enumerate(lines):
        cells = []
        for column, width, cell in zip(columns, widths, line, strict=True):
            gap = " " * (width - cell_len(cell))
            cells.append(gap + cell if column.is_figure else cell + gap)
        click.echo(click.style("  ".join(cells), bold=number == 0 or None))
    for part in textwrap.wrap(caption, sum(widths) + 2 * len(widths) - 2):
        click.echo(click.style(part, italic=True))
