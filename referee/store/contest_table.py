"""The contest's id, and the public key that it signs with."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from referee.store.acts import Act, put_on_record
from referee.store.database import Database
from referee.store.event_chain import append_event
from referee.store.integrity import Integrity
from referee.store.operator_table import END_ALL_SESSIONS
from referee.store.post_table import FIRST_ID

_CHANGE_ID = "UPDATE contest SET first_id = coalesce(first_id, id), id = :id, public_key = NULL WHERE id != :id"
_ABOUT = (
    "SELECT (SELECT coalesce(first_id, id) FROM contest),"
    " (SELECT coalesce(max(id), 0) FROM events)"
)


class ContestTable:
    """The contest's id and its public key."""

    def __init__(self, database: Database, integrity: Integrity) -> None:
        self._database = database
        self._integrity = integrity

    def contest_id(self, default: str) -> str:
        """Return the contest's id. A database of an earlier version has none: `default` is then stored as its id."""
        found = self._database.rows("SELECT id FROM contest")
        if found:
            return str(found[0]["id"])
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO contest (rowid, id) VALUES (1, ?)", (default,)
            )
        return self.contest_id(default)

    def first_id(self) -> str:
        """Return the contest's first id: new secrets give a contest a new id, but run chains start from the first."""
        return str(self._database.rows(FIRST_ID)[0][0])

    def about(self) -> tuple[str | None, int]:
        """Return the contest's first id, if it has one, and the number of events in its log."""
        return tuple(self._database.rows(_ABOUT)[0])

    def public_key(self) -> str | None:
        """Return the public key that the contest signs with, hexadecimal; None before it has one."""
        rows = self._database.rows("SELECT public_key FROM contest")
        return rows[0]["public_key"] if rows else None

    def set_public_key(self, make: Callable[[], str], now: datetime) -> None:
        """Unless the contest has a public key, store the one that `make` returns, with an event.

        `make` is called in the transaction, so by one process at a time.
        """
        with self._database.transaction() as connection:
            if connection.execute(
                "SELECT 1 FROM contest WHERE public_key IS NULL"
            ).fetchone():
                public = make()
                connection.execute("UPDATE contest SET public_key = ?", (public,))
                append_event(
                    connection,
                    now.isoformat(),
                    None,
                    "signing-key",
                    {"public_key": public},
                )

    def forget_public_key(self, act: Act | None = None) -> None:
        """Delete the stored public key, because the private key is lost; the contest then signs with a new one."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE contest SET public_key = NULL")
            put_on_record(connection, act)

    def accept(self, contest_id: str, act: Act | None = None) -> None:
        """Accept the database as the one of this contest, even though records are missing.

        The stored public key is kept unless the database belonged to another contest. The sessions of all
        operators and teams end, because the missing records may include a log-out.
        """
        with self._database.transaction() as connection:
            connection.execute(_CHANGE_ID, {"id": contest_id})
            connection.execute(
                "INSERT OR IGNORE INTO contest (rowid, id) VALUES (1, ?)", (contest_id,)
            )
            for statement in END_ALL_SESSIONS:
                connection.execute(statement)
            put_on_record(connection, act)
        self._integrity.note_count()

    def leave_journal(self) -> None:
        """Delete the journal position of this copied database.

        The copy then starts a journal of its own, or is built from one.
        """
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM journal")
