"""Requests that were refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from referee.store.database import Database
from referee.store.records import Refusal
from referee.store.schema import insert

MOST_REFUSALS = 5000
"""Number of refusals stored for a contest; the oldest ones are deleted."""
_REFUSAL = ", ".join(one.name for one in fields(Refusal))


class RefusalTable:
    """The newest refusals; older ones are deleted."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, refusals: Iterable[tuple[int | None, Refusal]]) -> list[int]:
        """Store refusals and return their row numbers; a refusal with a row number replaces that row."""
        kept = []
        with self._database.transaction() as connection:
            for number, refusal in refusals:
                values = vars(refusal) | {"id": number}
                row = connection.execute(
                    insert("refusals", "INSERT OR REPLACE"), values
                ).lastrowid
                kept.append(int(row or 0))
            connection.execute(
                "DELETE FROM refusals WHERE id <= ?",
                (max(kept, default=0) - MOST_REFUSALS,),
            )
        return kept

    def newest(self, most: int) -> tuple[Refusal, ...]:
        """Return the newest `most` refusals, the newest first by row number.

        Their times would be no reliable order, because the clock may have been set back.
        """
        query = f"SELECT {_REFUSAL} FROM refusals ORDER BY id DESC LIMIT ?"  # noqa: S608 - a constant
        rows = self._database.rows(query, most)
        return tuple(Refusal(*row) for row in rows)

    def of_team(self, team: str, most: int) -> tuple[Refusal, ...]:
        """Return the newest `most` refusals of a team's requests, the newest first."""
        query = (
            f"SELECT {_REFUSAL} FROM refusals WHERE team = ? ORDER BY id DESC LIMIT ?"  # noqa: S608 - a constant
        )
        rows = self._database.rows(query, team, most)
        return tuple(Refusal(*row) for row in rows)

    def of_run(self, run: int, most: int) -> tuple[Refusal, ...]:
        """Return the newest `most` refusals of a run's requests, the newest first."""
        query = (
            f"SELECT {_REFUSAL} FROM refusals WHERE run = ? ORDER BY id DESC LIMIT ?"  # noqa: S608 - a constant
        )
        rows = self._database.rows(query, run, most)
        return tuple(Refusal(*row) for row in rows)

    def count_of_run(self, run: int) -> tuple[int, int]:
        """Return the number of stored refusals of a run, and the number of requests that they count."""
        query = "SELECT count(*) AS rows, coalesce(sum(count), 0) AS requests FROM refusals WHERE run = ?"
        (row,) = self._database.rows(query, run)
        return row["rows"], row["requests"]
