"""Checks that every record once stored in a database is still there."""

from __future__ import annotations

import shlex
import sqlite3
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path

from referee.errors import RefereeError, StorageFailed
from referee.store.database import Database, connect

# No row of these tables is ever deleted, and VACUUM keeps the row numbers, so the sum only grows.
_COUNTED = ("runs", "posts", "events", "scores", "submissions")
_LAST = "(SELECT coalesce(max(id), 0) FROM {})"
_COUNT = f"SELECT {' + '.join(map(_LAST.format, _COUNTED))}"


class Integrity:
    """A file beside the database (`contest.db-count`) with the number of records that it must have.

    The count is written after the records are on disk. So it may lag, but after a power failure it never exceeds the
    number of records left.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._path = database.path
        self._folder = database.folder
        self._is_rescued = False

    def require_sound(self) -> None:
        """Raise RefereeError `database-damaged` if `PRAGMA quick_check` finds a fault.

        The check reads 250 MB in a second.
        """
        found = " ".join(
            self._database.rows_apart("PRAGMA quick_check(1)")[0][0].split()
        )  # of several lines
        if found != "ok":
            raise RefereeError(
                "database-damaged",
                f"{self._path} is damaged ({found}); stop the server and make it from the journal: referee restore "
                f"--journal {self._folder}, or put your newest copy in its place and delete its -wal and -shm.",
            )

    def require_complete(self) -> None:
        """Raise RefereeError `database-cut` if the database has fewer records than were stored in it."""
        noted = 0
        with suppress(OSError, ValueError):
            noted = int(
                self.count_file().read_text()
            )  # read first, because the number of records grows meanwhile
        missing = noted - self._database.rows(_COUNT)[0][0]
        if missing > 0:
            raise RefereeError(
                "database-cut",
                f"{self._path} lacks the last {missing} of {noted} records: it is an older copy, or its -wal was "
                "removed or cut. Put the newer files back, or go on without those records: "
                f"referee doctor {shlex.quote(str(self._folder))} --accept",
            )

    def note_count(self) -> None:
        """Write the number of records on disk to the file beside the database. Raises StorageFailed."""
        self._database.require_in_place()
        count = self._database.rows(_COUNT)[0][0]  # only what is on disk can be read
        file = self.count_file()
        # Written in place and at once: truncating the file first would wait for the disk.
        with (
            suppress(OSError),
            file.open("r+b" if file.exists() else "wb", buffering=0) as opened,
        ):
            opened.write(b"%020d\n" % count)

    def watch(self, now: datetime) -> None:
        """Write the count.

        If a file of the database was removed, replaced or moved, save the content as `contest-rescued-*.db` and raise
        StorageFailed.
        """
        is_in_place = self._database.is_in_place()
        if not is_in_place and not self._is_rescued:
            self._rescue(self._folder / f"contest-rescued-{now:%Y%m%d-%H%M%S}.db")
        self._is_rescued = not is_in_place
        self.note_count()

    def copy_to(self, copy: Path) -> None:
        """Copy the database with all acknowledged writes, while other connections go on writing.

        Raises StorageFailed, RefereeError `database-damaged`.
        """
        try:
            with (
                closing(connect(self._path)) as reading,
                closing(sqlite3.connect(copy)) as writing,
            ):
                reading.execute(
                    "BEGIN"
                )  # otherwise each commit of another connection would restart the copy
                reading.execute(
                    "PRAGMA user_version"
                ).fetchone()  # from here on, later commits are not seen
                reading.backup(writing, pages=256)
                is_sound = (
                    writing.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
                )
        except sqlite3.Error as error:
            raise StorageFailed(f"{self._path} cannot be copied: {error}.") from error
        if not is_sound:
            raise RefereeError(
                "database-damaged",
                f"{self._path} is damaged; keep the older backups.",
            )

    def _rescue(self, copy: Path) -> None:
        try:
            copy.touch(mode=0o600)
            with self._database.lock:
                self._database.connection.execute("VACUUM INTO ?", (str(copy),))
        except (OSError, sqlite3.Error) as error:
            with suppress(OSError):
                copy.unlink()
            raise StorageFailed(
                f"{self._path} was removed, replaced or moved, and {copy} cannot be saved ({error}). Restore the "
                "folder or free some space before you stop the server: it holds the only copy of the stored data."
            ) from error

    def count_file(self) -> Path:
        """Return the file beside the database that holds the count of its records."""
        return self._path.with_name(f"{self._path.name}-count")
