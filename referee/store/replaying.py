"""Brings a database and its journal to the same position, and builds a database from a journal alone.

The database gets the records that it lacks; a journal that is behind starts again with a copy of the whole database. A
journal that does not match the database is refused. Start with `bring_together`.
"""

from __future__ import annotations

import logging
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

from referee.clock import Clock
from referee.errors import JournalDamaged, JournalForeign
from referee.journal.log_file import begin_file, log_path, make_folder
from referee.journal.records import (
    DELETE,
    PUT,
    Change,
    Header,
    Position,
    encode,
    encode_header,
    last_link,
    read_header,
    read_records,
)
from referee.presence import status
from referee.store.event_chain import append_event
from referee.store.put_statements import put_by_key, put_by_number
from referee.store.schema import ROWID, VERSION, columns_of, key_of, tables

logger = logging.getLogger(__name__)
BEHIND = "journal-behind"
AGAIN = "journal-again"
"""Kind of the event when the journal is written again; the kind before marks the beginning of that gap."""
NOT_JOURNALED = frozenset({"journal", "provisional", "replays"})
"""Tables left out of the journal: the position in it, and what is computed again within seconds."""
ROWS_A_RECORD = 500
POSTS_A_RECORD = 8
"""Number of posts in a record of a copied database; a post can have 4 MiB, and a record is held in memory."""

_READ = "SELECT seq, link, epoch, size FROM journal"
_WRITE = "INSERT OR REPLACE INTO journal (id, seq, link, epoch, size, is_behind) VALUES (1, ?, ?, ?, ?, ?)"
_IS_BEHIND = "SELECT 1 FROM journal WHERE is_behind"


def _unwatched() -> None:
    """Do nothing after each step of a replay, since a disk of this host needs no deadline."""


def position_of(connection: sqlite3.Connection) -> Position | None:
    """Return the position that a database has reached in its journal, or None if it has no journal."""
    found = connection.execute(_READ).fetchone()
    return None if found is None else Position(*tuple(found))


def set_position(
    connection: sqlite3.Connection, position: Position, *, is_behind: bool = False
) -> None:
    """Store the position that a database has reached in its journal, in the transaction that brought it there."""
    values = (
        position.seq,
        position.link,
        position.epoch,
        position.size,
        int(is_behind),
    )
    connection.execute(_WRITE, values)


def is_behind(connection: sqlite3.Connection) -> bool:
    """Return True if the journal is not written at present, because its disk failed and it is not `required`."""
    return connection.execute(_IS_BEHIND).fetchone() is not None


def bring_together(
    connection: sqlite3.Connection,
    journal: Path,
    epoch: int,
    move: Callable[[], None] = _unwatched,
) -> None:
    """Bring database and journal to the same position, whichever is behind. Raises RefereeError.

    Long work calls `move` between its steps, to show that it makes progress.
    """
    path = log_path(journal, epoch)
    position = position_of(connection)
    size = _size(path)
    if position is not None and is_behind(connection):
        append_event(
            connection, Clock().utc().isoformat(), None, AGAIN, {"seq": position.seq}
        )
        aside = None if size is None else _aside(path)
        _begin_again(connection, journal, epoch, move, aside)
    elif size is None and position is not None and position.epoch < epoch:
        begin_epoch(connection, journal, epoch)  # this host has taken over
    elif size is None:
        if position is not None:
            logger.warning(
                "the journal %s is missing: a new one begins with a copy of the database",
                path,
            )
        _begin_again(connection, journal, epoch, move)
    elif position is not None and position.epoch == epoch and size < position.size:
        aside = _aside(path)
        words = (
            "the journal %s was cut or is an older copy: it was renamed to %s, and a new one begins with a copy of the "
            "database"
        )
        logger.warning(words, path, aside.name)
        _begin_again(connection, journal, epoch, move, aside)
    elif _is_copy_of(connection, path, position):
        _begin_again(
            connection, journal, epoch, move
        )  # the process was ended between the copy and its commit
    elif position is None and _is_of_contest(connection, path):
        connection.execute("PRAGMA defer_foreign_keys=ON")
        made = build(connection, journal)
        words = "the database is older than its journal's beginning: it is made again from the %d transactions of %s"
        logger.warning(words, made.seq, journal)
    elif applied := catch_up(connection, journal):
        logger.warning(
            "the database lacked the last %d transactions: taken from the journal %s",
            applied,
            journal,
        )


