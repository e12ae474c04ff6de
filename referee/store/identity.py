"""Which contest the database is of, and whether all that was stored in it is still there."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path

from referee.errors import RefereeError, StorageFailed
from referee.store.acts import put_on_record
from referee.store.database import Database, connect
from referee.store.log import append_event
from referee.store.posts import FIRST_ID

# No row of these tables is ever deleted, and VACUUM keeps their numbers: the sum only grows.
_COUNTED = ("runs", "posts", "events", "scores", "submissions")
_LAST = "(SELECT coalesce(max(id), 0) FROM {})"
_COUNT = f"SELECT {' + '.join(map(_LAST.format, _COUNTED))}"
_END_ALL_SESSIONS = "DELETE FROM operator_sessions"
_CHANGE_ID = "UPDATE contest SET first_id = coalesce(first_id, id), id = :id, public_key = NULL WHERE id != :id"


class IdentityTables(Database):
    """The contest's id, and a count beside the database (`contest.db-count`) of the records that it must have.

    The count is noted after the records are on disk, so it may lag, but never exceeds what a power cut leaves.
    """

    _is_rescued = False

    def contest_id(self, default: str) -> str:
        """The contest's id; a database of an earlier form gets the default one, for good."""
        found = self._rows("SELECT id FROM contest")
        if found:
            return str(found[0]["id"])
        with self._transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO contest (rowid, id) VALUES (1, ?)", (default,)
            )
        return self.contest_id(default)

    def first_id(self) -> str:
        """The id that the contest had first: with new secrets it has another, but runs' chains begin with this one."""
        return str(self._rows(FIRST_ID)[0][0])

    def public_key(self) -> str | None:
        """The public key that the contest signs with, hexadecimal; None before it has one."""
        rows = self._rows("SELECT public_key FROM contest")
        return rows[0]["public_key"] if rows else None

    def set_public_key(self, make: Callable[[], str], now: datetime) -> None:
        """Keep the contest's public key, with an event; `make` is called if it has none, by one process at a time."""
        with self._transaction() as connection:
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

    def forget_public_key(self) -> None:
        """Let the contest sign with another key from now on: its own is lost."""
        with self._transaction() as connection:
            connection.execute("UPDATE contest SET public_key = NULL")
            put_on_record(connection)

    def accept(self, contest_id: str) -> None:
        """Take the database, as it is, for that of this contest, without the records that it lacks.

        The key that it signed with stays the contest's, unless the database was another contest's. Operators' sessions
        end: one of them may have logged out since.
        """
        with self._transaction() as connection:
            connection.execute(_CHANGE_ID, {"id": contest_id})
            connection.execute(
                "INSERT OR IGNORE INTO contest (rowid, id) VALUES (1, ?)", (contest_id,)
            )
            connection.execute(_END_ALL_SESSIONS)
            put_on_record(connection)
        self.note_count()

    def leave_journal(self) -> None:
        """Forget where in a journal this copy of a database is: it begins its own, or is made from one again."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM journal")

    def end_all_sessions(self) -> None:
        """End the sessions of all operators: of a copy it is not known who has logged out since it was made."""
        with self._transaction() as connection:
            connection.execute(_END_ALL_SESSIONS)
            put_on_record(connection)

    def require_sound(self) -> None:
        """Raise RefereeError `database-damaged` if `PRAGMA quick_check` finds a fault; it reads 250 MB in a second."""
        found = " ".join(
            self._rows_apart("PRAGMA quick_check(1)")[0][0].split()
        )  # of several lines
        if found != "ok":
            raise RefereeError(
                "database-damaged",
                f"{self._path} is damaged ({found}); stop the server and make it from the journal: referee restore "
                f"--journal {self._folder}, or put your newest copy in its place and delete its -wal and -shm.",
            )

    def require_complete(self) -> None:
        """Raise RefereeError `database-cut` if the database lacks records that were stored in it."""
        noted = 0
        with suppress(OSError, ValueError):
            noted = int(
                self._count_file().read_text()
            )  # first: the count grows meanwhile
        missing = noted - self._rows(_COUNT)[0][0]
        if missing > 0:
            raise RefereeError(
                "database-cut",
                f"{self._path} lacks the last {missing} of {noted} records: it is an older copy, or its -wal was "
                "removed or cut. Put the newer files back, or go on without those records: "
                f"referee doctor {self._folder} --accept",
            )

    def note_count(self) -> None:
        """Note beside the database how many records are on disk. Raises StorageFailed."""
        self.require_in_place()
        count = self._rows(_COUNT)[0][0]  # only what is on disk can be read
        file = self._count_file()
        # In place and in one piece: nothing waits for the disk, as it would for a file that is truncated.
        with (
            suppress(OSError),
            file.open("r+b" if file.exists() else "wb", buffering=0) as opened,
        ):
            opened.write(b"%020d\n" % count)

    def watch(self, now: datetime) -> None:
        """Note the count. If the files were removed, replaced or moved, save what they had and raise StorageFailed."""
        is_in_place = self.is_in_place()
        if not is_in_place and not self._is_rescued:
            self._rescue(self._folder / f"contest-rescued-{now:%Y%m%d-%H%M%S}.db")
        self._is_rescued = not is_in_place
        self.note_count()

    def copy_to(self, copy: Path) -> None:
        """Copy what is acknowledged now; others write on. Raises StorageFailed, RefereeError `database-damaged`."""
        try:
            with (
                closing(connect(self._path)) as reading,
                closing(sqlite3.connect(copy)) as writing,
            ):
                reading.execute(
                    "BEGIN"
                )  # else each commit of others would make the copy begin again
                reading.execute(
                    "PRAGMA user_version"
                ).fetchone()  # what is committed later is not seen
                reading.backup(writing, pages=256)
                is_sound = (
                    writing.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
                )
        except sqlite3.Error as error:
            raise StorageFailed(f"{self._path} cannot be copied: {error}.") from error
        if not is_sound:
            raise RefereeError(
                "database-damaged", f"{self._path} is damaged; keep the older backups."
            )

    def _rescue(self, copy: Path) -> None:
        try:
            copy.touch(mode=0o600)
            with self._lock:
                self._connection.execute("VACUUM INTO ?", (str(copy),))
        except (OSError, sqlite3.Error) as error:
            with suppress(OSError):
                copy.unlink()
            raise StorageFailed(
                f"{self._path} was removed, replaced or moved, and {copy} cannot be saved ({error}): put the folder "
                "back or make space, and do not stop the server before; only it still has what was stored."
            ) from error

    def _count_file(self) -> Path:
        return self._path.with_name(f"{self._path.name}-count")
