"""The connection to a contest's database: opening, transactions, and errors as one sentence each."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import (
    ExitStack,
    closing,
    contextmanager,
    suppress,
)
from operator import attrgetter
from pathlib import Path
from typing import NoReturn

from referee.errors import RefereeError, StorageFailed
from referee.journal.records import Change
from referee.served import is_served
from referee.store.database_file import find_columns, form_of, require_content
from referee.store.group_commit import GroupCommit
from referee.store.journaling import Journaling, place_of
from referee.store.replaying import BEHIND
from referee.store.schema import COLUMNS, VERSION, create_tables
from referee.store.waiting_rows import WaitingRows

DATABASE_NAME = "contest.db"
LARGEST_NUMBER = 2**63 - 1  # that SQLite takes
_BEHIND_SINCE = "SELECT max(events.utc) AS utc FROM events, journal WHERE is_behind AND kind = ? GROUP BY journal.id"
_INODE = attrgetter("st_dev", "st_ino")
ATTEMPTS = 100  # between attempts at what SQLite does not wait for
PAUSE_S = 0.05
LOCK_TIMEOUT_S = 30.0  # how long a write waits for another process, such as the judge's, to finish its own
LOOK_TIMEOUT_S = 1.0  # how long an opening that only looks waits for a lock


class Database:
    """An open database file: one connection that writes and one that reads, so that neither waits for the other.

    A missing or empty file becomes a database only with `create`. Without `journaled`, for a copy that is being made,
    writes go to no journal. With `only_looks`, opening does not wait for a process that has locked the database, such
    as a hanging server. Raises RefereeError `database-missing`, `database-foreign`, `database-version`, `contest-busy`,
    `storage-failed`.
    """

    form = VERSION
    """Form number of the tables in the file."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        journaled: bool = True,
        only_looks: bool = False,
    ) -> None:
        self.path = path
        self.folder = path.parent
        self.lock = threading.RLock()
        self._reading = threading.Lock()
        self._changes: list[Change] = []
        self.group = GroupCommit(self.transaction, self._changes)
        self._journaling: Journaling | None = None
        self._along = WaitingRows("none ()")
        with ExitStack() as opened:
            try:
                if create:
                    make_private(path)
                else:
                    require_content(path)
                self.connection = connect(path)
                opened.callback(self.connection.close)
                opened.callback(self._close_journal)
                self._prepare(path, create=create)
                if journaled:
                    self._begin_journal(only_looks=only_looks)
                self._reader = connect(path)
            except sqlite3.Error as error:
                fail("opened", error)
            opened.pop_all()

    def _prepare(self, path: Path, *, create: bool) -> None:
        found = find_columns(self.connection, path, create=create)
        version = form_of(self.connection, path)
        if 0 < version < VERSION and is_served(
            path.parent
        ):  # it is being served by a program that needs the older tables
            raise RefereeError(
                "contest-busy",
                f"{path.parent} is being served by an older version of this program; stop that server first.",
            )
        _write_ahead(self.connection)  # a copy made by VACUUM INTO is not in that mode
        if (
            version < VERSION or not found >= COLUMNS
        ):  # also of a form 10 that was not ready yet
            import sqlite_utils  # takes a quarter of a second, which most starts need not wait for

            # One transaction, so that if two processes open a new database, the second waits for the first.
            self.connection.execute("BEGIN IMMEDIATE")
            with self.connection:
                create_tables(sqlite_utils.Database(self.connection))
        # From its first read until it closes, this connection keeps other processes from deleting the log.
        self.connection.execute("PRAGMA user_version").fetchone()
        real = os.path.realpath(
            path
        )  # beside it lies the log, also where `path` is a link
        self._names = (str(path), f"{real}-wal", f"{real}-shm")
        self._inodes = _inodes(self._names)
        self._size = 0  # of the file, which SQLite never makes shorter

    def _begin_journal(self, *, only_looks: bool) -> None:
        """Bring the database and its journal to the same position.

        If a shared journal does not answer now, the first transaction that needs it reports the error.
        """
        place = place_of(self.folder)
        if place is None:
            return
        self._journaling = Journaling(place, self.connection, self._changes)
        if not place.is_shared:
            self.connection.execute(
                "PRAGMA synchronous=NORMAL"
            )  # each transaction is in the journal before it is committed
        with suppress(*((RefereeError, OSError) if place.is_shared else ())):
            try:
                self.require_in_place()
                with _waiting_at_most(
                    self.connection, LOOK_TIMEOUT_S if only_looks else LOCK_TIMEOUT_S
                ):
                    self._make_journal_ready()
            except sqlite3.Error as error:
                # The process that holds the lock has made the journal ready, or is doing so: a look shows the state
                # before that. A caller that also writes must wait.
                if not (only_looks and is_locked(error)):
                    fail("written", error)

    def _close_journal(self) -> None:
        if self._journaling is not None:
            self._journaling.close()

    def is_in_place(self) -> bool:
        """Return True if the database, -wal and -shm files on disk are still the ones that this connection opened."""
        return _inodes(self._names) == self._inodes

    def require_in_place(self) -> None:
        """Raise StorageFailed if a file of the database was removed, replaced, moved or overwritten while in use."""
        found = _files(self._names)
        if list(map(_INODE, found)) != self._inodes:
            raise StorageFailed(
                f"{self.path} or its -wal or -shm was removed, replaced or moved while in use, so nothing was "
                "stored. For the operator: stop the server, then make the database from its journal: referee "
                f"restore --journal {self.folder}. Or replace the database by contest-rescued-*.db from the same "
                "folder (and delete the old -wal and -shm)."
            )
        size = found[0].st_size
        if size < self._size:
            raise StorageFailed(
                f"{self.path} was overwritten while in use ({size} bytes, it had {self._size}), so nothing was stored. "
                "For the operator: stop the server, then make the database from its journal: "
                f"referee restore --journal {self.folder}"
            )
        self._size = size

    def close(self) -> None:
        """Close the connections; the store cannot be used afterwards."""
        with self._reading:
            self._reader.close()
        with self.lock:
            self._close_journal()
            self.connection.close()

    def forgo_durability(self) -> None:
        """Stop waiting for the disk when this connection commits: for data that can be computed again.

        Other processes then hardly ever wait for these commits. Durable commits of other connections stay durable: each
        one also writes the earlier commits to disk. Checkpoints are left to other connections.
        """
        try:
            with self.lock:
                self.connection.execute("PRAGMA synchronous=NORMAL")
                self.connection.execute("PRAGMA wal_autocheckpoint=0")
        except sqlite3.Error as error:
            fail("opened", error)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block in a transaction of its own; when it ends, its writes are on disk. Raises StorageFailed."""
        try:
            with self.lock:
                self.require_in_place()
                journaling = self._journaling
                if journaling is not None:
                    if not journaling.is_ready:
                        self._bring_together(journaling)
                    journaling.watch()
                self.connection.execute("BEGIN IMMEDIATE")
                try:
                    with self.connection:
                        if journaling is not None:
                            journaling.begin()
                        yield self.connection
                        taken_along = self._along.write(self.connection)
                        if journaling is not None:
                            journaling.append()
                except BaseException:
                    if journaling is not None:
                        journaling.take_back()
                    raise
                if journaling is not None:
                    journaling.committed()
                self.require_in_place()  # before the write is acknowledged
                if taken_along:
                    self._along.forget(taken_along)
        except sqlite3.Error as error:
            fail("written", error)

    def journal_behind_since(self) -> str | None:
        """Return the time (UTC) since which the journal lacks commits because its disk failed, or None."""
        found = self.rows(_BEHIND_SINCE, BEHIND)
        return found[0]["utc"] if found else None

    def begin_journal_again(self) -> None:
        """Restart a journal that is behind, with a copy of the whole database.

        All writes wait until this ends. If it raises StorageFailed, RefereeError or OSError, the journal stays behind.
        """
        if self._journaling is None:
            return
        try:
            with self.lock:
                self.require_in_place()
                self._bring_together(self._journaling, again=True)
        except sqlite3.Error as error:
            fail("written", error)

    def _make_journal_ready(self) -> None:
        """Make the journal ready in a separate transaction, so that a new journal file never starts amid another write.

        The commit waits for the disk. Otherwise records could be written to a journal file that is unknown to the
        database after a power failure.
        """
        if self._journaling is not None and not self._journaling.is_ready:
            self._bring_together(self._journaling)

    def _bring_together(self, journaling: Journaling, *, again: bool = False) -> None:
        former = self.connection.execute("PRAGMA synchronous").fetchone()[0]
        self.connection.execute("PRAGMA synchronous=FULL")
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            with self.connection:
                journaling.make_ready(again=again)
        finally:
            self.connection.execute(f"PRAGMA synchronous={former}")

    def write_along(self, waiting: WaitingRows) -> None:
        """From now on, write the rows that wait here with every commit."""
        self._along = waiting

    def rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        """Return the rows of a query over committed data."""
        try:
            with self._reading:
                return self._reader.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            fail("read", error)

    def rows_apart(self, sql: str) -> list[sqlite3.Row]:
        """Return the rows of a query, read on a separate connection, so that no other read waits for it."""
        try:
            with closing(connect(self.path)) as own:
                return own.execute(sql).fetchall()
        except sqlite3.Error as error:
            fail("read", error)


def _files(names: Iterable[str]) -> list[os.stat_result]:
    """Return the status of the file at each of these paths; an empty list if one is missing."""
    try:
        return list(map(os.stat, names))
    except OSError:
        return []


def _inodes(names: Iterable[str]) -> list[object]:
    """Return (device, inode) of the file at each of these paths; an empty list if one is missing."""
    return list(map(_INODE, _files(names)))


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection whose commits wait for the disk. Raises sqlite3.Error."""
    with ExitStack() as opened:
        connection = opened.enter_context(
            closing(
                sqlite3.connect(path, check_same_thread=False, timeout=LOCK_TIMEOUT_S)
            )
        )
        connection.row_factory = sqlite3.Row
        connection.execute(
            "PRAGMA synchronous=FULL"
        )  # this reads the file, which may not be a database
        connection.execute("PRAGMA foreign_keys=ON")
        opened.pop_all()
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log, and retry while it is locked.

    If two connections switch at once, SQLite fails one of them without waiting.
    """
    for left in reversed(range(ATTEMPTS)):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if not is_locked(error) or not left:
                raise
            threading.Event().wait(PAUSE_S)
        else:
            return


@contextmanager
def _waiting_at_most(
    connection: sqlite3.Connection, timeout_s: float
) -> Iterator[None]:
    """In the block, wait at most `timeout_s` for locks of other processes, instead of LOCK_TIMEOUT_S."""
    connection.execute(f"PRAGMA busy_timeout={round(timeout_s * 1000)}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout={round(LOCK_TIMEOUT_S * 1000)}")


def is_locked(error: sqlite3.Error) -> bool:
    """Return True if the error says that another connection holds the database."""
    code = getattr(
        error, "sqlite_errorcode", 0
    )  # errors of the Python module have no code
    reason = code & 0xFF  # the other bits say more about the reason
    return reason in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def fail(what: str, error: sqlite3.Error) -> NoReturn:
    """Raise StorageFailed with a sentence for `error`; re-raise broken constraints and programming errors unchanged."""
    if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
        raise error
    if is_locked(error):
        raise StorageFailed(
            f"The contest database cannot be {what}: another process keeps it locked. If a command or the server of "
            "this contest hangs, end it; then try again."
        ) from error
    raise StorageFailed(
        f"The contest database cannot be {what} ({error}); check its disk space, rights and file. "
        "If the file is damaged, make it from its journal (referee restore --journal), or put a copy in its place. "
        "Then try again."
    ) from error


def make_private(path: Path) -> None:
    """Make a new database readable by its owner only: it holds password hashes and the secret image orders."""
    with suppress(OSError):  # opening the connection reports what is wrong
        path.touch(mode=0o600, exist_ok=False)