def is_begun_again(path: Path, last: Position, now: Position) -> bool:
    """Return True if a journal file was begun again: with a copy of the database at `last` or later.

    It ends at `now`.
    """
    try:
        header, _ = read_header(path)
        leads_here = last_link(path, now.size) == now.link
    except (FileNotFoundError, JournalDamaged):
        return False
    return header.is_base and header.after.seq >= last.seq and leads_here


def _is_of_contest(connection: sqlite3.Connection, path: Path) -> bool:
    """Return True if a journal file belongs to the contest of this database."""
    header, _ = read_header(path)
    contest = connection.execute("SELECT id FROM contest").fetchone()
    return contest is not None and header.contest == contest[0]


def _is_copy_of(
    connection: sqlite3.Connection, path: Path, position: Position | None
) -> bool:
    """Return True if a journal file holds a copy of the database at its present position, and no later record."""
    header, start = read_header(path)
    contest = connection.execute("SELECT id FROM contest").fetchone()
    if not header.is_base:
        return False
    if contest and header.contest not in ("", contest[0]):
        return False

    former = Position() if position is None else position
    after = header.after
    if (after.seq, after.link) != (former.seq, former.link):
        return False

    one_too_many = header.base_records + 1
    found = islice(read_records(path, start), one_too_many)
    records = sum(1 for _ in found)
    return records == header.base_records


def catch_up(
    connection: sqlite3.Connection, journal: Path, *, whole: bool = True
) -> int:
    """Apply the journal's records after the database's position, in the transaction, and return how many there are.

    Unless `whole`, the last record is not applied until another follows, because the host that wrote it may still take
    it back. Raises RefereeError `journal-foreign`, JournalDamaged.
    """
    position = position_of(connection)
    if (
        position is None
        or last_link(log_path(journal, position.epoch), position.size) != position.link
    ):
        raise _foreign(journal)
    applied = 0
    waiting = None
    for path, end, start, its_header in _files_from(journal, position):
        for record in read_records(path, start, end):
            if waiting is not None:
                applied += _applied(connection, *waiting)
            waiting = (its_header.tables, record.changes, record.end)
        if waiting is not None and (whole or end is not None):
            applied += _applied(connection, *waiting)
            waiting = None
    return applied


class _File(NamedTuple):
    """A file of a journal: its path, its header, and the position at the header's end."""

    path: Path
    header: Header
    start: Position


def _way(journal: Path, since: int = 0) -> list[_File]:
    """Return the files from epoch `since`, or from a later copy of the whole contest, to the newest.

    Each file names the one that it continues, and a file that no later one names is left out: its host claimed an
    epoch, but another host claimed the next epoch before anything was written. Later writes to such a file were never
    acknowledged. Raises JournalDamaged.
    """
    files = sorted(journal.glob("[0-9]*.log"))
    if not files:
        raise JournalDamaged(f"{journal} has no file.")
    path = files[-1]
    way = list[_File]()
    while True:
        header, start = read_header(path)
        way.insert(0, _File(path, header, start))
        if header.is_base or start.epoch <= since:
            return way
        former = log_path(journal, header.after.epoch)
        if former >= path or not former.is_file():
            raise JournalDamaged(
                f"The journal file {former}, which {path} continues, is missing; put it back."
            )
        path = former


def _files_from(
    journal: Path, position: Position
) -> Iterator[tuple[Path, int | None, Position, Header]]:
    """Yield each file from a position on: its path, its valid end in bytes (None: the file's end), start and header.

    Raises RefereeError `journal-foreign` if the position does not lead to the newest file, JournalDamaged.
    """
    way = _way(journal, position.epoch)
    if way[0].start.epoch != position.epoch:
        raise _foreign(journal)
    start = position
    for one, following in pairwise(way):
        yield one.path, following.header.after.size, start, one.header
        start = following.start
    yield way[-1].path, None, start, way[-1].header


def build(
    connection: sqlite3.Connection, journal: Path, *, whole: bool = True
) -> Position:
    """Replace the content of the database by that of the journal, in the transaction, and return the position.

    Unless `whole`, the last record is left out, as in `catch_up`. Raises JournalDamaged.
    """
    start = _way(journal)[0].start
    for table in tables():
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - names from code
    set_position(connection, start)
    catch_up(connection, journal, whole=whole)
    found = position_of(connection)
    if found is None or (whole and found.seq == 0):
        raise JournalDamaged(f"{journal} holds no record.")
    return found


