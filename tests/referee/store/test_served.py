"""Served images are logged later, but on disk with the next commit, each once; no answer waits for them."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from referee.errors import StorageFailed
from referee.store import Store
from referee.store.records import RunState
from tests.referee.factories import START, reading, rows, stored_run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "contest.db"


@contextmanager
def written_to(path: Path) -> Iterator[None]:
    """In the block, another process is writing to the database."""
    with contextlib.closing(
        sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    ) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def on_disk(path: Path) -> list[tuple[int, float, int]]:
    """Return the log in order, as another process reads it."""
    with contextlib.closing(sqlite3.connect(path)) as other:
        return other.execute(
            "SELECT image, elapsed_s, bytes FROM served ORDER BY rowid"
        ).fetchall()


def post(store: Store, run: int, image: int = 1) -> None:
    store.posts.append(
        run,
        rows(1, image),
        sha256="s",
        idempotency_key=None,
        elapsed_s=1.0,
        now=START,
    )


def test_what_was_served_before_a_post_is_on_disk_with_it(
    store: Store,
    path: Path,
) -> None:
    run = stored_run(store).id
    store.served.append(run, [(3, 1000), (1, 2000)], 0.5)
    assert on_disk(path) == []
    post(store, run)
    assert on_disk(path) == [(3, 0.5, 1000), (1, 0.5, 2000)]
    post(store, run)
    assert len(on_disk(path)) == 2


def test_every_commit_takes_along_what_was_served(store: Store, path: Path) -> None:
    run = stored_run(store).id
    commits: list[Callable[[], object]] = [
        lambda: store.readings.append(run, 0.0, [reading(1.0)]),
        lambda: store.log.append(START, run, "test"),
        lambda: store.runs.change(run, (RunState.ARMED,), elapsed_s=1.0),
        store.served.flush,
    ]
    for number, commit in enumerate(commits, start=1):
        store.served.append(run, [(number, 10)], 1.0)
        commit()
        assert [image for image, _, _ in on_disk(path)] == list(range(1, number + 1))


def test_served_images_are_told_apart_by_run_and_counted_once(store: Store) -> None:
    one = stored_run(store).id
    other = stored_run(store).id
    for image in (3, 1, 3):
        store.served.append(one, [(image, 1000)], 0.5)
    store.served.append(other, [(2, 1000)], 0.5)
    store.served.flush()
    assert store.served.images(one) == [1, 3]
    images, last = store.served.after(one, 0)
    assert images == [3, 1, 3]
    store.served.append(one, [(2, 1000)], 0.5)
    store.served.flush()
    assert store.served.after(one, last)[0] == [2]
    assert store.served.after(one, 10**6) == ([], 10**6)


@pytest.mark.parametrize("count", [0, 1, 500, 1234])
def test_every_served_image_is_logged_in_order(
    store: Store,
    path: Path,
    count: int,
) -> None:
    run = stored_run(store).id
    served = [(number, number / 7, 1000 + number) for number in range(1, count + 1)]
    for image, elapsed_s, size_bytes in served:
        store.served.append(run, [(image, size_bytes)], elapsed_s)
    store.served.flush()
    assert on_disk(path) == served


def test_a_commit_that_fails_keeps_what_was_served_for_the_next(
    short_lock_timeout: None,
    path: Path,
) -> None:
    with contextlib.closing(Store.open(path, create=True)) as store:
        run = stored_run(store).id
        store.served.append(run, [(3, 10)], 1.0)
        with written_to(path), pytest.raises(StorageFailed):
            post(store, run)
        assert on_disk(path) == []
        with pytest.raises(sqlite3.IntegrityError):
            store.posts.append(
                run,
                rows(1),
                sha256=None,
                idempotency_key=None,
                elapsed_s=1.0,
                now=START,
            )  # type: ignore[arg-type]
        post(store, run)
        assert [image for image, _, _ in on_disk(path)] == [3]


def test_serving_an_image_never_waits_for_the_database(
    store: Store,
    path: Path,
) -> None:
    run = stored_run(store).id
    with written_to(path):
        storing = threading.Thread(target=post, args=(store, run))
        store.served.append(run, [(1, 10)], 1.0)
        storing.start()
        store.served.append(run, [(2, 10)], 1.0)
        assert storing.is_alive()
    storing.join()
    store.served.flush()
    assert store.served.images(run) == [1, 2]


def test_threads_that_serve_and_post_together_lose_and_double_nothing(
    store: Store,
    path: Path,
    threads: ThreadPoolExecutor,
) -> None:
    run = stored_run(store).id

    def serve_and_post(image: int) -> bool:
        store.served.append(run, [(image, 10)], 1.0)
        post(store, run, image)
        return image in [found for found, _, _ in on_disk(path)]

    assert all(threads.map(serve_and_post, range(100)))
    assert sorted(image for image, _, _ in on_disk(path)) == list(range(100))
