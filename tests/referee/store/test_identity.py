"""Acknowledged writes are in the files that the next start opens; a missing file or record is reported."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from referee.errors import RefereeError
from referee.store import Store
from tests.contest_day import until
from tests.referee.factories import START, rows, stored_run


def post(store: Store, run: int = 1) -> int:
    receipt = store.posts.append(
        run,
        rows(2),
        sha256="s",
        idempotency_key=None,
        elapsed_s=1.0,
        now=START,
    )
    return receipt.received_total


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(RefereeError) as failure:
        call()
    assert "\n" not in failure.value.sentence
    return failure.value.code


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Store]:
    with contextlib.closing(Store.open(path)) as store:
        yield store


def taken_away(
    path: Path,
    suffix: str,
    how: str,
) -> Callable[[], object]:
    """Remove, move or replace a file, and return the function that restores it."""
    file = path.with_name(path.name + suffix)
    kept = file.with_name("kept")
    if how == "removed":
        os.link(file, kept)
        file.unlink()
    else:
        file.rename(kept)
    if how == "replaced":
        file.write_bytes(kept.read_bytes())
    return lambda: kept.replace(file)


@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_nothing_is_acknowledged_into_a_file_that_the_next_start_will_not_open(
    store: Store,
    tmp_path: Path,
    suffix: str,
    how: str,
) -> None:
    run = stored_run(store).id
    acknowledged = post(store)
    put_back = taken_away(tmp_path / "contest.db", suffix, how)
    assert code_of(lambda: post(store)) == "storage-failed"
    for _ in range(2):
        assert code_of(lambda: store.integrity.watch(START)) == "storage-failed"
    (copy,) = tmp_path.glob("contest-rescued-*.db")
    assert copy.stat().st_mode & 0o777 == 0o600
    with opened(copy) as rescued:
        assert rescued.posts.count_detections(run) == acknowledged
    put_back()
    assert post(store) == acknowledged + 2
    store.integrity.watch(START)
    taken_away(tmp_path / "contest.db", suffix, how)
    code = code_of(lambda: store.integrity.watch(START + timedelta(seconds=1)))
    assert code == "storage-failed"
    with opened(max(tmp_path.glob("contest-rescued-*.db"))) as rescued:
        assert rescued.posts.count_detections(run) == acknowledged + 2


def test_what_is_removed_during_a_commit_is_not_acknowledged(
    store: Store,
    tmp_path: Path,
) -> None:
    stored_run(store)

    def remove(connection: sqlite3.Connection) -> None:
        (tmp_path / "contest.db").unlink()

    assert code_of(lambda: store.database.group.write(remove)) == "storage-failed"


@pytest.mark.parametrize(
    "work",
    [
        "SELECT * FROM posts",
        "VACUUM",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "BEGIN IMMEDIATE; UPDATE runs SET heat = 'final'",  # and then it is killed
    ],
)
def test_what_other_programs_do_with_the_database_meanwhile_is_no_alarm(
    store: Store,
    tmp_path: Path,
    work: str,
) -> None:
    post(store, stored_run(store).id)
    child = os.fork()
    if child == 0:
        other = sqlite3.connect(tmp_path / "contest.db", isolation_level=None)
        other.executescript(work)
        if not other.in_transaction:
            other.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    store.integrity.watch(START)
    assert post(store) == 4
    with opened(tmp_path / "contest.db") as judge:
        judge.integrity.require_complete()
    store.integrity.watch(START)
    assert post(store) == 6


def test_a_copy_that_cannot_be_saved_is_told_and_tried_again(
    store: Store,
    tmp_path: Path,
) -> None:
    post(store, stored_run(store).id)
    (tmp_path / "contest.db").unlink()
    blocker = tmp_path / f"contest-rescued-{START:%Y%m%d-%H%M%S}.db"
    blocker.mkdir()
    with pytest.raises(RefereeError, match="before you stop the server"):
        store.integrity.watch(START)
    blocker.rmdir()
    assert code_of(lambda: store.integrity.watch(START)) == "storage-failed"
    assert blocker.is_file()


def test_a_copy_by_vacuum_serves_as_the_database(store: Store, tmp_path: Path) -> None:
    post(store, stored_run(store).id)
    store.database.connection.execute("VACUUM INTO ?", (str(tmp_path / "copy.db"),))
    with opened(tmp_path / "copy.db") as copy:
        assert copy.database.rows("PRAGMA journal_mode")[0][0] == "wal"
        assert post(copy) == 4


@contextlib.contextmanager
def process(path: Path, work: Callable[[Store], None]) -> Iterator[None]:
    """In the block, a process does `work` with the store; then it is killed."""
    child = os.fork()
    if child == 0:
        try:
            work(Store.open(path))
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.parametrize("cut", ["removed", "emptied", "halved", "damaged"])
def test_committed_records_that_are_gone_with_the_log_are_told(
    tmp_path: Path,
    cut: str,
) -> None:
    path = tmp_path / "contest.db"
    done = tmp_path / "done"

    def work(store: Store) -> None:
        stored_run(store)
        for _ in range(20):
            post(store)
        store.integrity.watch(START)
        done.touch()
        signal.pause()

    Store.open(path, create=True).close()
    with process(path, work):
        until(done.exists)
    log = tmp_path / "contest.db-wal"
    content = log.read_bytes()
    if cut == "removed":
        log.unlink()
    else:
        middle = len(content) // 2
        cuts = {
            "emptied": b"",
            "halved": content[:middle],
            "damaged": content[:middle] + b"\xff" + content[middle + 1 :],
        }
        log.write_bytes(cuts[cut])
    with opened(path) as store:
        with pytest.raises(RefereeError, match=r"doctor .* --accept") as failure:
            store.integrity.require_complete()
        assert failure.value.code == "database-cut"
        store.identity.contest_id("mine")
        store.identity.accept("mine")
        store.integrity.require_complete()
    with opened(path) as store:
        store.integrity.require_complete()


def test_a_kill_at_any_moment_raises_no_alarm_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "contest.db"
    told = tmp_path / "told"
    chance = random.Random(12)  # noqa: S311 - repeatable
    with contextlib.closing(Store.open(path, create=True)) as store:
        stored_run(store)
    told.touch()

    def work(store: Store) -> None:
        with told.open("ab", buffering=0) as acknowledged:
            while True:
                acknowledged.write(b"%d\n" % post(store))
                store.integrity.watch(START)
                if chance.random() < 0.2:
                    with opened(path) as judge:  # its close must not take the log along
                        judge.integrity.note_count()

    for turn in range(25):
        chance.seed(turn)
        with process(path, work):
            before = told.stat().st_size
            until(lambda: told.stat().st_size > before)  # noqa: B023 - called at once
            if turn % 3 == 0:
                with opened(path) as judge:
                    judge.integrity.note_count()
            time.sleep(chance.uniform(0, 0.03))  # a moment by chance
        with opened(path) as store:
            store.integrity.require_complete()
            store.integrity.require_sound()
            assert store.posts.count_detections(1) >= int(told.read_bytes().split()[-1])


@pytest.mark.parametrize(
    ("damaged", "code"),
    [
        ("a page", "database-damaged"),
        ("half", "storage-failed"),
    ],
)
def test_a_damaged_database_is_told(
    store: Store,
    tmp_path: Path,
    damaged: str,
    code: str,
) -> None:
    run = stored_run(store).id
    for _ in range(50):
        post(store, run)
    (root,) = store.database.rows(
        "SELECT rootpage FROM sqlite_master WHERE name = 'posts'"
    )
    store.close()
    path = tmp_path / "contest.db"
    content = path.read_bytes()
    begin, end = (
        ((root[0] - 1) * 4096, root[0] * 4096)
        if damaged == "a page"
        else (4096, len(content))
    )
    path.write_bytes(content[:begin] + bytes(end - begin) + content[end:])

    def look() -> None:
        with opened(path) as found:
            found.integrity.require_sound()

    assert code_of(look) == code


def test_a_count_that_is_no_number_is_no_alarm(store: Store, tmp_path: Path) -> None:
    stored_run(store)
    for content in (b"", b"\0" * 21, b"\xff"):
        (tmp_path / "contest.db-count").write_bytes(content)
        store.integrity.require_complete()
