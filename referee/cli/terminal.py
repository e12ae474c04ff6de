"""Tables on the terminal, in which no figure, name or state is ever shortened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

UNBOUNDED = 10_000
console = partial(Console, soft_wrap=True, highlight=False, markup=False, emoji=False)
"""A console on stdout that prints text as it is."""

RARE_MARKS = {"r": "reviewed: it stands", "x": "extra time", "b": "below least_map"}
"""Marks of a run that are explained only where one is shown."""


class Column(NamedTuple):
    """One column; figures are aligned right."""

    name: str
    is_figure: bool = False


def one_line(text: str) -> str:
    """The text with all that a terminal would obey, or that would end the line, escaped: names come from others."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def figures_table(*names: str, figures: Sequence[str], title: str | None = None) -> Table:
    """A framed table: columns of text, then columns of figures, aligned right."""
    table = Table(*names, title=title, title_justify="left")
    for figure in figures:
        table.add_column(figure, justify="right")
    return table


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], caption: str) -> None:
    """Print a table without a frame on stdout, one line a row however narrow the terminal."""
    table = Table(box=None, pad_edge=False, caption=caption, caption_justify="left")
    for column in columns:
        table.add_column(column.name, justify="right" if column.is_figure else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    plain = partial(Console, highlight=False, markup=False, emoji=False)
    needed = Measurement.get(plain(), plain().options.update(max_width=UNBOUNDED), table).maximum
    plain(width=max(plain().width, needed)).print(table)


def marks_caption(marks: Mapping[str, str], rows: Sequence[Sequence[str]]) -> str:
    """What the marks in the last column of the rows mean."""
    shown = "".join(word for row in rows for word in row[-1].split() if set(word) <= set(marks))
    return "   ".join(
        f"{mark} {words}" for mark, words in marks.items() if mark not in RARE_MARKS or mark in shown
    )
