"""Bodies as they are stored, and the receipts for them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from referee.store import Store
from referee.store.records import Post
from tests.referee.factories import START, rows, stored_run

SHARED_STORE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
FIGURES = st.floats() | st.just(-0.0)
Until = Callable[[Callable[[], object]], None]


def append(store: Store, run: int, values: np.ndarray, key: str | None = None, sha256: str = "s") -> Post:
    return store.append_post(run, values, sha256=sha256, idempotency_key=key, elapsed_s=1.0, now=START)


@SHARED_STORE
@given(
    st.lists(hnp.arrays(np.float64, st.tuples(st.integers(0, 5), st.just(7)), elements=FIGURES), max_size=4)
)
def test_rows_come_back_bit_for_bit_in_order_of_arrival(store: Store, posts: list[np.ndarray]) -> None:
    run = stored_run(store).id
    for post in posts:
        append(store, run, post)
    expected = b"".join(post.tobytes() for post in posts)
    found = store.detections(run)
    assert found.tobytes() == expected
    assert found.shape == (len(expected) // 56, 7)
    assert store.count_detections(run) == len(found)


def test_the_sign_of_zero_and_large_numbers_survive(store: Store) -> None:
    run = stored_run(store).id
    values = np.array([[2.0**53, 20180000900.0, -0.0, 5e-324, -1.7976931348623157e308, 0.1, 0.0]])
    append(store, run, values)
    assert store.detections(run).tobytes() == values.tobytes()


def test_rows_of_another_layout_are_stored_as_they_read(store: Store) -> None:
    run = stored_run(store).id
    whole = rows(6)
    for values in (whole[::2], np.asfortranarray(whole), whole.astype(">f8"), whole.astype(np.float32)):
        append(store, run, values)
    expected = np.vstack([whole[::2], whole, whole, whole.astype(np.float32)])
    assert np.array_equal(store.detections(run), expected)


def test_a_run_without_detections_has_an_empty_array_that_can_be_written_to(store: Store) -> None:
    run = stored_run(store).id
    assert store.detections(run).shape == (0, 7)
    append(store, run, np.empty((0, 7)))
    assert store.detections(run).shape == (0, 7)
    append(store, run, rows(2))
    store.detections(run)[:, 0] = 9


def test_runs_do_not_see_each_others_detections(store: Store) -> None:
    one, other = stored_run(store).id, stored_run(store, station="two").id
    append(store, one, rows(3))
    append(store, other, rows(2, seed=9), key="k")
    assert np.array_equal(store.detections(one), rows(3))
    assert (store.count_detections(one), store.count_detections(other)) == (3, 2)
    assert store.find_post(one, "k") is None


def test_a_receipt_tells_the_total_as_it_was_then(store: Store) -> None:
    run = stored_run(store).id
    append(store, run, rows(3))
    append(store, run, rows(2), key="k", sha256="abc")
    append(store, run, rows(4))
    assert store.find_post(run, "k") == Post(2, "abc", 5)
    assert store.find_post(run, "other") is None


def test_telling_a_receipt_again_reads_no_other_post(store: Store) -> None:
    run = stored_run(store).id
    for number in range(200):
        append(store, run, rows(1), key=str(number))
    steps: list[int] = []
    store._connection.set_progress_handler(lambda: steps.append(1), 10)
    for number in (0, 199):
        assert append(store, run, rows(1), key=str(number)).received_total == number + 1
    assert len(steps) < 40


def test_a_key_is_used_once_a_run_and_its_first_receipt_is_told_again(store: Store) -> None:
    run = stored_run(store).id
    append(store, run, rows(1), key="k", sha256="first")
    append(store, run, rows(2))
    for _ in range(2):
        assert append(store, run, rows(4), key="k", sha256="other") == Post(1, "first", 1)
    assert (store.count_detections(run), store.received_total(run)) == (3, 3)
    for _ in range(2):
        append(store, run, rows(1))
    assert store.received_total(run) == 5


def test_another_process_counts_on_from_what_is_on_disk(tmp_path: Path, store: Store) -> None:
    run = stored_run(store).id
    append(store, run, rows(3))
    again = Store(tmp_path / "contest.db")
    assert append(again, run, rows(2)).received_total == again.received_total(run) == 5
    again.close()


def test_a_post_needs_its_run(store: Store) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        append(store, 99, rows(1))


def together(
    store: Store, threads: ThreadPoolExecutor, until: Until, posts: list[tuple[int, int, str | None]]
) -> list[Any]:
    """Let posts (run, rows, key) come during a commit, one after the other, so that they share the next; what came."""
    with store._lock:
        leading = threads.submit(store.log_event, START, None, "held")
        until(lambda: store._group._is_led and not store._group._waiting)
        sent = []
        for run, count, key in posts:
            sent.append(threads.submit(append, store, run, rows(count, seed=count), key))
            until(lambda: sum(map(len, store._group._waiting.values())) == len(sent))
    leading.result(20)
    return [one.exception(20) or one.result() for one in sent]


def stored(store: Store, run: int) -> list[tuple[int, int]]:
    sql = "SELECT row_count, received_total FROM posts WHERE run = ? ORDER BY id"
    return [tuple(row) for row in store._connection.execute(sql, (run,))]


@SHARED_STORE
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5), st.sampled_from("ab") | st.none()), max_size=12)
)
def test_posts_that_share_a_commit_are_stored_and_told_as_if_each_had_come_alone(
    store: Store, threads: ThreadPoolExecutor, until: Until, posts: list[tuple[int, int, str | None]]
) -> None:
    runs, alone = [stored_run(store).id for _ in range(2)], [stored_run(store).id for _ in range(2)]
    told = together(store, threads, until, [(runs[which], count, key) for which, count, key in posts])
    # They come one after the other, run after run (group commit takes turns): a receipt tells its place in its run.
    expected = [append(store, alone[which], rows(count, seed=count), key) for which, count, key in posts]
    assert told == expected
    for one, other in zip(runs, alone, strict=True):
        assert store.detections(one).tobytes() == store.detections(other).tobytes()
        assert stored(store, one) == stored(store, other)


def test_posts_without_a_key_that_share_a_commit_are_one_insert(
    store: Store, threads: ThreadPoolExecutor, until: Until
) -> None:
    run, statements = stored_run(store).id, list[str]()
    store._connection.set_trace_callback(statements.append)
    told = together(store, threads, until, [(run, count, None) for count in (3, 1, 2)])
    assert [post.received_total for post in told] == [3, 4, 6]
    assert sum(statement.startswith("INSERT INTO posts") for statement in statements) == 1


def test_one_that_cannot_be_stored_leaves_the_others_of_its_commit_alone(
    store: Store, threads: ThreadPoolExecutor, until: Until
) -> None:
    run = stored_run(store).id
    told = together(store, threads, until, [(run, 3, None), (99, 1, None), (run, 2, None)])
    assert isinstance(told[1], sqlite3.IntegrityError)
    assert [told[0].received_total, told[2].received_total] == [3, 5]
    assert stored(store, run) == [(3, 3), (2, 5)]
