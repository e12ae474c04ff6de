"""Tables of measured figures, on the terminal and in pages of docs; what a process has used."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

WIDTH = 140  # of a file or a pipe


def row(
    what: str,
    measured: float | str,
    target: float | str | None = None,
) -> dict[str, Any]:
    """One figure, and what it should be."""
    return {
        "what": what,
        "measured": measured,
        "target": target,
    }


def show(title: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Print the rows, a column for each of their keys."""
    columns = list(dict.fromkeys(key for one in rows for key in one))
    table = Table(*columns, title=title)
    for one in rows:
        table.add_row(*(_shown(one.get(key)) for key in columns))
    Console(width=None if sys.stdout.isatty() else WIDTH).print(table)


def _shown(value: object) -> str:
    return (
        ""
        if value is None
        else f"{value:.4g}"
        if isinstance(value, float)
        else str(value)
    )


def as_markdown(rows: Sequence[Mapping[str, object]]) -> str:
    """The rows as a table of Markdown, with the columns of the first."""
    columns = list(rows[0]) if rows else ["none"]
    lines = [_line(columns), _line(["---"] * len(columns))]
    for one in rows:
        cells = [_shown(one[key]) for key in columns]
        lines.append(_line(cells))
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def replace_part(
    document: Path,
    begin: str,
    text: str,
    end: str,
) -> None:
    """Put a text between two marks of a document."""
    before, _, rest = document.read_text().partition(begin)
    document.write_text(f"{before}{begin}{text}{end}{rest.partition(end)[2]}")


def processor_s(process: int) -> float:
    """Processor time, user and system, that a process has taken in all its threads."""
    # CPUCLOCK_SCHED of that process; exact to microseconds.
    return time.clock_gettime(~process << 3 | 2)


def peak_memory_mb() -> float:
    """The peak of this process since its start: unlike that of getrusage, not its parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return (
        next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000
    )
