"""Rows of a table of measured figures: made, kept as JSON, printed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


def row(what: str, measured: float | str, target: float | str | None = None) -> dict[str, Any]:
    """One figure, and what it should be."""
    return {"what": what, "measured": measured, "target": target}


def keep(title: str, rows: Sequence[dict[str, Any]], file: Path) -> None:
    """Write the rows to a file as JSON and print them as a table."""
    file.write_text(json.dumps(rows, indent=2) + "\n")
    table = Table(title, "measured", "target")
    for one in rows:
        table.add_row(one["what"], _shown(one["measured"]), _shown(one["target"]))
    Console().print(table)


def _shown(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, int | float) else str(value)
