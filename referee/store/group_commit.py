"""Group commit: writes of several threads share a transaction, because waiting for the disk takes longest.

The first thread that comes commits for itself. Those that come meanwhile wait; the first of them then commits for all
of them. A thread that comes alone waits for no one.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from referee.errors import StorageFailed

T = TypeVar("T")

# Errors of one statement, which leaves nothing behind. Any other error, like a full disk, fails the transaction.
_OWN_ERRORS = (
    *(sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError),
    *(TypeError, ValueError, OverflowError),
)


class _Write:
    """What one thread wants to write, and how that went."""

    statement: Callable[[sqlite3.Connection], Any]
    result: Any = None
    error: BaseException | None = None
    is_over = False
    woken: threading.Event | None = None  # of a thread that waits


class GroupCommit:
    """Writes statements, several at a time in one transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[sqlite3.Connection]]) -> None:
        self._transaction = transaction
        self._lock = threading.Lock()
        self._waiting: list[_Write] = []
        self._has_leader = False

    @property
    def waiting(self) -> int:
        """How many writes wait for the present commit to end."""
        return len(self._waiting)

    def write(self, statement: Callable[[sqlite3.Connection], T]) -> T:
        """Commit what `statement` writes and return its result once it is on disk.

        A statement that breaks a rule of the tables raises its own sqlite3 error and does not affect the others, so it
        must be one SQL statement, or several that break none. A commit that fails raises the transaction's error for
        every write in it.
        """
        mine = _Write()
        mine.statement = statement
        with self._lock:
            self._waiting.append(mine)
            if self._has_leader:
                mine.woken = threading.Event()
            self._has_leader = True
        if mine.woken is not None:
            self._wait(mine, mine.woken)
        if not mine.is_over:
            self._commit_waiting()
        if isinstance(mine.error, StorageFailed):
            raise StorageFailed(mine.error.sentence) from mine.error  # the group shares one
        if mine.error is not None:
            raise mine.error
        result: T = mine.result
        return result

    def _wait(self, mine: _Write, woken: threading.Event) -> None:
        """Wait until the write is over, or to lead; who is interrupted must not be waited for."""
        try:
            woken.wait()
        except BaseException:
            with self._lock:
                leads = woken.is_set() and not mine.is_over
                if not leads and mine in self._waiting:
                    self._waiting.remove(mine)
            if leads:
                self._commit_waiting()
            raise

    def _commit_waiting(self) -> None:
        with self._lock:
            group, self._waiting = self._waiting, []
        try:
            with self._transaction() as connection:
                for write in group:
                    try:
                        write.result = write.statement(connection)
                    except _OWN_ERRORS as error:
                        write.error = error
        except BaseException as error:  # noqa: BLE001 - each thread of the group raises it
            for write in group:
                write.error = error
        for write in group:
            write.is_over = True
        with self._lock:
            self._has_leader = bool(self._waiting)
            woken = [*self._waiting[:1], *group]
        for write in woken:
            if write.woken is not None:
                write.woken.set()
