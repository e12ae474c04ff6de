"""A table of measured figures."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

WIDTH = 140  # of a file or a pipe


def row(what: str, measured: float | str, target: float | str | None = None) -> dict[str, Any]:
    """One figure, and what it should be."""
    return {"what": what, "measured": measured, "target": target}


def show(title: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Print the rows, a column for each of their keys."""
    columns = list(dict.fromkeys(key for one in rows for key in one))
    table = Table(*columns, title=title)
    for one in rows:
        table.add_row(*(_shown(one.get(key)) for key in columns))
    Console(width=None if sys.stdout.isatty() else WIDTH).print(table)


def _shown(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, int | float) else str(value)
