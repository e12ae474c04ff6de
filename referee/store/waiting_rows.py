"""Rows that wait in memory until the database's next commit, whatever it writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import chain
from typing import Any

# Rows in one statement. Few statements, because other threads take the interpreter between two of them.
_AT_ONCE = 500


class WaitingRows:
    """Waiting rows of one table, which is given with its columns, like `served (run, image)`."""

    def __init__(self, into: str) -> None:
        columns = into.count(",") + 1
        self._begin = f"INSERT INTO {into} VALUES "  # noqa: S608 - names from code
        self._marks = f"({', '.join('?' * columns)})"
        self.rows: list[tuple[Any, ...]] = []

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add rows to those that wait. The call is atomic, so several threads may add at once."""
        self.rows.extend([*rows])

    def write(self, connection: sqlite3.Connection) -> int:
        """Write the waiting rows in the connection's transaction, and return their number."""
        waiting = self.rows[:]
        for at in range(0, len(waiting), _AT_ONCE):
            part = waiting[at : at + _AT_ONCE]
            marks = ", ".join([self._marks] * len(part))
            values = [*chain(*part)]
            connection.execute(self._begin + marks, values)
        return len(waiting)

    def forget(self, count: int) -> None:
        """Discard the first `count` waiting rows, which `write` wrote, once they are on disk."""
        del self.rows[:count]
