"""Rows that wait in memory for the database's next commit of any kind."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import chain
from typing import Any

# Rows a statement: few statements, since between two of them other threads take the interpreter.
_AT_ONCE = 500


class WaitingRows:
    """Rows for one table, given with its columns as `served (run, image)`."""

    def __init__(self, into: str) -> None:
        columns = into.count(",") + 1
        self._begin = f"INSERT INTO {into} VALUES "  # noqa: S608 - names from code
        self._marks = f"({', '.join('?' * columns)})"
        self.rows: list[tuple[Any, ...]] = []

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add rows that wait. It is atomic: several threads may call it at once."""
        self.rows.extend([*rows])

    def write(self, connection: sqlite3.Connection) -> int:
        """Write the waiting rows within a transaction, and return how many there are."""
        waiting = self.rows[:]
        for at in range(0, len(waiting), _AT_ONCE):
            part = waiting[at : at + _AT_ONCE]
            marks = ", ".join([self._marks] * len(part))
            values = [*chain(*part)]
            connection.execute(self._begin + marks, values)
        return len(waiting)

    def forget(self, count: int) -> None:
        """Discard the rows that `write` wrote: they are on disk."""
        del self.rows[:count]
