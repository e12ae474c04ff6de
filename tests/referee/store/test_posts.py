"""Bodies as stored, and the receipts for them."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lpirc_score.detections.parsed_rows import Refused
from referee.errors import RefereeError, StorageFailed
from referee.store import Store, post_table
from referee.store.post_table import MOST_REFUSED_ROWS
from referee.store.records import Post
from tests.referee.factories import START, rows, stored_run, told

FIGURES = st.floats() | st.just(-0.0)


def append(
    store: Store,
    run: int,
    values: np.ndarray,
    key: str | None = None,
    sha256: str = "s",
) -> Post:
    return store.posts.append(
        run,
        values,
        sha256=sha256,
        idempotency_key=key,
        elapsed_s=1.0,
        now=START,
    )


@given(
    st.lists(
        hnp.arrays(
            np.float64,
            st.tuples(st.integers(0, 5), st.just(7)),
            elements=FIGURES,
        ),
        max_size=4,
    )
)
def test_rows_come_back_bit_for_bit_in_order_of_arrival(
    store: Store,
    posts: list[np.ndarray],
) -> None:
    run = stored_run(store).id
    for post in posts:
        append(store, run, post)
    expected = b"".join(post.tobytes() for post in posts)
    found = store.posts.detections(run)
    assert found.tobytes() == expected
    assert found.shape == (len(expected) // 56, 7)
    assert store.posts.count_detections(run) == len(found)


def test_the_sign_of_zero_and_large_numbers_survive(store: Store) -> None:
    run = stored_run(store).id
    values = np.array(
        [[2.0**53, 20180000900.0, -0.0, 5e-324, -1.7976931348623157e308, 0.1, 0.0]]
    )
    append(store, run, values)
    assert store.posts.detections(run).tobytes() == values.tobytes()


def test_rows_of_another_layout_are_stored_as_they_read(store: Store) -> None:
    run = stored_run(store).id
    whole = rows(6)
    for values in (
        whole[::2],
        np.asfortranarray(whole),
        whole.astype(">f8"),
        whole.astype(np.float32),
    ):
        append(store, run, values)
    expected = np.vstack([whole[::2], whole, whole, whole.astype(np.float32)])
    assert np.array_equal(store.posts.detections(run), expected)


def test_a_run_without_detections_has_an_empty_array_that_can_be_written_to(
    store: Store,
) -> None:
    run = stored_run(store).id
    assert store.posts.detections(run).shape == (0, 7)
    append(store, run, np.empty((0, 7)))
    assert store.posts.detections(run).shape == (0, 7)
    append(store, run, rows(2))
    store.posts.detections(run)[:, 0] = 9


def test_runs_do_not_see_each_others_detections(store: Store) -> None:
    one = stored_run(store).id
    other = stored_run(store, station="two").id
    append(store, one, rows(3))
    append(store, other, rows(2, seed=9), key="k")
    assert np.array_equal(store.posts.detections(one), rows(3))
    assert store.posts.count_detections(one) == 3
    assert store.posts.count_detections(other) == 2
    assert store.posts.find(one, "k") is None


def test_a_receipt_tells_the_total_as_it_was_then(store: Store) -> None:
    run = stored_run(store).id
    append(store, run, rows(3))
    append(store, run, rows(2), key="k", sha256="abc")
    append(store, run, rows(4))
    assert told(store.posts.find(run, "k")) == (2, "abc", 5)
    assert store.posts.find(run, "other") is None


def test_a_key_is_used_once_a_run_and_its_first_receipt_is_told_again(
    store: Store,
) -> None:
    run = stored_run(store).id
    append(store, run, rows(1), key="k", sha256="first")
    append(store, run, rows(2))
    for _ in range(2):
        assert told(append(store, run, rows(4), key="k", sha256="other")) == (
            1,
            "first",
            1,
        )
    assert store.posts.count_detections(run) == 3
    for _ in range(2):
        append(store, run, rows(1))
    assert store.posts.count_detections(run) == 5


def test_another_process_counts_on_from_what_is_on_disk(
    tmp_path: Path,
    store: Store,
) -> None:
    run = stored_run(store).id
    append(store, run, rows(3))
    with closing(Store.open(tmp_path / "contest.db")) as again:
        assert (
            append(again, run, rows(2)).received_total
            == again.posts.count_detections(run)
            == 5
        )


def test_a_post_needs_its_run(store: Store) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        append(store, 99, rows(1))


@given(
    st.lists(
        st.tuples(
            st.integers(0, 1),
            st.integers(0, 5),
            st.sampled_from("ab") | st.none(),
        ),
        max_size=12,
    )
)
def test_posts_that_come_at_the_same_time_are_stored_as_if_each_had_come_alone(
    store: Store,
    threads: ThreadPoolExecutor,
    posts: list[tuple[int, int, str | None]],
) -> None:
    runs = [stored_run(store).id for _ in range(2)]
    sent = [
        threads.submit(append, store, runs[which], rows(count, seed=count), key)
        for which, count, key in posts
    ]
    receipts = [one.result(20) for one in sent]
    for which, run in enumerate(runs):
        mine = [
            (post[1:], receipt)
            for post, receipt in zip(posts, receipts, strict=True)
            if post[0] == which
        ]
        keyed = {(key, receipt) for (_, key), receipt in mine if key is not None}
        # All posts with the same key got the same receipt.
        assert len(keyed) == len({key for key, _ in keyed})
        counts = [receipt.row_count for _, receipt in keyed]
        counts += [receipt.row_count for (_, key), receipt in mine if key is None]
        assert (
            store.posts.count_detections(run)
            == len(store.posts.detections(run))
            == sum(counts)
        )
        totals = sorted(receipt.received_total for _, receipt in mine)
        assert (totals[-1] if totals else 0) == sum(counts)


def test_a_post_that_cannot_be_stored_leaves_the_others_alone(
    store: Store,
    threads: ThreadPoolExecutor,
) -> None:
    run = stored_run(store).id
    sent = [threads.submit(append, store, number, rows(2)) for number in (run, 99, run)]
    assert isinstance(sent[1].exception(20), sqlite3.IntegrityError)
    assert sorted(one.result(20).received_total for one in (sent[0], sent[2])) == [2, 4]
    assert store.posts.count_detections(run) == 4


def test_a_full_disk_refuses_what_would_fill_it(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = stored_run(store).id
    append(store, run, rows(3))
    monkeypatch.setattr(post_table, "LEAST_FREE_BYTES", 2**62)
    with pytest.raises(
        RefereeError,
        match=r"^The referee's disk has only [\d.]+ MB left",
    ) as failure:
        append(store, run, rows(1))
    assert failure.value.code == "no-room"
    store.log.append(START, run, "still-recorded")
    assert store.posts.count_detections(run) == 3


def test_nothing_is_taken_while_the_folder_is_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "day").mkdir()
    with closing(Store.open(tmp_path / "day" / "contest.db", create=True)) as store:
        run = stored_run(store).id
        (tmp_path / "day").rename(tmp_path / "moved")
        with pytest.raises(StorageFailed, match="cannot be reached"):
            append(store, run, rows(1))
        (tmp_path / "moved").rename(tmp_path / "day")
        assert append(store, run, rows(2)).received_total == 2


REFUSED = Refused(
    3,
    (
        (2, "category 9 is unknown", "1 9 0.5 1 1 2 2"),
        (5, "image 0", "0 1"),
    ),
)


def test_refused_rows_are_stored_with_their_post_and_once(store: Store) -> None:
    run = stored_run(store).id
    other = stored_run(store).id
    for _ in range(2):
        receipt = store.posts.append(
            run,
            (rows(4), REFUSED),
            sha256="s",
            idempotency_key="k",
            elapsed_s=1.5,
            now=START,
        )
        assert told(receipt) == (4, "s", 4)
    append(store, run, rows(1))
    assert [store.posts.count_refused(one) for one in (run, other)] == [3, 0]
    kept = store.posts.refused_rows(run)
    assert [(row["line"], row["reason"], row["text"]) for row in kept] == list(
        REFUSED.first
    )
    assert {(row["post"], row["elapsed_s"], row["received_utc"]) for row in kept} == {
        (1, 1.5, START.isoformat())
    }
    assert store.posts.refused_rows(other) == []


def test_a_run_keeps_few_refused_rows_and_counts_all(store: Store) -> None:
    run = stored_run(store).id
    other = stored_run(store).id
    many = Refused(20, tuple((line, "why", "text") for line in range(20)))
    for one in (run, other):
        for _ in range(MOST_REFUSED_ROWS // 20 + 2):
            store.posts.append(
                one,
                (rows(0), many),
                sha256="s",
                idempotency_key=None,
                elapsed_s=1.0,
                now=START,
            )
        assert store.posts.count_refused(one) == MOST_REFUSED_ROWS + 40
        assert len(store.posts.refused_rows(one)) == MOST_REFUSED_ROWS
