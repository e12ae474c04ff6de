"""The announcements of the contest day."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from referee.errors import RefereeError
from referee.store.acts import Act, put_on_record
from referee.store.database import LARGEST_NUMBER, Database
from referee.store.schema import insert

_ANNOUNCED = (
    "SELECT id, utc, operator, text, expires_utc FROM announcements"
    " WHERE withdrawn_utc IS NULL AND coalesce(expires_utc > ?, 1) ORDER BY id DESC"
)


class AnnouncementTable:
    """The announcements; a withdrawn announcement stays on record."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        operator: str,
        text: str,
        now: datetime,
        act: Act | None = None,
        expires: datetime | None = None,
    ) -> int:
        """Publish an announcement, shown until it `expires` or is withdrawn, and return its number."""
        values = {
            "id": None,
            "utc": now.isoformat(),
            "operator": operator,
            "text": text,
            "withdrawn_utc": None,
            "expires_utc": expires and expires.isoformat(),
        }
        with self._database.transaction() as connection:
            number = int(
                connection.execute(insert("announcements"), values).lastrowid or 0
            )
            put_on_record(connection, act, announcement=number)
        return number

    def withdraw(self, number: int, now: datetime, act: Act | None = None) -> None:
        """Withdraw an announcement; it stays on record. Raises RefereeError `announcement-unknown`."""
        sql = "UPDATE announcements SET withdrawn_utc = ? WHERE id = ? AND withdrawn_utc IS NULL"
        with self._database.transaction() as connection:
            if not connection.execute(
                sql, (now.isoformat(), min(number, LARGEST_NUMBER))
            ).rowcount:
                raise RefereeError(
                    "announcement-unknown",
                    f"There is no announcement {number}, or it is withdrawn already.",
                )
            put_on_record(connection, act)

    def standing(self, now: datetime) -> list[dict[str, Any]]:
        """Return the announcements that are shown at `now`, UTC: id, utc, operator, text, expires_utc; newest first."""
        rows = self._database.rows(_ANNOUNCED, now.isoformat())
        return [dict(row) for row in rows]
