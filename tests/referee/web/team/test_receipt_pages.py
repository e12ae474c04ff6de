"""Receipts come in pages of bounded size; those of a run that is over are read once, one at a time for each team."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from referee.errors import RefereeError
from referee.store.post_table import PostTable
from referee.store.records import Run, RunState
from referee.web.team import receipt_pages
from referee.web.team.receipt_pages import A_PAGE, ReceiptPages
from tests.referee.factories import START, House, rows, stored_run

POSTS = 2 * A_PAGE + 1


@pytest.fixture
def over(build: Callable[..., House]) -> tuple[House, Run]:
    """A closed run with more posts than two pages hold."""
    house = build()
    run = stored_run(house.store)
    for number in range(POSTS):
        house.store.posts.append(
            run.id,
            rows(1),
            sha256=f"{number:064x}",
            idempotency_key=None,
            elapsed_s=1.0,
            now=START,
        )
    closed = RunState.CLOSED.value
    return house, house.store.runs.change(run.id, (RunState.ARMED,), state=closed)


def read_all(pages: ReceiptPages, run: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after = 0
    while True:
        page = json.loads(pages.page(run, after))
        assert 0 < len(page["receipts"]) <= A_PAGE
        found += page["receipts"]
        if page["next"] is None:
            return found
        after = int(page["next"].partition("?after=")[2])


def test_all_pages_have_each_receipt_once_and_are_read_once(
    over: tuple[House, Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house, run = over
    pages = ReceiptPages(house.contest)
    found = read_all(pages, run)
    assert [one["number"] for one in found] == list(range(1, POSTS + 1))
    monkeypatch.setattr(PostTable, "receipts_after", None)  # no page is read again
    assert read_all(pages, run) == found


def test_a_team_reads_one_page_at_a_time_and_holds_up_no_other_team(
    over: tuple[House, Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house, run = over
    other = stored_run(house.store, team="bee")
    pages = ReceiptPages(house.contest)
    is_reading = threading.Event()
    may_end = threading.Event()
    read = PostTable.receipts_after

    def slow(self: PostTable, number: int, *more: int) -> Any:
        if number == run.id:
            is_reading.set()
            may_end.wait()
        return read(self, number, *more)

    monkeypatch.setattr(PostTable, "receipts_after", slow)
    monkeypatch.setattr(receipt_pages, "WAIT_S", 0.01)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(pages.page, run, 0)
        is_reading.wait()
        with pytest.raises(RefereeError) as failure:
            pages.page(run, A_PAGE)
        assert failure.value.code == "too-many-requests"
        assert json.loads(pages.page(other, 0))["receipts"] == []
        may_end.set()
        first.result()
