"""Tables on the terminal, in which no figure, name or state is ever shortened."""

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
    """One column; figures are aligned right."""

    name: str
    is_figure: bool = False


def one_line(text: str) -> str:
    """The text with all that a terminal would obey, or that would end the line, escaped: names come from others."""
    if text.isprintable():
        return text
    letters = list(text)
    for place, letter in enumerate(letters):
        if not letter.isprintable():
            letters[place] = letter.encode("unicode_escape").decode()
    return "".join(letters)


def console() -> Console:
    """A console on stdout that prints text as it is."""
    from rich.console import Console

    return Console(soft_wrap=True, highlight=False, markup=False, emoji=False)


def figures_table(
    *names: str,
    figures: Sequence[str],
    title: str | None = None,
) -> Table:
    """A framed table: columns of text, then columns of figures, aligned right."""
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
    """Print a table without a frame on stdout, one line a row however narrow the terminal."""
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
