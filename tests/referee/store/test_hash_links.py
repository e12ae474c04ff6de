"""Hash chains: what receipts and events bind, and that all processes append to the same log."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from referee.errors import StorageFailed
from referee.store import DATABASE_NAME, Event, Store
from referee.store.hash_links import (
    LOG_START,
    event_digest,
    log_link,
    receipt_link,
    run_start,
)
from referee.store.records import RUN_CLOSED, Post, RunState
from tests.referee.factories import START, reading, rows, stored_run


@pytest.fixture
def run(store: Store) -> int:
    store.identity.accept("c0ffee")
    return stored_run(store).id


def append(
    store: Store,
    run: int,
    count: int,
    key: str | None = None,
) -> Post:
    body = f"{run} {count}".encode()
    return store.posts.append(
        run,
        rows(count),
        sha256=hashlib.sha256(body).hexdigest(),
        idempotency_key=key,
        elapsed_s=1.0,
        now=START,
        content_type="text/plain",
        body=body,
    )


@pytest.fixture
def database(tmp_path: Path, store: Store) -> Iterator[sqlite3.Connection]:
    """The store's file, opened by another program."""
    with contextlib.closing(sqlite3.connect(tmp_path / DATABASE_NAME)) as connection:
        yield connection


def links(database: sqlite3.Connection) -> list[tuple[bytes, bytes]]:
    """Return (link as stored, link computed from all events before) for each event."""
    found = []
    link = LOG_START
    for *event, stored in database.execute(
        "SELECT utc, run, kind, detail, link FROM events ORDER BY id"
    ):
        link = log_link(link, event_digest(*event))
        found.append((stored, link))
    return found


def test_each_receipt_follows_the_one_before_and_the_first_one_names_the_run(
    store: Store,
    run: int,
) -> None:
    one = append(store, run, 2)
    two = append(store, run, 3)
    of = store.runs.get(run)
    start = run_start("c0ffee", run, of.nonce, of.team, of.testset_digest, None)
    assert one.number == 1
    assert one.previous == start
    assert one.link == receipt_link(
        start,
        1,
        one.sha256,
        START.isoformat(),
        2,
        2,
        None,
        None,
    )
    assert two.number == 2
    assert two.previous == one.link
    assert two.received_total == 5
    assert store.posts.receipt_head(run) == (2, two.link)


def test_runs_have_chains_of_their_own(store: Store, run: int) -> None:
    other = stored_run(store).id
    assert append(store, run, 1).previous != append(store, other, 1).previous
    assert append(store, other, 1).number == 2


def test_a_repeat_gets_the_first_receipt_and_adds_no_link(
    store: Store,
    run: int,
) -> None:
    first = append(store, run, 2, "k")
    append(store, run, 3)
    assert append(store, run, 2, "k") == first == store.posts.find(run, "k")
    assert store.posts.receipt_head(run)[0] == 2


def test_posts_of_several_threads_make_one_chain(
    store: Store,
    run: int,
    threads: ThreadPoolExecutor,
) -> None:
    receipts = list(threads.map(lambda count: append(store, run, count), range(1, 30)))
    ordered = sorted(receipts, key=lambda one: one.number or 0)
    assert [one.number for one in ordered] == [*range(1, 30)]
    assert [one.link for one in ordered[:-1]] == [one.previous for one in ordered[1:]]


def test_a_run_without_bodies_has_the_head_that_names_it(
    store: Store,
    run: int,
) -> None:
    of = store.runs.get(run)
    assert store.posts.receipt_head(run) == (
        0,
        run_start("c0ffee", run, of.nonce, of.team, of.testset_digest, None),
    )


def test_the_body_is_kept_as_it_came(
    store: Store,
    run: int,
    database: sqlite3.Connection,
) -> None:
    append(store, run, 2)
    assert database.execute("SELECT content_type, body FROM posts").fetchone() == (
        "text/plain",
        b"%d 2" % run,
    )


def test_a_run_that_goes_on_after_an_upgrade_begins_its_chain_there(
    store: Store,
    run: int,
    database: sqlite3.Connection,
) -> None:
    append(store, run, 2)
    with database:
        database.execute("UPDATE posts SET number = NULL, previous = NULL, body = NULL")
    assert store.posts.receipt_head(run)[0] == 1
    later = append(store, run, 3)
    assert later.number == 2
    assert later.received_total == 5
    assert append(store, run, 1).previous == later.link


def test_a_body_follows_what_another_process_stored_and_not_what_was_rolled_back(
    store: Store,
    run: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: object) -> int:
        raise sqlite3.OperationalError("disk I/O error")

    first = append(store, run, 1)
    with contextlib.closing(Store.open(tmp_path / DATABASE_NAME)) as other:
        second = append(other, run, 2)
    third = append(store, run, 3)
    with monkeypatch.context() as failing:
        failing.setattr(store.served._waiting, "write", fail)  # noqa: SLF001  # a part of each commit
        with pytest.raises(StorageFailed):
            append(store, run, 4)
    fourth = append(store, run, 5)
    assert [one.previous for one in (second, third, fourth)] == [
        first.link,
        second.link,
        third.link,
    ]
    assert fourth.number == 4
    assert fourth.received_total == 11


def test_every_event_is_linked_to_all_before_it(
    store: Store,
    run: int,
    database: sqlite3.Connection,
) -> None:
    store.log.append(START, run, "armed", station="A")
    with store.log.act(START, run, operator="ada", action="close"):
        pass
    assert store.log.head()[2] == links(database)[-1][1].hex()
    assert all(stored == computed for stored, computed in links(database))
    assert len(links(database)) == 2


def test_two_connections_append_to_one_log(
    store: Store,
    tmp_path: Path,
    threads: ThreadPoolExecutor,
    database: sqlite3.Connection,
) -> None:
    with contextlib.closing(Store.open(tmp_path / DATABASE_NAME)) as other:
        done = [
            threads.submit(one.log.append, START, None, "note", number=number)
            for number, one in enumerate([store, other] * 20)
        ]
        for one in done:
            one.result()
    assert len(links(database)) == 40
    assert all(stored == computed for stored, computed in links(database))


def test_an_altered_event_breaks_the_log(
    store: Store,
    database: sqlite3.Connection,
) -> None:
    for number in range(3):
        store.log.append(START, None, "note", number=number)
    with database:
        database.execute(
            "UPDATE events SET detail = ? WHERE id = 2",
            (json.dumps({"number": 7}),),
        )
    assert [stored == computed for stored, computed in links(database)] == [
        True,
        False,
        False,
    ]


def test_the_close_binds_bodies_readings_and_served_images(
    store: Store,
    run: int,
) -> None:
    append(store, run, 2)
    store.readings.append(run, 0.0, [reading(1.0), reading(2.0)])
    store.served.append(run, [(1, 100)], 1.0)
    store.served.flush()
    assert store.closings.of_run(run) is None
    event = Event(START.isoformat(), run, RUN_CLOSED, store.closings.evidence(run))
    store.runs.change_all(
        {run: {"state": RunState.CLOSED.value}},
        (RunState.ARMED,),
        event,
    )
    closing = store.closings.of_run(run)
    assert closing is not None
    assert closing.posts == 1
    assert closing.head == store.posts.receipt_head(run)[1].hex()
    assert closing.log == store.log.head()[2]
    (stored,) = store.log.of_run(run)
    assert (
        stored["readings_sha256"] == hashlib.sha256(store.readings.csv(run)).hexdigest()
    )
    assert (
        stored["served_sha256"]
        == hashlib.sha256(b"image,elapsed_s,bytes\n1,1.0,100\n").hexdigest()
    )
