"""Tables for the terminal that never shorten a figure, a name or a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

UNBOUNDED = 10_000


@dataclass(frozen=True)
class Column:
    """One column; figures are aligned right."""

    name: str
    is_figure: bool = False


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], caption: str) -> None:
    """Print a table without a frame on stdout, one line a row however narrow the terminal."""
    table = Table(box=None, pad_edge=False, caption=caption, caption_justify="left")
    for column in columns:
        table.add_column(column.name, justify="right" if column.is_figure else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    plain = partial(Console, highlight=False, markup=False, emoji=False)
    console = plain()
    needed = Measurement.get(console, console.options.update(max_width=UNBOUNDED), table).maximum
    plain(width=max(console.width, needed)).print(table)
