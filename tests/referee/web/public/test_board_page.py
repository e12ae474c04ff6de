"""The board in a real browser, from a real server of a contest without provisional scores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
import requests

from lpirc_testsets import TestSet
from referee.clock import Clock
from referee.contest import open_contest
from referee.judging.judge import judge
from referee.judging.judge_many import judge_with_interval
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import TEAM, TIMEOUT_S, Day, contest_day
from tests.referee.judging.judged_runs import closed_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
TEAMS = (
    TEAM,
    *(f"team {number}" for number in range(2, 13)),
    "<script>alert(1)</script>",
    "w" * 100,
)


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory, small_set: TestSet) -> Iterator[Day]:
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("hall") / "contest"
        made = stack.enter_context(contest_day(folder, small_set.folder, teams=TEAMS))
        settings = folder / "contest.toml"
        settings.write_text(
            settings.read_text().replace("live_score = true", "live_score = false")
        )
        with open_contest(folder) as contest:
            for seed, team in enumerate(TEAMS):
                run = closed_run(contest, team, 1.0 + seed / 50, seed)
                judging = judge_with_interval if seed < 3 else judge
                judging(contest, run.id, Clock())
            contest.store.announcements.add("jo", "Lunch at noon.", Clock().utc())
            contest.store.queue.change(lambda _: list(TEAMS[2:5]))
        made.serve()
        yield made


def url(hall: Day, path: str = "/") -> str:
    assert hall.server is not None
    return hall.server.url + path


def act(hall: Day, what: str) -> None:
    key = (hall.folder / "operator-key").read_text().strip()
    headers = {"Authorization": f"Bearer {key}"}
    requests.post(
        url(hall, f"/operator/board/{what}"),
        json={},
        headers=headers,
        timeout=30,
    ).raise_for_status()


def ranks(page: Page) -> list[str]:
    return [
        text.split()[0]
        for text in page.locator(
            ".ranking tbody tr:not([hidden]) .rank"
        ).all_inner_texts()
    ]


def test_the_board_is_readable_accessible_and_live(hall: Day, browser: Browser) -> None:
    with visit(browser, url(hall), size=(1440, 900)) as page:
        page.get_by_text("Lunch at noon.").wait_for()
        page.get_by_role("row").nth(14).wait_for()
        page.get_by_text("No team is running.").wait_for()
        hall.login()
        clock = page.locator(".now .clock")
        clock.wait_for()
        page.locator(".now .chart canvas").wait_for()
        shown = clock.inner_text()
        page.wait_for_function(
            "was => document.querySelector('.now .clock').textContent !== was",
            arg=shown,
        )
        assert_accessible(page)
        for width in (390, 720, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert (
                page.evaluate("document.querySelector('h1').getBoundingClientRect().x")
                >= 16
            ), "a margin"
        pinned = page.locator(".pins code").first
        assert len(pinned.inner_text()) == 12 + len("…")
        page.emulate_media(media="print")
        assert pinned.inner_text() == pinned.get_attribute("title"), "on paper in full"


FONTS = """() => {
  const found = new Set(), texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement, style = getComputedStyle(element);
    if (!texts.currentNode.data.trim() || !element.getClientRects().length) continue;
    found.add(`${style.fontSize} ${style.fontWeight}`);
  }
  return [...found];
}"""
BLOCKING = """() => performance.getEntriesByType("resource").filter(one => one.renderBlockingStatus === "blocking")
  .map(one => one.decodedBodySize)"""


def test_the_first_paint_waits_for_two_small_stylesheets_and_few_fonts(
    hall: Day,
    browser: Browser,
) -> None:
    with visit(browser, url(hall)) as page:
        page.wait_for_function("() => performance.getEntriesByType('paint').length")
        sizes = page.evaluate(BLOCKING)
        assert len(sizes) == 2
        assert sum(sizes) < 25_000
        markup = requests.get(
            url(hall),
            headers={"Accept": "text/html"},
            timeout=TIMEOUT_S,
        ).text
        scripts = re.findall(r"<script src=[^>]*>", markup)
        assert any("/times.js" in script for script in scripts)
        assert all(
            "uPlot" not in script.split()[1] and " defer" in script
            for script in scripts
        )
        # Chromium asks the system for each pair of size and weight.
        assert len(page.evaluate(FONTS)) <= 10


def test_a_projector_pages_through_a_long_ranking_and_follows_the_unveiling(
    hall: Day,
    browser: Browser,
) -> None:
    hall.login()
    with visit(browser, url(hall, "/?view=projector"), size=(1920, 1080)) as page:
        page.get_by_text("Page ").wait_for()
        assert page.evaluate("document.documentElement.scrollHeight") <= 1080
        first = ranks(page)
        assert 1 <= len(first) < len(TEAMS)
        pages = "document.getElementById('rest-page').textContent"
        shown = page.evaluate(pages)
        page.evaluate("const now = Date.now; Date.now = () => now.call(Date) + 10000")
        page.wait_for_function(f"was => {pages} !== was", arg=shown)
        assert ranks(page) != first
        assert ranks(page)[:3] == first[:3], "the leaders stay"
        act(hall, "freeze")
        page.get_by_text("Frozen").wait_for()
        assert "Power" not in page.locator(".runs").inner_text()
        act(hall, "unveil")
        page.get_by_text(f"Place {len(TEAMS)}").wait_for()
        assert_accessible(page)
