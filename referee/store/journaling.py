"""Writes each transaction of a database to the journal before it is committed.

Triggers that exist only on the writing connection hand each changed row to `Journaling`, which writes the record to
disk before the commit. So the database is never ahead of the journal, and its own commits need not wait for the disk:
commits lost in a power failure are applied again at the next opening (`replaying`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from referee.clock import Clock
from referee.config import CONFIG_NAME, read_config
from referee.config.journal_table import Journal
from referee.errors import JournalStalled, RefereeError, StorageFailed
from referee.journal.disk import JournalDisk
from referee.journal.epochs import FIRST, Claim, own_epoch, require_current
from referee.journal.log_file import ROOM_BYTES, LogFile, log_path, older_database
from referee.journal.place import JOURNAL_NAME
from referee.journal.records import (
    DELETE,
    PUT,
    Change,
    Position,
)
from referee.presence import is_there
from referee.served import is_served
from referee.store.event_chain import append_event
from referee.store.replaying import (
    BEHIND,
    NOT_JOURNALED,
    bring_together,
    is_begun_again,
    is_behind,
    position_of,
    set_position,
)
from referee.store.schema import ROWID, columns_of, key_of, tables

LOCK_NAME = "journal.lock"

_READ_WHOLE = "SELECT seq, link, epoch, size, is_behind FROM journal"
_MOVE = "UPDATE journal SET seq = ?, link = ?, epoch = ?, size = ?"
# The document is published again every second; only the state is an operator's decision.
_WHEN = {
    "published": "WHEN new.state IS NOT old.state OR new.unveiled IS NOT old.unveiled"
}


class Place(NamedTuple):
    """The journal of a contest folder and its settings."""

    folder: Path
    journal: Path
    settings: Journal

    @property
    def is_shared(self) -> bool:
        """True if the journal lies outside the contest folder, where other hosts can reach it."""
        return bool(self.settings.path)


def place_of(folder: Path) -> Place | None:
    """Return the journal of a contest folder, or None if the folder has no contest.toml."""
    if not is_there(folder / CONFIG_NAME):
        return None
    try:
        settings = read_config(folder).journal
    except RefereeError:  # opening the contest reports the error
        settings = Journal()
    return Place(folder, folder / (settings.path or JOURNAL_NAME), settings)


class Journaling:
    """The journal of an open database, used by its writing connection, one transaction at a time."""

    def __init__(
        self, place: Place, connection: sqlite3.Connection, changes: list[Change]
    ) -> None:
        """Store the list `changes`, to which each row changed in a transaction is added."""
        self._place = place
        self._connection = connection
        self._room_bytes = (
            0 if place.is_shared else ROOM_BYTES
        )  # over a network, the free space would be sent as well
        self._changes = changes
        self._claim: Claim | None = None
        self._file: LogFile | None = None
        self._disk: JournalDisk | None = None
        self._is_begun = False  # True if the transaction's record may be on disk
        self._last = self._next = (
            Position()
        )  # the last position that this connection committed, and the one it is about to commit
        if place.is_shared:
            lock = place.folder / LOCK_NAME
            self._disk = JournalDisk(
                place.journal, place.settings.deadline_s, lock=lock
            )
        self._is_watching = False
        self.is_ready = False
        """True if the journal is open and at the same position as the database."""

    @property
    def is_required(self) -> bool:
        """True if no transaction may be committed unless it is in the journal."""
        return not self._place.is_shared or self._place.settings.required

    def note(self, table: str, what: str, *values: Any) -> None:
        """Add a changed row to the changes; the triggers call this."""
        self._changes.append((table, what, values))

    def watch(self) -> None:
        """Create the triggers that hand over each changed row from now on.

        Call it outside a transaction, because a rollback would remove them. An opening that only reads does not call
        it, which halves its time.
        """
        if self._is_watching:
            return
        self._connection.create_function("journal_note", -1, self.note)
        for statement in _triggers():
            self._connection.execute(statement)
        self._is_watching = True

    def begin(self) -> None:
        """Start with no changes, at the beginning of a transaction."""
        self._changes.clear()
        self._is_begun = False
        self._next = self._last

    def append(self) -> None:
        """Write the changes of the transaction to the journal. Raises StorageFailed."""
        if not self._changes:
            return
        connection = self._connection
        found = connection.execute(_READ_WHOLE).fetchone()
        if found is None or self._file is None:
            return
        *place, behind = tuple(found)
        former = Position(*place)
        if behind:
            return
        if former.seq < self._last.seq:
            raise older_database(log_path(self._place.journal, former.epoch))
        self._is_begun = True
        try:
            end = self._written(self._file, former)
        except (JournalStalled, OSError) as error:
            self._fall_behind(former, error)
        else:
            connection.execute(_MOVE, (end.seq, end.link, end.epoch, end.size))
            self._next = end

    def _write(
        self, file: LogFile, former: Position, require: Callable[[], None]
    ) -> Position:
        """Append the record, to the new file if another connection has restarted the journal."""
        try:
            return file.append(former, self._changes, require)
        except StorageFailed:
            path = log_path(self._place.journal, former.epoch)
            if self.is_required or not is_begun_again(path, self._last, former):
                raise
            self._file = LogFile(path, self._room_bytes)
        file.close()
        return self._file.append(former, self._changes, require)

    def committed(self) -> None:
        """Mark the position of the transaction as committed."""
        self._last = self._next

    def take_back(self) -> None:
        """Cut the record of a transaction that was not committed from the file.

        This runs in a separate transaction, because another process may have written its record at that position
        meanwhile.
        """
        if self._is_begun and self._file is not None:
            self._cut(self._file)

    def close(self) -> None:
        """Close the file.

        The free space behind the records is cut off first, unless the journal is shared.
        """
        if self._file is not None:
            if self._last.seq and not self._place.is_shared:
                self._cut(self._file)
            self._file.close()
        self._file = None
        self.is_ready = False

    def _cut(self, file: LogFile) -> None:
        """Cut everything behind the last committed record from the file."""
        with suppress(sqlite3.Error, RefereeError, OSError):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                former = position_of(self._connection)
                if former is not None and former.seq >= self._last.seq:
                    self._do(partial(file.take_back, former))
            finally:
                self._connection.execute("ROLLBACK")

    def _written(self, file: LogFile, former: Position) -> Position:
        """Write the record and return its end. The thread of a `JournalDisk` writes a shared journal."""
        if self._disk is None or self._claim is None:
            return file.append(former, self._changes)
        require = partial(require_current, self._place.journal, self._claim)
        work = partial(self._write, file, former, require)
        end: Position = self._disk.do(work)
        return end

    def _do(self, work: Callable[[], Any]) -> Any:
        return work() if self._disk is None else self._disk.do(work)

    def _fall_behind(self, former: Position, error: RefereeError | OSError) -> None:
        words = (
            error.sentence if isinstance(error, RefereeError) else str(error.strerror)
        )
        if not self.is_required:
            set_position(self._connection, former, is_behind=True)
            detail = {"reason": words, "seq": former.seq}
            now = Clock().utc().isoformat()
            append_event(self._connection, now, None, BEHIND, detail)
            return
        if isinstance(error, RefereeError):
            raise error
        raise StorageFailed(
            f"The journal at {self._place.journal} cannot be written ({words}), so nothing was stored; send the "
            "request again. For the operator: check its disk, its space and its rights."
        ) from error

    def make_ready(self, *, again: bool = False) -> None:
        """Bring journal and database to the same position in a transaction, and open the file.

        While the contest is served, a journal that is behind because its disk failed stays behind unless `again` is
        set. The server sets it when no run is disturbed.
        """
        place = self._place
        connection = self._connection
        if place.is_shared:
            contest = connection.execute("SELECT id FROM contest").fetchone()
            if contest is None:
                return
            claim = partial(own_epoch, place.journal, place.folder, contest=contest[0])
            self._claim = self._do(
                partial(claim, version=version("lpirc-referee"), utc=Clock().utc())
            )
        epoch = FIRST if self._claim is None else self._claim.epoch
        if again or not (is_behind(connection) and is_served(place.folder)):
            bring = partial(bring_together, connection, place.journal, epoch)
            self._do(
                bring if self._disk is None else partial(bring, move=self._disk.move)
            )
        opened = self._do(
            partial(LogFile, log_path(place.journal, epoch), self._room_bytes)
        )
        end = position_of(connection)
        if end is not None:  # bytes that a power failure left there are not free space
            self._do(partial(opened.take_back, end))
        self.close()
        self._file = opened
        self.is_ready = True
        self._changes.clear()


@cache
def _triggers() -> list[str]:
    """Return the statements for the temporary triggers that hand each changed row to `journal_note`."""
    return [
        statement
        for table in tables()
        if table not in NOT_JOURNALED
        for statement in _of(table)
    ]


def _of(table: str) -> Iterator[str]:
    key = key_of(table)
    values = ", ".join(f"new.{column}" for column in columns_of(table))
    number = "NULL" if key != ROWID else "new.rowid"
    put = f"SELECT journal_note('{table}', '{PUT}', {number}, {values});"
    gone = f"SELECT journal_note('{table}', '{DELETE}', old.{key})"
    when = _WHEN.get(table, "")
    begins = f"CREATE TEMP TRIGGER IF NOT EXISTS journal_{table}"
    yield f"{begins}_put AFTER INSERT ON main.{table} BEGIN {put} END"
    moved = f"{gone} WHERE old.{key} IS NOT new.{key};"
    yield f"{begins}_change AFTER UPDATE ON main.{table} {when} BEGIN {moved} {put} END"
    yield f"{begins}_delete AFTER DELETE ON main.{table} BEGIN {gone}; END"