def _applied(
    connection: sqlite3.Connection,
    columns: Mapping[str, Sequence[str]],
    changes: Sequence[Change],
    end: Position,
) -> int:
    for table, what, values in changes:
        if what == DELETE:
            connection.execute(f"DELETE FROM {table} WHERE {key_of(table)} = ?", values)  # noqa: S608
            continue
        number, *row = values
        if number is None:
            connection.execute(put_by_key(table, columns[table]), row)
        else:
            connection.execute(put_by_number(table, columns[table]), [number, *row])
    set_position(connection, end)
    return 1


def begin_epoch(connection: sqlite3.Connection, journal: Path, epoch: int) -> None:
    """Begin the journal file of an epoch that this host has claimed, within the caller's transaction.

    The last record of the former host is written again here. If that host was only suspended, it may still remove or
    overwrite that record. It never changes a record that another record follows.
    """
    catch_up(connection, journal, whole=False)
    former = position_of(connection)
    if former is None:
        raise _foreign(journal)
    header = _header(connection, epoch, former, is_base=False)
    data, link = encode_header(header)
    end = Position(former.seq, link, epoch, len(data))
    parts = [data]
    former_file = log_path(journal, former.epoch)
    for last in [*read_records(former_file, former)]:
        data, link = encode(end, last.changes)
        size = end.size + len(data)
        end = Position(end.seq + 1, link, epoch, size)
        parts.append(data)
        _applied(connection, header.tables, last.changes, end)
    begin_file(log_path(journal, epoch), parts)
    set_position(connection, end)


def _begin_again(
    connection: sqlite3.Connection,
    journal: Path,
    epoch: int,
    move: Callable[[], None],
    aside: Path | None = None,
) -> None:
    """Write the file of an epoch with a copy of the whole database; rename the former file to `aside`, if given."""
    former = position_of(connection) or Position()
    records = _records_of_copy(connection)
    header = _header(connection, epoch, former, is_base=True)
    data, link = encode_header(replace(header, base_records=records))
    kept = [Position(former.seq, link, epoch, len(data))]

    def parts() -> Iterator[bytes]:
        yield data
        for changes in _copy(connection):
            record, its_link = encode(kept[0], changes)
            last = kept[0]
            size = last.size + len(record)
            kept[0] = Position(last.seq + 1, its_link, epoch, size)
            yield record
            move()

    make_folder(journal)
    begin_file(log_path(journal, epoch), parts(), aside)
    move()  # abandoned work must not store its position
    set_position(connection, kept[0])


def _copy(connection: sqlite3.Connection) -> Iterator[list[Change]]:
    """Yield all rows of all journaled tables as changes, in batches."""
    for table in tables():
        if table in NOT_JOURNALED:
            continue
        number = ROWID if key_of(table) == ROWID else "NULL"
        names = ", ".join(columns_of(table))
        found = connection.execute(
            f"SELECT {number}, {names} FROM {table} ORDER BY rowid"  # noqa: S608
        )
        while rows := found.fetchmany(_rows_a_record(table)):
            yield [(table, PUT, tuple(row)) for row in rows]


def _rows_a_record(table: str) -> int:
    return POSTS_A_RECORD if table == "posts" else ROWS_A_RECORD


def _records_of_copy(connection: sqlite3.Connection) -> int:
    """Return the number of records that a copy of the whole database has."""
    records = 0
    for table in tables():
        if table not in NOT_JOURNALED:
            (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - names from code
            records += -(-rows // _rows_a_record(table))
    return records


def _header(
    connection: sqlite3.Connection, epoch: int, after: Position, *, is_base: bool
) -> Header:
    contest = connection.execute("SELECT id FROM contest").fetchone()
    columns = {table: columns_of(table) for table in tables()}
    return Header(
        contest[0] if contest else "", VERSION, epoch, is_base, columns, after
    )


def _size(path: Path) -> int | None:
    found = status(path)
    return None if found is None else found.st_size


def _aside(path: Path) -> Path:
    return path.with_name(f"{path.stem}-aside-{secrets.token_hex(4)}")


def _foreign(journal: Path) -> JournalForeign:
    return JournalForeign(
        f"The journal {journal} does not produce this database: it belongs to another contest, or one of them was "
        "changed. To make the database from it: referee restore --journal. To go on with the database, move the "
        "journal away.",
    )
