from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from referee.errors import StorageFailed
from referee.store.group_commit import GroupCommit
from tests.timeouts import TIMEOUT_S

Until = Callable[[Callable[[], object]], None]


class Bench:
    """A database whose commits a test can block or make fail."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(
            path,
            check_same_thread=False,
            isolation_level=None,
        )
        self.connection.execute("CREATE TABLE numbers (number INTEGER UNIQUE)")
        self.group = GroupCommit(self.transaction)
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.is_committing = threading.Event()
        self.fails = False
        self.sizes: list[int] = []

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        before = self.connection.total_changes
        self.connection.execute("BEGIN")
        try:
            yield self.connection
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.is_committing.set()
        assert self.goes_on.wait(TIMEOUT_S)
        if self.fails:
            self.connection.execute("ROLLBACK")
            raise StorageFailed("The disk is full.")
        self.connection.execute("COMMIT")
        self.sizes.append(self.connection.total_changes - before)

    def write(self, number: int) -> int:
        def insert(connection: sqlite3.Connection) -> int:
            connection.execute("INSERT INTO numbers VALUES (?)", (number,))
            return number * 10

        return self.group.write(insert)

    def stored(self) -> list[int]:
        return [
            row[0]
            for row in self.connection.execute(
                "SELECT number FROM numbers ORDER BY rowid"
            )
        ]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "numbers.db")
    yield made
    made.connection.close()


def hold(
    bench: Bench,
    threads: ThreadPoolExecutor,
    number: int = 0,
) -> Future[int]:
    """Let a thread lead a commit and block in it."""
    bench.goes_on.clear()
    bench.is_committing.clear()
    leading = threads.submit(bench.write, number)
    assert bench.is_committing.wait(TIMEOUT_S)
    return leading


def queue(
    bench: Bench,
    threads: ThreadPoolExecutor,
    until: Until,
    numbers: list[int],
) -> list[Future[int]]:
    """Start more writing threads, one after the other."""
    sent = []
    for number in numbers:
        sent.append(threads.submit(bench.write, number))
        until(lambda: bench.group.waiting == len(sent))
    return sent


def test_one_thread_alone_commits_at_once(bench: Bench) -> None:
    assert [bench.write(number) for number in (3, 1, 2)] == [30, 10, 20]
    assert bench.sizes == [1, 1, 1]
    assert bench.stored() == [3, 1, 2]


def test_writes_that_come_during_a_commit_share_the_next_in_their_order(
    bench: Bench,
    threads: ThreadPoolExecutor,
    until: Until,
) -> None:
    leading = hold(bench, threads)
    sent = queue(bench, threads, until, [5, 2, 9, 1])
    assert not any(one.done() for one in (leading, *sent))
    bench.goes_on.set()
    assert [leading.result(20), *(one.result(20) for one in sent)] == [
        0,
        50,
        20,
        90,
        10,
    ]
    assert bench.sizes == [1, 4]
    assert bench.stored() == [0, 5, 2, 9, 1]


def test_a_commit_that_fails_fails_its_whole_group_and_no_later_one(
    bench: Bench,
    threads: ThreadPoolExecutor,
    until: Until,
) -> None:
    leading = hold(bench, threads)
    sent = queue(bench, threads, until, [1, 2])
    bench.fails = True
    bench.goes_on.set()
    assert [type(one.exception(20)) for one in (leading, *sent)] == [StorageFailed] * 3
    bench.fails = False
    assert bench.write(7) == 70
    assert bench.stored() == [7]


def test_a_statement_that_breaks_a_rule_fails_alone(
    bench: Bench,
    threads: ThreadPoolExecutor,
    until: Until,
) -> None:
    leading = hold(bench, threads, 4)
    sent = queue(bench, threads, until, [5, 4, 6])
    bench.goes_on.set()
    assert leading.result(20) == 40
    assert isinstance(sent[1].exception(20), sqlite3.IntegrityError)
    assert [sent[0].result(20), sent[2].result(20)] == [50, 60]
    assert bench.sizes == [1, 2]
    assert bench.stored() == [4, 5, 6]


@pytest.mark.parametrize("failure", [SystemExit, MemoryError, KeyboardInterrupt])
def test_a_failure_in_the_thread_that_leads_leaves_no_other_waiting(
    bench: Bench,
    threads: ThreadPoolExecutor,
    until: Until,
    failure: type[BaseException],
) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        raise failure

    leading = hold(bench, threads)
    broken = threads.submit(bench.group.write, fail)
    until(lambda: bench.group.waiting == 1)
    beside = threads.submit(bench.write, 1)
    until(lambda: bench.group.waiting == 2)
    bench.goes_on.set()
    assert leading.result(20) == 0
    assert isinstance(broken.exception(20), failure)
    # Nothing of its transaction is on disk.
    assert isinstance(
        beside.exception(20),
        failure,
    )
    assert bench.write(3) == 30
    assert bench.stored() == [0, 3]


def test_no_write_is_forgotten(bench: Bench, threads: ThreadPoolExecutor) -> None:
    sent = [threads.submit(bench.write, number) for number in range(2000)]
    assert [one.result(60) for one in sent] == [number * 10 for number in range(2000)]
    assert sorted(bench.stored()) == list(range(2000))
    assert sum(bench.sizes) == 2000
    assert bench.group.waiting == 0
