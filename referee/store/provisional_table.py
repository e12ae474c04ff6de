"""Provisional figures of runs that are not judged yet."""

from __future__ import annotations

from referee.store.database import Database
from referee.store.records import (
    Provisional,
    Released,
)
from referee.store.schema import insert


class ProvisionalTable:
    """Figures of runs that are not judged yet, and the released part, which non-operators see.

    New figures replace the old ones.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def set(self, provisional: Provisional) -> None:
        """Replace the provisional figures of a run."""
        with self._database.transaction() as connection:
            connection.execute(
                insert("provisional", "INSERT OR REPLACE"), vars(provisional)
            )

    def of_run(self, run: int) -> Provisional | None:
        """Return the provisional figures of a run, or None if it has none."""
        rows = self._database.rows("SELECT * FROM provisional WHERE run = ?", run)
        return Provisional(**rows[0]) if rows else None

    def release(self, released: Released) -> None:
        """Replace the released figures of a run, which non-operators see until it is judged."""
        with self._database.transaction() as connection:
            connection.execute(insert("released", "INSERT OR REPLACE"), vars(released))

    def released(self, run: int) -> Released | None:
        """Return the released figures of a run, or None if it has none."""
        rows = self._database.rows("SELECT * FROM released WHERE run = ?", run)
        return Released(**rows[0]) if rows else None
