"""Tables on the terminal, in which no figure, name or state is ever shortened."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click
from rich.cells import cell_len

if TYPE_CHECKING:  # importing these takes longer than to print a table
    from rich.console import Console
    from rich.table import Table

RARE_MARKS = {
    "r": "reviewed: it stands",
    "x": "extra time",
    "i": "images seen before",
    "b": "below least_map",
    "?": "its figures do not hold",
    "n": "not bound by a log",
}
"""Marks of a run that are explained only where one is shown."""


class Column(NamedTuple):
    """One column; figures are aligned right."""

    name: str
    is_figure: bool = False


def one_line(text: str) -> str:
    """The text with all that a terminal would obey, or that would end the line, escaped: names come from others."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode()
        for one in text
    )


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
    lines = [
        [column.name for column in columns],
        *([one_line(cell) for cell in row] for row in rows),
    ]
    widths = [max(map(cell_len, cells)) for cells in zip(*lines, strict=True)]
    for number, line in enumerate(lines):
        cells = []
        for column, width, cell in zip(columns, widths, line, strict=True):
            gap = " " * (width - cell_len(cell))
            cells.append(gap + cell if column.is_figure else cell + gap)
        click.echo(click.style("  ".join(cells), bold=number == 0 or None))
    for part in textwrap.wrap(caption, sum(widths) + 2 * len(widths) - 2):
        click.echo(click.style(part, italic=True))


def marks_caption(marks: Mapping[str, str], rows: Sequence[Sequence[str]]) -> str:
    """What the marks in the last column of the rows mean."""
    shown = "".join(
        word for row in rows for word in row[-1].split() if set(word) <= set(marks)
    )
    explained = [mark for mark in marks if mark not in RARE_MARKS or mark in shown]
    return "   ".join(f"{mark} {marks[mark]}" for mark in explained)
