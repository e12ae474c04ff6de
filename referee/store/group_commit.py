"""Group commit: writes of many threads, made durable together.

Waiting for the disk takes longer than writing. The thread that comes first commits for itself and for all that have
come meanwhile, and wakes them; of those that came during its commit, the first leads the next group. A thread that
comes alone waits for nobody and hands nothing over.

The one that leads also prepares what the others want written: threads that compute at the same time only take the
interpreter from each other, and each time costs more than what they compute.

Each write is somebody's, such as a run's. Of many that wait, every owner's first is taken in turn, and a group is
small enough: whoever sends much and often makes himself wait.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")
Statement = Callable[[sqlite3.Connection], T]
AsOne = Callable[[sqlite3.Connection, Sequence[Any]], Sequence[Any]]
"""Executes several statements of its kind as a single one of SQL; gives what each would have given."""

GROUP_BYTES = 4 * 2**20
"""About the most that is written before a commit: a small body waits for one large one at most, not for several."""

PREPARING = 64
"""What has yet to be prepared counts as so many times its bytes: the worst 4 MiB / 64 take some 50 ms."""

MOST_AS_ONE = 32  # statements, so that SQLite has few different ones to remember

NOBODY = 0  # the owner of what is no run's

# These spoil one statement, which leaves nothing behind. Everything else, like a full disk, spoils the transaction.
_OWN_FAILURES = (
    *(sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError),
    *(TypeError, ValueError, OverflowError),
)


class _Write:
    """What one thread wants written, and how that went."""

    def __init__(
        self,
        statement: Statement[Any],
        told: Callable[[Any], Any],
        size_bytes: int,
        prepare: Callable[[], None] | None,
        as_one: AsOne | None,
    ) -> None:
        self.statement = statement
        self.size_bytes = size_bytes
        self.as_one = as_one
        self.is_over = False
        self.error: BaseException | None = None
        self.result: Any = None
        self._told = told
        self._prepare = prepare
        self._turn = threading.Lock()
        self._turn.acquire()

    def is_ready(self) -> bool:
        """Prepare it; tells whether that succeeded."""
        try:
            if self._prepare is not None:
                self._prepare()
        except BaseException as error:  # noqa: BLE001 - raised by the thread whose write it is
            self.error = error
        return self.error is None

    def execute(self, connection: sqlite3.Connection) -> None:
        try:
            self.result = self.statement(connection)
        except _OWN_FAILURES as error:
            self.error = error

    def committed(self) -> None:
        if self.error is not None:
            return
        try:
            self.result = self._told(self.result)
        except BaseException as error:  # noqa: BLE001 - raised by the thread whose write it is
            self.error = error

    def wake(self) -> None:
        self._turn.release()

    def wait(self) -> None:
        self._turn.acquire()

    def outcome(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


class GroupCommit:
    """Takes writes, one statement each, into transactions that several threads share."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[sqlite3.Connection]]) -> None:
        self._transaction = transaction
        self._lock = threading.Lock()
        self._waiting: OrderedDict[int, deque[_Write]] = OrderedDict()  # by owner, who is next first
        self._is_led = False

    def write(
        self,
        statement: Statement[T],
        told: Callable[[T], R],
        size_bytes: int = 0,
        prepare: Callable[[], None] | None = None,
        owner: int = NOBODY,
        as_one: AsOne | None = None,
    ) -> R:
        """Commit what `statement` writes and give what `told` makes of its result.

        `prepare` is called before, outside of any transaction, perhaps by another thread; what it raises is raised
        here, and then nothing is written. It keeps the others waiting: only what is short belongs there. `size_bytes`
        is about how much is written, or PREPARING times as much as is prepared. Statements with the same `as_one` that
        follow each other are executed by it: between two statements other threads take the interpreter.

        The writes of one `owner` are committed in the order in which they come. `told` is called once it is on disk,
        in the order of the commit, by one thread at a time. A statement that breaks a rule of the tables raises its
        sqlite3 error and leaves the others alone, so it must be one SQL statement, or several that break none; a commit
        that fails raises what the transaction raises for every write of its group.
        """
        mine = _Write(statement, told, size_bytes, prepare, as_one)
        with self._lock:
            self._waiting.setdefault(owner, deque()).append(mine)
            leads, self._is_led = not self._is_led, True
        if not leads:
            mine.wait()
        if not mine.is_over:
            self._lead()
        result: R = mine.outcome()
        return result

    def _lead(self) -> None:
        group = self._take()
        try:
            ready = [write for write in group if write.is_ready()]
            if ready:
                self._commit(ready)
        finally:
            for write in group:
                write.is_over = True
            with self._lock:
                following = next(iter(self._waiting.values()))[0] if self._waiting else None
                self._is_led = following is not None
            if following is not None:
                following.wake()
            for write in group:
                write.wake()

    def _take(self) -> list[_Write]:
        group: list[_Write] = []
        size_bytes = 0
        with self._lock:
            while self._waiting and size_bytes < GROUP_BYTES:
                owner, writes = self._waiting.popitem(last=False)
                group.append(writes.popleft())
                size_bytes += group[-1].size_bytes
                if writes:
                    self._waiting[owner] = writes  # behind the others
        return group

    def _commit(self, group: list[_Write]) -> None:
        try:
            with self._transaction() as connection:
                for as_one, alike in groupby(group, key=attrgetter("as_one")):
                    _execute(connection, as_one, list(alike))
        except BaseException as error:  # noqa: BLE001 - each thread of the group is told by its own
            for write in group:
                write.error = error
        else:
            for write in group:
                write.committed()


def _execute(connection: sqlite3.Connection, as_one: AsOne | None, writes: Sequence[_Write]) -> None:
    if as_one is None or len(writes) == 1:
        for write in writes:
            write.execute(connection)
        return
    for at in range(0, len(writes), MOST_AS_ONE):
        some = writes[at : at + MOST_AS_ONE]
        try:
            results = as_one(connection, [write.statement for write in some])
        except _OWN_FAILURES:  # of one of them: alone, each tells its own
            _execute(connection, None, some)
        else:
            for write, result in zip(some, results, strict=True):
                write.result = result
