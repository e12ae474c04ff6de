"""Group commit: writes of several threads share a transaction, because waiting for the disk takes longest.

The first thread commits its own write. Threads that arrive during this commit wait; then the first of them commits the
writes of them all. So each commit wakes one leader, and no two threads compete for the interpreter. A thread that
arrives alone does not wait.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, MutableSequence, Sequence
from contextlib import AbstractContextManager
from copy import copy
from typing import Any, TypeVar

from referee.errors import StorageFailed

T = TypeVar("T")
Statement = Callable[[sqlite3.Connection], Any]
"""A function that writes with a connection and returns the result of the write."""

# Errors of a single statement, which then changes nothing. Any other error, like a full disk, fails the transaction.
_OWN_ERRORS = (
    *(sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError),
    *(TypeError, ValueError, OverflowError),
)


class Write:
    """A statement of one thread, with its result or with the error to raise in that thread."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_over = False
        self.leads = False
        """True once the thread of this write is to make the next commit."""
        self.woken: threading.Lock | None = None
        """Lock that the waiting thread tries to acquire; it is released when the thread may go on."""


class GroupCommit:
    """Executes statements of several threads, many in one transaction."""

    def __init__(
        self,
        transaction: Callable[[], AbstractContextManager[sqlite3.Connection]],
        changes: MutableSequence[Any] | None = None,
    ) -> None:
        """Store the list `changes`, to which a transaction adds each changed row.

        The rows of a failed statement are removed from it.
        """
        self._transaction = transaction
        self._changes = [] if changes is None else changes
        self._lock = threading.Lock()
        self._waiting: list[Write] = []
        self._has_leader = False

    @property
    def waiting(self) -> int:
        """The number of writes that wait for the present commit to end."""
        return len(self._waiting)

    def write(self, statement: Callable[[sqlite3.Connection], T]) -> T:
        """Commit a statement and return its result once it is on disk.

        A statement that breaks a constraint raises its own sqlite3 error and does not affect the others, so it must be
        one SQL statement, or several that cannot break a constraint. A commit that fails raises the transaction's error
        for every write in it.
        """
        mine = Write(statement)
        with self._lock:
            self._waiting.append(mine)
            if self._has_leader:
                mine.woken = threading.Lock()
                mine.woken.acquire()
            self._has_leader = True

        if mine.woken is not None:
            self._wait(mine, mine.woken)
        if not mine.is_over:
            self._lead(mine)

        if isinstance(mine.error, StorageFailed):
            raise copy(mine.error) from mine.error  # the group shares one
        if mine.error is not None:
            raise mine.error
        result: T = mine.result
        return result

    def _wait(self, mine: Write, woken: threading.Lock) -> None:
        """Wait until the write is done or this thread is the leader.

        An interrupted thread withdraws its write, or leads the commit first if it was chosen, so that no other thread
        waits for it.
        """
        try:
            woken.acquire()
        except BaseException:
            with self._lock:
                leads = mine.leads and not mine.is_over
                if not leads:
                    self._waiting = [one for one in self._waiting if one is not mine]
            if leads:
                self._lead(mine)
            raise

    def _lead(self, mine: Write) -> None:
        """Commit the waiting writes, then wake their threads and the next leader."""
        mine.woken = None
        with self._lock:
            group = self._waiting
            self._waiting = []
        try:
            self._commit(group)
        except BaseException as error:  # noqa: BLE001 - each thread of the group raises it
            for one in group:
                one.error = one.error or error
        for one in group:
            one.is_over = True

        with self._lock:
            self._has_leader = bool(self._waiting)
            following = self._waiting[:1]
            for one in following:
                one.leads = True
        for one in (*following, *group):
            if one.woken is not None:
                one.woken.release()

    def _commit(self, group: Sequence[Write]) -> None:
        changes = self._changes
        with self._transaction() as connection:
            for one in group:
                mark = len(changes)
                try:
                    one.result = one.statement(connection)
                except _OWN_ERRORS as error:
                    del changes[mark:]
                    one.error = error
