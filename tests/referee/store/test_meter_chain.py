"""Each receipt binds the readings on disk with it, by the link of the last one; the bundle gives the same link."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from referee.errors import StorageFailed
from referee.store import DATABASE_NAME, Store, meter_chain
from referee.store.hash_links import READINGS_START, meter_link
from referee.store.records import Post
from referee.store.run_rules import Rules
from referee.store.waiting_rows import WaitingRows
from tests.referee.factories import reading, stored_run
from tests.referee.store.test_hash_links import append

RULES = Rules(
    0,
    False,
    0,
    0.1,
    "lpirc",
    1,
    0,
    ({"name": "A", "rule": "best-score"},),
    {},
    "d" * 64,
    600,
)


@pytest.fixture
def run(store: Store) -> int:
    store.identity.accept("c0ffee")
    return stored_run(store, rules=RULES).id


def read(
    store: Store,
    run: int,
    *at_s: float,
    **different: Any,
) -> None:
    store.readings.append(run, 0.0, [reading(one, **different) for one in at_s])


def by_hand(store: Store, run: int) -> list[bytes]:
    """Return the links computed from the CSV lines that the bundle has."""
    links = [READINGS_START]
    for line in store.readings.csv(run).decode().splitlines(keepends=True)[1:]:
        links.append(meter_link(links[-1], line))
    return links


def bound(receipt: Post) -> tuple[int | None, bytes | None]:
    return receipt.readings, receipt.meter


def test_each_receipt_has_the_link_of_the_newest_reading_as_it_is_stored(
    store: Store,
    run: int,
) -> None:
    first = append(store, run, 1)
    read(
        store,
        run,
        0.1,
        0.2,
        energy_wh=float("nan"),
        power_w=float("inf"),
        voltage_range_v=150,
    )
    second = append(store, run, 1)
    read(store, run, 0.3, changed='range, "auto"', over_range=True)
    third = append(store, run, 1)
    links = by_hand(store, run)
    assert [bound(one) for one in (first, second, third)] == [
        (0, links[0]),
        (2, links[2]),
        (3, links[3]),
    ]
    assert store.readings.head(run) == (3, links[3])
    assert store.posts.find(run, "none") is None


def test_a_reading_is_hashed_once_however_many_receipts_follow(
    store: Store,
    run: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hashed = []

    def counted(previous: bytes, line: str) -> bytes:
        hashed.append(line)
        return meter_link(previous, line)

    monkeypatch.setattr(meter_chain, "meter_link", counted)
    for at_s in range(5):
        read(store, run, float(at_s))
        append(store, run, 1)
        append(store, run, 1)
    assert len(hashed) == 5


def test_after_a_restart_the_chain_goes_on_as_if_there_were_none(
    store: Store,
    run: int,
    tmp_path: Path,
) -> None:
    read(store, run, 0.1, 0.2)
    append(store, run, 1)
    with closing(Store.open(tmp_path / DATABASE_NAME)) as later:
        assert later.readings.head(run) == (2, by_hand(store, run)[2])
        read(later, run, 0.3)
        assert bound(append(later, run, 1)) == (3, by_hand(store, run)[3])
    read(store, run, 0.4)  # the first process has not seen the third one written
    assert bound(append(store, run, 1)) == (4, by_hand(store, run)[4])


def test_readings_that_were_rolled_back_are_bound_by_no_receipt(
    store: Store,
    run: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read(store, run, 0.1)
    other = stored_run(store, rules=RULES).id

    def fails(*_: object) -> int:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patched:
        patched.setattr(WaitingRows, "write", fails)
        with pytest.raises(StorageFailed):
            read(store, run, 0.2)
        with pytest.raises(StorageFailed):
            store.readings.head(run)
    read(store, other, 0.2)  # takes the row that was rolled back
    read(store, run, 0.3)
    assert bound(append(store, run, 1)) == (2, by_hand(store, run)[2])


def test_a_run_without_bound_rules_has_receipts_of_the_first_form(store: Store) -> None:
    store.identity.accept("c0ffee")
    run = stored_run(store).id
    read(store, run, 0.1)
    for _ in range(2):
        receipt = append(store, run, 1)
        assert receipt.form == 1
        assert receipt.readings is None
        assert receipt.meter is None


def test_the_rules_are_in_the_first_link(store: Store, run: int) -> None:
    other = stored_run(store, rules=RULES, nonce=None).id
    heads = {
        store.posts.receipt_head(one)[1] for one in (run, other, stored_run(store).id)
    }
    assert len(heads) == 3
    assert store.runs.get(run).rules == RULES
