"""A phone at 50 kbit/s and 300 ms latency: the board is readable soon, requests never pile up, a renewal is small."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from referee.clock import Clock
from referee.judging.board_publisher import Publisher
from referee.judging.judge import judge
from referee.web.app import create_app
from tests.browser import browser
from tests.contest_day import HASH
from tests.referee.factories import START, House
from tests.referee.judging.judged_runs import closed_run
from tests.referee.web.served_app import served_app
from tests.timeouts import TIMEOUT_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
BYTES_PER_S = 50_000 / 8
LATENCY_S = 0.3
SLOW = {
    "offline": False,
    "latency": 1000 * LATENCY_S,
    "downloadThroughput": BYTES_PER_S,
    "uploadThroughput": BYTES_PER_S,
}
TEAMS = 16
LIVE = "/board/live"
READABLE_S = 3.0
"""What the line takes for the page and its styles: three latencies and their bytes, without the machine's own time."""
MOST_RENEWAL_BYTES = 4000
MOST_UNCHANGED_BYTES = 600


@dataclass
class Traffic:
    """What a page has loaded: the bytes of each answer, headers and all, and how many of the live part ran at once."""

    url: str
    came: dict[str, list[int]] = field(default_factory=dict)
    under_way: dict[str, str] = field(default_factory=dict)
    most_at_once: int = 0

    def begins(self, event: dict[str, Any]) -> None:
        path = event["request"]["url"].removeprefix(self.url).partition("?")[0]
        self.under_way[event["requestId"]] = path
        live = [one for one in self.under_way.values() if one == LIVE]
        self.most_at_once = max(self.most_at_once, len(live))

    def ends(self, event: dict[str, Any]) -> None:
        path = self.under_way.pop(event["requestId"], "")
        self.came.setdefault(path, []).append(event["encodedDataLength"])

    def fails(self, event: dict[str, Any]) -> None:
        self.under_way.pop(event["requestId"], None)


@contextmanager
def phone(browser: Browser, url: str) -> Iterator[tuple[Page, Traffic]]:
    with browser.new_context(viewport={"width": 360, "height": 740}) as context:
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_S * 1000)
        traffic = Traffic(url)
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", SLOW)
        session.on("Network.requestWillBeSent", traffic.begins)
        session.on("Network.loadingFinished", traffic.ends)
        session.on("Network.loadingFailed", traffic.fails)
        yield page, traffic


def test_a_board_is_readable_soon_and_renewed_by_one_small_request_at_a_time(
    browser: Browser,
    build: Callable[..., House],
) -> None:
    house = build()
    for number in range(TEAMS):
        team = f"team {number}"
        house.store.teams.add(team, HASH, START)
        run = closed_run(house.contest, team, 1.0 + number, number)
        judge(house.contest, run.id, Clock())
    publisher = Publisher(house.contest, Clock())
    publisher.tick()
    app = create_app(house.contest, house.control, Clock())
    with served_app(app) as url, phone(browser, url) as (page, traffic):
        page.goto(url, wait_until="commit")
        page.get_by_text("team 15").first.wait_for()
        page.wait_for_function("() => performance.getEntriesByType('paint').length")
        needed = [path for path in traffic.came if path == "/" or path.endswith(".css")]
        assert len(needed) == 3, needed
        taken = sum(sum(traffic.came[path]) for path in needed)
        assert 3 * LATENCY_S + taken / BYTES_PER_S <= READABLE_S, taken
        deadline_s = time.monotonic() + TIMEOUT_S
        while len(traffic.came.get(LIVE, [])) < 4:
            assert time.monotonic() < deadline_s
            page.wait_for_timeout(200)
        house.store.announcements.add("jo", "Lunch at noon.", Clock().utc())
        publisher.tick()
        page.get_by_text("Lunch at noon").first.wait_for()
        renewals = traffic.came[LIVE]
        unchanged = [one for one in renewals if one <= MOST_UNCHANGED_BYTES]
        assert unchanged, renewals
        assert max(renewals) <= MOST_RENEWAL_BYTES, renewals
        assert traffic.most_at_once == 1
        # Nothing is drawn on this board, so nothing is loaded to draw it.
        assert not [path for path in traffic.came if "uPlot" in path]
