from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpirc_power.meter_standing import OFFICIAL_MAKERS
from lpirc_power.sampling.sampler import Sampler
from referee.config import Station
from referee.errors import RefereeError
from referee.runs.open_run import LARGE_BYTES, PAUSE, OpenRun, kept_marks
from referee.runs.run_recorder import EvidenceLog
from referee.runs.run_window import Window
from referee.runs.station_meters import RunMeter
from referee.store import Store
from referee.store.records import Post
from tests.referee.factories import DrivenClock, body, parse_rows, rows, stored_run
from tests.timeouts import TIMEOUT_S

LENGTH_S = 600.0
ROW_BYTES = len(body(1))


@pytest.fixture
def clock() -> DrivenClock:
    return DrivenClock()


@pytest.fixture
def live(store: Store, clock: DrivenClock) -> OpenRun:
    """A live run whose meter is never asked for anything."""
    return live_run(store, clock)


def live_run(
    store: Store,
    clock: DrivenClock,
    run: int | None = None,
    marks: Any = None,
    *,
    alone: bool = True,
) -> OpenRun:
    stored = stored_run(store) if run is None else store.runs.get(run)
    start_s = clock.monotonic_s()
    log = EvidenceLog(store)
    log.begin(stored.id, start_s)
    sampler = Sampler("sim:", stored.setup, log.reading, clock.monotonic_s, clock.utc)
    window = Window(start_s, LENGTH_S)
    return OpenRun(
        stored,
        window,
        np.array([3, 1, 5, 2, 4]),
        RunMeter(sampler, log, stored.setup, Station("one", "sim:"), OFFICIAL_MAKERS),
        store,
        clock,
        marks=marks,
        is_alone=lambda: alone,
    )


def code_of(action: Callable[..., Any], *arguments: Any) -> str:
    with pytest.raises(RefereeError) as failure:
        action(*arguments)
    return failure.value.code


def test_a_receipt_tells_rows_digest_and_total(live: OpenRun, store: Store) -> None:
    first = live.accept(body(3), None, parse_rows)
    second = live.accept(body(2), None, parse_rows)
    assert first.row_count == 3
    assert first.received_total == 3
    assert second.row_count == 2
    assert second.received_total == 5
    assert live.received_total == 5
    assert first.sha256 != second.sha256
    assert np.array_equal(
        store.posts.detections(live.run.id),
        np.vstack([rows(3), rows(2)]),
    )


def test_the_same_key_and_body_get_the_first_receipt_and_count_once(
    live: OpenRun,
    store: Store,
) -> None:
    first = live.accept(body(3), "k", parse_rows)
    live.accept(body(2), None, parse_rows)
    assert live.accept(body(3), "k", parse_rows) == first
    assert store.posts.count_detections(live.run.id) == live.received_total == 5


def test_the_same_key_with_another_body_is_refused(live: OpenRun, store: Store) -> None:
    live.accept(body(3), "k", parse_rows)
    assert code_of(live.accept, body(2), "k", parse_rows) == "key-reused"
    assert code_of(live.accept, b"unreadable", "k", refuse) == "key-reused"
    assert code_of(live.accept, b"unreadable", "another", refuse) == "bad-rows"
    assert store.posts.count_detections(live.run.id) == 3


def test_the_same_body_under_other_keys_or_none_counts_each_time(
    live: OpenRun,
    store: Store,
) -> None:
    for key in ("a", "b", None, None, "", ""):
        live.accept(body(1), key, parse_rows)
    assert store.posts.count_detections(live.run.id) == live.received_total == 6


def test_a_key_belongs_to_its_run(
    live: OpenRun,
    store: Store,
    clock: DrivenClock,
) -> None:
    other = live_run(store, clock)
    live.accept(body(3), "k", parse_rows)
    assert other.accept(body(2), "k", parse_rows).received_total == 2


def test_concurrent_posts_of_one_key_count_once(
    live: OpenRun,
    store: Store,
    threads: ThreadPoolExecutor,
) -> None:
    sent = [threads.submit(live.accept, body(4), "k", parse_rows) for _ in range(32)]
    receipts = {one.result() for one in sent}
    assert receipts == {live.accept(body(4), "k", parse_rows)}
    assert store.posts.count_detections(live.run.id) == 4


