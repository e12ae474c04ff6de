"""The replays of published runs, made beside the server for everyone to see."""

from __future__ import annotations

from dataclasses import dataclass

from referee.store.database import Database

_PUT = (
    "INSERT OR REPLACE INTO replays (run, made_of, document, originals)"
    " SELECT ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM published WHERE state = 'live')"
)
_GET = "SELECT run, made_of, document, originals FROM replays WHERE run = ?"
_MARKS = "SELECT run, made_of FROM replays"


@dataclass(frozen=True)
class StoredReplay:
    """The replay of a run as JSON, with the figures that it was `made_of`.

    `originals` is a JSON object: the test set's number of each image, by the number that the team knows.
    """

    run: int
    made_of: str
    document: str
    originals: str


class ReplayTable:
    """Replays, at most one for each run; a newer one replaces it only while the board is live."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, replay: StoredReplay) -> None:
        """Store a replay, unless the board is frozen or nothing was published yet."""
        values = (replay.run, replay.made_of, replay.document, replay.originals)
        with self._database.transaction() as connection:
            connection.execute(_PUT, values)

    def get(self, run: int) -> StoredReplay | None:
        """Return the replay of a run, or None."""
        rows = self._database.rows(_GET, run)
        return StoredReplay(*rows[0]) if rows else None

    def marks(self) -> dict[int, str]:
        """Return what each replay was made of, by run, without reading the documents."""
        return {row["run"]: row["made_of"] for row in self._database.rows(_MARKS)}
