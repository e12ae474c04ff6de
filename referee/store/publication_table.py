"""Final boards of the tracks, as published by operators.

Append-only, except that a board can be marked as no longer shown.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime

from referee.errors import RefereeError
from referee.store.acts import Act, put_on_record
from referee.store.database import Database
from referee.store.model_records import Publication
from referee.store.schema import insert

_NEWEST = "SELECT * FROM publications WHERE track = ? ORDER BY id DESC LIMIT 1"
_MARK = (
    "SELECT group_concat(iif(withdrawn IS NULL, id, NULL)), count(measured_utc), max(measured_utc)"
    " FROM submissions LEFT JOIN measurements ON submission = submissions.id WHERE track = ?"
)
_TAKE_BACK = "UPDATE publications SET taken_back_utc = ?, taken_back = ? WHERE track = ? AND taken_back_utc IS NULL"


class PublicationTable:
    """Final boards of tracks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def newest(self, track: str) -> Publication | None:
        """Return the newest final board of a track, even if it is no longer shown."""
        rows = self._database.rows(_NEWEST, track)
        return _publication(rows[0]) if rows else None

    def track_mark(self, track: str) -> tuple[object, ...]:
        """Return a value that changes with every submission, measurement, withdrawal and restoration of a track."""
        return tuple(self._database.rows(_MARK, track)[0])

    def publish(
        self,
        made: Publication,
        mark: tuple[object, ...],
        odd: Sequence[str],
        act: Act | None = None,
    ) -> None:
        """Store a final board that was computed when `track_mark` returned `mark`, and record what looked odd (`odd`).

        Raises RefereeError `track-changed` if the track has changed since, `already-published` if the same board is
        published already.
        """
        values = {
            "id": None,
            "track": made.track,
            "utc": made.utc,
            "published_by": made.by,
            "code": made.code,
        }
        values |= {
            "document": json.dumps(made.document),
            "taken_back_utc": None,
            "taken_back": None,
        }
        with self._database.transaction() as connection:
            if tuple(connection.execute(_MARK, (made.track,)).fetchone()) != mark:
                sentence = (
                    f"The track {made.track} changed meanwhile, so nothing was published; look at its board "
                    "again, then publish."
                )
                raise RefereeError("track-changed", sentence)
            row = connection.execute(_NEWEST, (made.track,)).fetchone()
            if (
                row is not None
                and row["taken_back_utc"] is None
                and row["code"] == made.code
            ):
                who = f"by {row['published_by']} at {row['utc'][:19]}"
                sentence = f"This final board of the track {made.track} was published already, {who}."
                raise RefereeError("already-published", sentence)
            connection.execute(insert("publications"), values)
            put_on_record(connection, act, odd=list(odd))


def take_back_publication(
    connection: sqlite3.Connection, track: str, reason: str, now: datetime
) -> None:
    """Take back the final board of a track, if one is published, in the connection's transaction."""
    connection.execute(_TAKE_BACK, (now.isoformat(), reason, track))


def _publication(row: sqlite3.Row) -> Publication:
    return Publication(
        track=row["track"],
        utc=row["utc"],
        by=row["published_by"],
        code=row["code"],
        document=json.loads(row["document"]),
        taken_back_utc=row["taken_back_utc"],
        taken_back=row["taken_back"],
    )
