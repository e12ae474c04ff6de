"""A database that follows the journal of another host, in a contest folder that this host does not serve."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import sqlite_utils

from referee.errors import JournalForeign
from referee.journal.epochs import Claim
from referee.store.database import DATABASE_NAME, connect, make_private
from referee.store.replaying import begin_epoch, build, catch_up, position_of
from referee.store.schema import create_tables


class Follower:
    """Applies journal records to a database, and rebuilds the database from the journal if the two do not match."""

    def __init__(self, folder: Path, journal: Path) -> None:
        path = folder / DATABASE_NAME
        make_private(path)
        self._path = path
        self._journal = journal
        self._connection = connect(path)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(
            "PRAGMA foreign_keys=OFF"
        )  # rows come in the order of their changes, so a referenced row may come later
        with self._transaction():
            create_tables(sqlite_utils.Database(self._connection))

    @property
    def seq(self) -> int:
        """The number of the last applied record."""
        position = position_of(self._connection)
        return 0 if position is None else position.seq

    def public_key(self) -> str | None:
        """The public key of the contest, hexadecimal."""
        found = self._connection.execute("SELECT public_key FROM contest").fetchone()
        return found[0] if found else None

    def read_on(self) -> int:
        """Apply the new records and return how many there were. Raises JournalDamaged, FileNotFoundError.

        The last record is applied only once another follows, because the host that wrote it may still take it back.
        """
        with self._transaction():
            try:
                return catch_up(self._connection, self._journal, whole=False)
            except JournalForeign:
                # The count is of the database that was here before.
                self._path.with_name(f"{DATABASE_NAME}-count").unlink(missing_ok=True)
                return build(self._connection, self._journal, whole=False).seq

    def begin(self, claim: Claim) -> None:
        """Begin the epoch that this host has claimed, after applying everything that the former host wrote."""
        with self._transaction():
            begin_epoch(self._connection, self._journal, claim.epoch)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield


def rebuild(database: Path, journal: Path) -> int:
    """Build a new database from a journal alone, and return the number of transactions.

    Raises JournalDamaged, OSError.
    """
    with closing(connect(database)) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            create_tables(sqlite_utils.Database(connection))
            return build(connection, journal).seq
