from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from referee.errors import RefereeError
from referee.store.group_commit import GROUP_BYTES, NOBODY, GroupCommit

Until = Callable[[Callable[[], object]], None]


class Bench:
    """A database whose commits a test can hold up and let fail."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self.connection.execute("CREATE TABLE numbers (number INTEGER UNIQUE)")
        self.group = GroupCommit(self.transaction)
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.is_committing = threading.Event()
        self.fails = False
        self.sizes: list[int] = []
        self.told: list[int] = []

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        before = self.connection.total_changes
        self.connection.execute("BEGIN")
        yield self.connection
        self.is_committing.set()
        assert self.goes_on.wait(20)
        if self.fails:
            self.connection.execute("ROLLBACK")
            raise RefereeError("storage-failed", "The disk is full.")
        self.connection.execute("COMMIT")
        self.sizes.append(self.connection.total_changes - before)

    def write(
        self,
        number: int,
        size_bytes: int = 0,
        prepare: Callable[[], None] | None = None,
        owner: int = NOBODY,
    ) -> int:
        def insert(connection: sqlite3.Connection) -> int:
            connection.execute("INSERT INTO numbers VALUES (?)", (number,))
            return number

        def tell(result: int) -> int:
            self.told.append(result)
            return result * 10

        return self.group.write(insert, tell, size_bytes, prepare, owner)

    def stored(self) -> list[int]:
        return [row[0] for row in self.connection.execute("SELECT number FROM numbers ORDER BY rowid")]

    def wait_for(self, waiting: int, until: Until) -> None:
        until(lambda: sum(map(len, self.group._waiting.values())) == waiting)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "numbers.db")
    yield made
    made.connection.close()


def hold(bench: Bench, threads: ThreadPoolExecutor, number: int = 0) -> Future[int]:
    """Let a thread lead and wait in its commit."""
    bench.goes_on.clear()
    bench.is_committing.clear()
    leading = threads.submit(bench.write, number)
    assert bench.is_committing.wait(20)
    return leading


def queue(
    bench: Bench, threads: ThreadPoolExecutor, until: Until, numbers: list[int], size: int = 0
) -> list[Future[int]]:
    """Let further threads come, one after the other."""
    sent = []
    for number in numbers:
        sent.append(threads.submit(bench.write, number, size))
        bench.wait_for(len(sent), until)
    return sent


def test_one_thread_alone_commits_at_once(bench: Bench) -> None:
    assert [bench.write(number) for number in (3, 1, 2)] == [30, 10, 20]
    assert (bench.sizes, bench.told, bench.stored()) == ([1, 1, 1], [3, 1, 2], [3, 1, 2])


def test_those_who_come_during_a_commit_share_the_next_in_their_order(
    bench: Bench, threads: ThreadPoolExecutor, until: Until
) -> None:
    leading = hold(bench, threads)
    sent = queue(bench, threads, until, [5, 2, 9, 1])
    assert not any(one.done() for one in (leading, *sent))
    assert bench.told == []
    bench.goes_on.set()
    assert [leading.result(20), *(one.result(20) for one in sent)] == [0, 50, 20, 90, 10]
    assert (bench.sizes, bench.told, bench.stored()) == ([1, 4], [0, 5, 2, 9, 1], [0, 5, 2, 9, 1])


def test_a_commit_that_fails_fails_all_of_its_group_and_nothing_else(
    bench: Bench, threads: ThreadPoolExecutor, until: Until
) -> None:
    leading = hold(bench, threads)
    sent = queue(bench, threads, until, [1, 2])
    bench.fails = True
    bench.goes_on.set()
    failures = [one.exception(20) for one in (leading, *sent)]
    assert [type(failure) for failure in failures] == [RefereeError] * 3
    assert len({id(failure) for failure in failures}) == 3
    bench.fails = False
    assert bench.write(7) == 70
    assert (bench.told, bench.stored()) == ([7], [7])


def test_a_statement_that_breaks_a_rule_fails_alone(
    bench: Bench, threads: ThreadPoolExecutor, until: Until
) -> None:
    leading = hold(bench, threads, 4)
    sent = queue(bench, threads, until, [5, 4, 6])
    bench.goes_on.set()
    assert leading.result(20) == 40
    assert isinstance(sent[1].exception(20), sqlite3.IntegrityError)
    assert [sent[0].result(20), sent[2].result(20)] == [50, 60]
    assert (bench.sizes, bench.told, bench.stored()) == ([1, 2], [4, 5, 6], [4, 5, 6])


def test_the_one_that_leads_prepares_for_all_before_the_transaction(
    bench: Bench, threads: ThreadPoolExecutor, until: Until
) -> None:
    prepared: list[tuple[int, bool]] = []

    def prepare() -> None:
        prepared.append((threading.get_ident(), bench.connection.in_transaction))

    leading = hold(bench, threads)
    sent = []
    for number in (5, 2, 9):
        sent.append(threads.submit(bench.write, number, 0, prepare))
        bench.wait_for(len(sent), until)
    bench.goes_on.set()
    assert [leading.result(20), *(one.result(20) for one in sent)] == [0, 50, 20, 90]
    assert len(set(prepared)) == 1
    assert [in_transaction for _, in_transaction in prepared] == [False] * 3


def test_what_cannot_be_prepared_fails_alone_and_is_not_written(
    bench: Bench, threads: ThreadPoolExecutor, until: Until
) -> None:
    def refuse() -> None:
        raise RefereeError("bad-rows", "Row 3 is none.")

    with pytest.raises(RefereeError, match="Row 3 is none"):
        bench.write(7, 0, refuse)
    assert bench.sizes == []  # not even an empty transaction
    leading = hold(bench, threads)
    sent = [threads.submit(bench.write, 1, 0, refuse)]
    bench.wait_for(1, until)
    sent.append(threads.submit(bench.write, 2))
    bench.wait_for(2, until)
    bench.goes_on.set()
    assert leading.result(20) == 0
    assert isinstance(sent[0].exception(20), RefereeError)
    assert sent[1].result(20) == 20
    assert (bench.sizes, bench.told, bench.stored()) == ([1, 1], [0, 2], [0, 2])


@pytest.mark.parametrize("failure", [SystemExit, MemoryError, RecursionError, KeyboardInterrupt])
def test_whatever_happens_to_one_in_the_thread_that_leads_no_other_is_told_of_it(
    bench: Bench, threads: ThreadPoolExecutor, until: Until, failure: type[BaseException]
) -> None:
    def fail(*_: object) -> None:
        raise failure

    leading = hold(bench, threads)
    sent = [threads.submit(bench.write, 1, 0, fail)]
    sent.append(
        threads.submit(
            bench.group.write, lambda one: one.execute("INSERT INTO numbers VALUES (2)").rowcount, fail
        )
    )
    sent.append(threads.submit(bench.write, 3))
    bench.wait_for(3, until)
    bench.goes_on.set()
    assert leading.result(20) == 0
    assert [type(one.exception(20)) for one in sent[:2]] == [failure, failure]
    assert sent[2].result(20) == 30
    assert 3 in bench.stored()


def test_who_has_much_waiting_lets_the_others_pass(
    bench: Bench, threads: ThreadPoolExecutor, until: Until
) -> None:
    leading = hold(bench, threads)
    sent = []
    for number, owner in ((1, 7), (2, 7), (3, 7), (4, 8), (5, 9), (6, 8)):
        sent.append(threads.submit(bench.write, number, GROUP_BYTES // 2, None, owner))
        bench.wait_for(len(sent), until)
    bench.goes_on.set()
    assert [leading.result(20), *(one.result(20) for one in sent)] == [0, 10, 20, 30, 40, 50, 60]
    assert (bench.told, bench.sizes) == ([0, 1, 4, 5, 2, 6, 3], [1, 2, 2, 2])


def test_large_writes_do_not_gather(bench: Bench, threads: ThreadPoolExecutor, until: Until) -> None:
    leading = hold(bench, threads)
    sent = queue(bench, threads, until, [1, 2, 3, 4], GROUP_BYTES // 2)
    bench.goes_on.set()
    assert [leading.result(20), *(one.result(20) for one in sent)] == [0, 10, 20, 30, 40]
    assert bench.sizes == [1, 2, 2]


def test_nobody_is_forgotten(bench: Bench, threads: ThreadPoolExecutor) -> None:
    sent = [threads.submit(bench.write, number) for number in range(2000)]
    assert [one.result(60) for one in sent] == [number * 10 for number in range(2000)]
    assert bench.told == bench.stored()
    assert sum(bench.sizes) == 2000
    assert not bench.group._is_led
    assert not bench.group._waiting
