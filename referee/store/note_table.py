"""Notes that operators write on runs."""

from __future__ import annotations

from datetime import datetime

from referee.store.acts import Act, put_on_record
from referee.store.database import Database
from referee.store.records import Note
from referee.store.schema import insert

_OF_RUN = "SELECT utc, operator, text FROM notes WHERE run = ? ORDER BY id"
_COUNTS = "SELECT run, count(*) AS notes FROM notes GROUP BY run"


class NoteTable:
    """Notes on runs, for operators only; append-only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        run: int,
        operator: str,
        text: str,
        now: datetime,
        act: Act | None = None,
    ) -> None:
        """Append a note to a run."""
        values = {
            "id": None,
            "run": run,
            "utc": now.isoformat(),
            "operator": operator,
            "text": text,
        }
        with self._database.transaction() as connection:
            connection.execute(insert("notes"), values)
            put_on_record(connection, act)

    def of_run(self, run: int) -> list[Note]:
        """Return the notes on a run, oldest first."""
        return [Note(*row) for row in self._database.rows(_OF_RUN, run)]

    def counts(self) -> dict[int, int]:
        """Return the number of notes of each run that has any."""
        return {row["run"]: row["notes"] for row in self._database.rows(_COUNTS)}
