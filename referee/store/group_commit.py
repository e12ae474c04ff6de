"""Group commit: writes of several threads share a transaction, because waiting for the disk takes longest.

The first thread that comes works for itself. Those that come meanwhile wait; the first of them then works for all of
them: one thread is woken once for many, and no two compete for the interpreter. A thread that comes alone waits for no
one. What several threads do is thus any work that is cheaper together (`Combining`), and above all a commit.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from copy import copy
from typing import Any, Generic, TypeVar

from referee.errors import StorageFailed

T = TypeVar("T")
Task = TypeVar("Task")
Statement = Callable[[sqlite3.Connection], Any]
"""What writes with a connection, and what it returns."""

# Errors of one statement, which leaves nothing behind. Any other error, like a full disk, fails the transaction.
_OWN_ERRORS = (
    *(sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError),
    *(TypeError, ValueError, OverflowError),
)


class Job(Generic[Task]):
    """A task of one thread, and how it went: its result, or the error that the thread raises."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_over = False
        self.leads = False  # its thread was chosen to do the next work
        self.woken: threading.Lock | None = (
            None  # of a thread that waits; held until it may go on
        )

    def outcome(self) -> Any:
        """The result. Raises the error."""
        if isinstance(self.error, StorageFailed):
            raise copy(self.error) from self.error  # the group shares one
        if self.error is not None:
            raise self.error
        return self.result


class Combining(Generic[Task]):
    """Has the tasks of several threads done by one of them, up to `at_once` together."""

    def __init__(
        self, work: Callable[[Sequence[Job[Task]]], None], at_once: int | None = None
    ) -> None:
        """`work` sets each job's result, or its error; what it raises itself is the error of those without one."""
        self._work = work
        self._at_once = at_once
        self._lock = threading.Lock()
        self._waiting: list[Job[Task]] = []
        self._has_leader = False

    @property
    def waiting(self) -> int:
        """How many tasks wait for the present work to end."""
        return len(self._waiting)

    def do(self, task: Task) -> Any:
        """Have one task done and return its result. Raises its error."""
        mine = Job(task)
        self._have_done([mine])
        return mine.outcome()

    def _have_done(self, mine: Sequence[Job[Task]]) -> None:
        """Have the jobs of one thread done together. Those that may be cut by `at_once` come alone."""
        first, woken = mine[0], None
        with self._lock:
            self._waiting.extend(mine)
            if self._has_leader:
                woken = first.woken = threading.Lock()
                woken.acquire()
            self._has_leader = True
        if woken is not None:
            self._wait(mine, woken)
        if not first.is_over:
            self._lead(first)

    def _wait(self, mine: Sequence[Job[Task]], woken: threading.Lock) -> None:
        """Wait until the jobs are over, or to lead; who is interrupted must not be waited for."""
        try:
            woken.acquire()
        except BaseException:
            with self._lock:
                leads = mine[0].leads and not mine[0].is_over
                if not leads:
                    self._waiting = [job for job in self._waiting if job not in mine]
            if leads:
                self._lead(mine[0])
            raise

    def _lead(self, first: Job[Task]) -> None:
        first.woken = None
        with self._lock:
            group = self._waiting[: self._at_once]
            del self._waiting[: len(group)]
        try:
            self._work(group)
        except BaseException as error:  # noqa: BLE001 - each thread of the group raises it
            for job in group:
                job.error = job.error or error
        for job in group:
            job.is_over = True
        with self._lock:
            self._has_leader = bool(self._waiting)
            following = self._waiting[:1]
            for job in following:
                job.leads = True
        for woken in [job.woken for job in (*following, *group)]:
            if woken is not None:
                woken.release()


class GroupCommit(Combining[Statement]):
    """Writes statements, several at a time in one transaction."""

    def __init__(
        self,
        transaction: Callable[[], AbstractContextManager[sqlite3.Connection]],
        forget_changes: Callable[[int | None], int] = lambda _: 0,
    ) -> None:
        """`forget_changes` says how many rows a transaction has changed; given such a number, it forgets the others."""
        super().__init__(self._commit)
        self._transaction, self._forget_changes = transaction, forget_changes

    def write(self, statement: Callable[[sqlite3.Connection], T]) -> T:
        """Commit what `statement` writes and return its result once it is on disk.

        A statement that breaks a rule of the tables raises its own sqlite3 error and does not affect the others, so it
        must be one SQL statement, or several that break none. A commit that fails raises the transaction's error for
        every write in it.
        """
        result: T = self.do(statement)
        return result

    def write_all(self, statements: Sequence[Statement]) -> Sequence[Job[Statement]]:
        """Commit statements of one thread together; each has its own outcome."""
        jobs = list(map(Job, statements))
        if jobs:
            self._have_done(jobs)
        return jobs

    def _commit(self, jobs: Sequence[Job[Statement]]) -> None:
        with self._transaction() as connection:
            for job in jobs:
                mark = self._forget_changes(None)
                try:
                    job.result = job.task(connection)
                except _OWN_ERRORS as error:
                    self._forget_changes(mark)
                    job.error = error