def test_of_two_bodies_under_one_key_at_once_one_counts(
    live: OpenRun,
    store: Store,
    threads: ThreadPoolExecutor,
) -> None:
    for attempt in range(20):
        together = threading.Barrier(8)

        def post(
            number: int,
            key: str = f"k{attempt}",
            together: threading.Barrier = together,
        ) -> Post | str:
            together.wait()
            try:
                return live.accept(body(1 + number % 2), key, parse_rows)
            except RefereeError as error:
                return error.code

        outcomes = list(threads.map(post, range(8)))
        receipts = {one for one in outcomes if isinstance(one, Post)}
        assert len(receipts) == 1
        assert outcomes.count("key-reused") == 4
    assert store.posts.count_detections(live.run.id) == live.received_total


def test_totals_are_those_of_the_order_in_which_bodies_were_stored(
    live: OpenRun,
    store: Store,
    threads: ThreadPoolExecutor,
) -> None:
    sent = [
        threads.submit(live.accept, body(1 + i % 5, seed=i), f"k{i}", parse_rows)
        for i in range(300)
    ]
    for number, one in enumerate(sent):
        receipt = one.result()
        assert store.posts.find(live.run.id, f"k{number}") == receipt
    assert (
        max(one.result().received_total for one in sent) == live.received_total == 900
    )


def test_a_body_that_cannot_be_parsed_leaves_nothing_behind(
    live: OpenRun,
    store: Store,
) -> None:
    with pytest.raises(ValueError, match="buffer size"):
        live.accept(b"odd", "k", parse_rows)
    assert live.accept(body(1), "k", parse_rows).received_total == 1
    live.end("logout")
    assert store.posts.count_detections(live.run.id) == 1


@pytest.mark.parametrize(
    ("slow", "rows_each"),
    [
        (1, 3),
        (1, LARGE_BYTES // ROW_BYTES + 1),
    ],
)
def test_a_run_s_bodies_wait_for_each_other_and_no_other_run_waits_for_them(
    live: OpenRun,
    store: Store,
    clock: DrivenClock,
    threads: ThreadPoolExecutor,
    slow: int,
    rows_each: int,
) -> None:
    parsing = threading.Semaphore(0)
    goes_on = threading.Event()

    def parse_slowly(text: bytes) -> Any:
        parsing.release()
        assert goes_on.wait(TIMEOUT_S)
        return parse_rows(text)

    sent = [
        threads.submit(live.accept, body(rows_each), None, parse_slowly)
        for _ in range(slow + 1)
    ]
    for _ in range(slow):
        assert parsing.acquire(timeout=TIMEOUT_S)
    other = live_run(store, clock)
    assert other.accept(body(2), None, parse_rows).received_total == 2
    assert not parsing.acquire(blocking=False)
    goes_on.set()
    assert max(one.result(20).received_total for one in sent) == rows_each * (slow + 1)


def test_small_bodies_that_wait_are_stored_by_one_commit_and_a_bad_one_fails_alone(
    live: OpenRun,
    store: Store,
    threads: ThreadPoolExecutor,
    until: Callable[[Callable[[], object]], None],
) -> None:
    commits: list[int] = []
    is_held = threading.Event()
    goes_on = threading.Event()

    def hold(_: object) -> bool:
        is_held.set()
        return goes_on.wait(TIMEOUT_S)

    group = store.database.group
    store.database.connection.set_trace_callback(
        lambda sql: commits.append(1) if sql == "COMMIT" else None
    )
    held = threads.submit(group.write, hold)
    assert is_held.wait(TIMEOUT_S)
    bad = threads.submit(live.accept, body(1), None, refuse)
    good = [threads.submit(live.accept, body(1), None, parse_rows) for _ in range(6)]
    until(lambda: group.waiting == 6)
    before = store.database.connection.total_changes
    goes_on.set()
    assert held.result(TIMEOUT_S)
    assert code_of(bad.result, 20) == "bad-rows"
    assert sorted(one.result(20).received_total for one in good) == [
        1,
        2,
        3,
        4,
        5,
        6,
    ]
    assert len(commits) == 2
    assert store.database.connection.total_changes - before == 6


LARGE = body(LARGE_BYTES // ROW_BYTES + 1)


@pytest.fixture
def not_alone(store: Store, clock: DrivenClock) -> OpenRun:
    """A run beside others, after a large body that took 20 s."""
    live = live_run(store, clock, alone=False)
    accept_for_20_s(live, clock)
    return live


def accept_for_20_s(live: OpenRun, clock: DrivenClock) -> None:
    def parse(text: bytes) -> Any:
        clock.advance(20.0)
        return parse_rows(text)

    live.accept(LARGE, None, parse)


def test_after_a_large_body_the_next_one_leaves_the_other_runs_five_times_as_long(
    not_alone: OpenRun,
    clock: DrivenClock,
    threads: ThreadPoolExecutor,
) -> None:
    next_one = threads.submit(not_alone.accept, LARGE, None, parse_rows)
    assert not_alone.accept(body(1), None, parse_rows).row_count == 1
    assert not next_one.done()
    clock.advance(PAUSE * 20.0 + 1.0)
    next_one.result(20)


def test_a_run_that_is_alone_waits_for_no_one(
    live: OpenRun,
    clock: DrivenClock,
) -> None:
    accept_for_20_s(live, clock)
    accept_for_20_s(live, clock)
    assert clock.monotonic_s() - live.window.start_s < 45.0


def test_large_bodies_that_wait_do_not_hold_up_the_end(
    not_alone: OpenRun,
    clock: DrivenClock,
    store: Store,
    threads: ThreadPoolExecutor,
    until: Callable[[Callable[[], object]], None],
) -> None:
    waiting = [
        threads.submit(not_alone.accept, LARGE, None, parse_rows) for _ in range(8)
    ]
    until(lambda: not_alone._admitted == len(waiting))  # noqa: SLF001 - what waits shows only inside
    threads.submit(not_alone.end, "logout").result(20)
    assert clock.monotonic_s() - not_alone.window.start_s < 25.0
    assert {one.result().row_count for one in waiting} == {len(LARGE) // ROW_BYTES}
    assert store.posts.count_detections(not_alone.run.id) == not_alone.received_total


def refuse(_: bytes) -> np.ndarray:
    raise RefereeError("bad-rows", "There are no rows.")


def test_nothing_is_admitted_at_the_deadline_even_if_no_timer_has_fired(
    live: OpenRun,
    clock: DrivenClock,
) -> None:
    clock.monotonic_s = lambda: live.window.deadline_s  # type: ignore[method-assign]
    assert code_of(live.accept, body(1), None, parse_rows) == "window-closed"
    assert code_of(live.require_open) == "window-closed"
    assert code_of(live.serve, [(1, 100)]) == "window-closed"
    assert live.received_total == 0


def test_a_body_read_at_the_last_moment_counts_though_it_is_stored_later(
    live: OpenRun,
    store: Store,
    clock: DrivenClock,
) -> None:
    last_s = np.nextafter(live.window.deadline_s, 0)
    clock.monotonic_s = lambda: last_s  # type: ignore[method-assign]

    def parse_slowly(text: bytes) -> Any:
        clock.monotonic_s = lambda: live.window.deadline_s + 60  # type: ignore[method-assign]
        return parse_rows(text)

    assert live.accept(body(2), None, parse_slowly).received_total == 2
    assert live.end("deadline").end_s == live.window.deadline_s
    assert store.posts.count_detections(live.run.id) == 2


def test_nothing_is_admitted_before_the_start(store: Store, clock: DrivenClock) -> None:
    live = live_run(store, clock)
    clock.advance(-5)
    assert code_of(live.accept, body(1), None, parse_rows) == "window-closed"


def test_the_first_end_stays(live: OpenRun, clock: DrivenClock) -> None:
    clock.advance(100)
    first = live.end("logout")
    clock.advance(100)
    assert live.end("deadline") == first
    assert live.closed_by == "logout"
    assert live.ending.is_set()
    assert 100 <= first.end_s - first.start_s < 110


def test_an_end_after_the_deadline_is_at_the_deadline(
    live: OpenRun,
    clock: DrivenClock,
) -> None:
    clock.advance(10_000)
    assert live.end("deadline").end_s == live.window.start_s + LENGTH_S


def test_the_end_waits_for_what_was_admitted_before_and_admits_nothing_more(
    live: OpenRun,
    store: Store,
    threads: ThreadPoolExecutor,
) -> None:
    parsing = threading.Event()
    go_on = threading.Event()

    def parse_slowly(text: bytes) -> Any:
        parsing.set()
        assert go_on.wait(TIMEOUT_S)
        return parse_rows(text)

    slow = threads.submit(live.accept, body(3), None, parse_slowly)
    assert parsing.wait(TIMEOUT_S)
    ending = threads.submit(live.end, "logout")
    assert live.ending.wait(TIMEOUT_S)
    assert code_of(live.accept, body(1), None, parse_rows) == "window-closed"
    assert not wait([ending], timeout=0.05).done
    go_on.set()
    ending.result(TIMEOUT_S)
    assert (
        store.posts.count_detections(live.run.id) == slow.result().received_total == 3
    )


def test_a_post_that_fails_does_not_hold_up_the_end(
    live: OpenRun,
    threads: ThreadPoolExecutor,
) -> None:
    for _ in range(5):
        with pytest.raises(ValueError, match="buffer size"):
            live.accept(b"odd", None, parse_rows)
    threads.submit(live.end, "logout").result(20)


def test_every_acknowledged_row_and_no_other_is_in_the_database_when_the_end_returns(
    store: Store,
    clock: DrivenClock,
    threads: ThreadPoolExecutor,
) -> None:
    for attempt in range(10):
        live = live_run(store, clock)
        together = threading.Barrier(13)
        posting = [
            threads.submit(post_until_refused, live, number, together)
            for number in range(12)
        ]
        together.wait()
        while live.received_total < 5 * attempt:
            pass
        live.end("logout")
        at_the_end = store.posts.count_detections(live.run.id)
        counted = {
            receipt.received_total: receipt.row_count
            for one in posting
            for receipt in one.result()
        }
        assert (
            sum(counted.values())
            == at_the_end
            == store.posts.count_detections(live.run.id)
        )


def post_until_refused(
    live: OpenRun,
    number: int,
    together: threading.Barrier,
) -> list[Post]:
    together.wait()
    receipts: list[Post] = []
    with pytest.raises(RefereeError, match="is closed"):  # noqa: PT012 - until it is refused
        for i in count():
            receipts += [
                live.accept(body(1 + number % 3), f"{number}-{i % 40}", parse_rows)
            ]
    return receipts


def test_a_run_taken_up_again_goes_on_counting(
    store: Store,
    clock: DrivenClock,
) -> None:
    live = live_run(store, clock)
    receipt = live.accept(body(3), "k", parse_rows)
    live.serve([(2, 100)])
    live.meter.log.flush()
    again = live_run(store, clock, live.run.id)
    assert again.received_total == 3
    assert again.served_images == 1
    assert again.accept(body(3), "k", parse_rows) == receipt
    assert again.accept(body(1), None, parse_rows).received_total == 4


def test_a_killed_server_leaves_word_of_every_image_that_it_served(
    store: Store,
    clock: DrivenClock,
    tmp_path: Path,
) -> None:
    live = live_run(store, clock, marks=kept_marks(tmp_path / "marks", 5))
    live.serve([(2, 100), (5, 100)])
    with contextlib.closing(
        Store.open(tmp_path / "contest.db")
    ) as other:  # of the next server: nothing was committed
        assert other.served.images(live.run.id) == []
        again = live_run(other, clock, live.run.id, kept_marks(tmp_path / "marks", 5))
        assert again.served_images == 2
        again.accept(body(1, image=2), None, parse_rows)
        assert other.served.images(live.run.id) == [2, 5]


def test_marks_that_cannot_be_kept_are_done_without(tmp_path: Path) -> None:
    for path in (tmp_path / "absent" / "marks", tmp_path):
        assert kept_marks(path, 3) == bytearray(3)
    (tmp_path / "longer").write_bytes(bytes(9))
    assert kept_marks(tmp_path / "longer", 3) == bytearray(3)


def test_an_image_is_known_by_its_place_in_the_runs_order(live: OpenRun) -> None:
    assert [live.testset_number(n) for n in range(1, 6)] == [3, 1, 5, 2, 4]
    for number in (0, -1, 6, 10**12):
        assert code_of(live.testset_number, number) == "image-unknown"


def test_served_images_are_counted_once_each(live: OpenRun, store: Store) -> None:
    for number in (1, 2, 1):
        live.serve([(number, 100)])
    assert live.served_images == 2
    assert store.served.images(live.run.id) == []
    live.accept(body(1), None, parse_rows)
    assert store.served.images(live.run.id) == [1, 2]
