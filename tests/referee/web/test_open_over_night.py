"""A page left open over night: it grows by nothing, and says what has become of the server, the log-in, the version."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from flask import Flask

from referee.clock import Clock
from referee.judging.board_publisher import Publisher
from referee.web import html_pages
from referee.web.app import create_app
from tests.browser import browser
from tests.referee.factories import House, StillClock
from tests.referee.judging.judged_runs import opened_run
from tests.referee.web.served_app import served_app
from tests.timeouts import TIMEOUT_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
HOUR_MS = 3_600_000
# What is not collected yet may differ; a leaked chart each second time adds 10,000 nodes and 400 listeners.
MOST_MORE = {"Nodes": 1000, "JSEventListeners": 100}
# Answers each poll at once by what the server answered at first, in turn with and without the open run, each time of
# another number: as a day of runs.
DAY_OF_RUNS = """async () => {
  window.most = 0;
  const live = document.querySelector("[data-live]");
  const full = await (await fetch(live.dataset.live + "?lists=none")).text();
  const parsed = new DOMParser().parseFromString(full, "text/html");
  for (const one of parsed.querySelectorAll("[data-course]")) one.remove();
  const empty = parsed.body.innerHTML;
  live.dataset.every = "0";
  window.polls = 0;
  const until = async () => { while (polls >= most) await new Promise(done => setTimeout(done, 20)); };
  window.fetch = async () => await until() || new Response(
    ++polls % 2 ? full.replaceAll("run-1", `run-${polls}`).replaceAll(/data-key="[^"]*"/g, `data-key="${polls}"`)
                : empty.replace("</h1>", ` ${polls}</h1>`));
}"""


@pytest.fixture
def house(build: Callable[..., House]) -> House:
    made = build()
    opened_run(made.contest, "otters", 5)
    Publisher(made.contest, Clock()).tick()
    return made


@pytest.fixture
def app(house: House) -> Flask:
    return create_app(house.contest, house.control, StillClock(60.0))


@contextmanager
def opened(
    browser: Browser,
    app: Flask,
    house: House,
    path: str,
    *,
    is_clock_driven: bool = False,
) -> Iterator[Page]:
    """A page at `path`, in a browser where the operator has logged in."""
    with served_app(app) as url, browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_S * 1000)
        page.goto(f"{url}/operator/login")
        page.get_by_label("Name").fill("jo")
        page.get_by_label("Password").fill(house.contest.operator_key)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/operator/")
        if is_clock_driven:
            page.clock.install()
        page.goto(url + path)
        yield page


def test_a_day_of_runs_adds_no_nodes_and_no_listeners(
    browser: Browser,
    app: Flask,
    house: House,
) -> None:
    with opened(browser, app, house, "/operator/") as page:
        page.wait_for_selector(".chart canvas", state="attached")
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")

        def at(polls: int) -> dict[str, int]:
            page.evaluate("polls => { window.most = polls }", polls)
            page.wait_for_function("() => polls >= most")
            page.wait_for_timeout(200)
            session.send("HeapProfiler.collectGarbage")
            metrics = session.send("Performance.getMetrics")["metrics"]
            return {
                one["name"]: one["value"] for one in metrics if one["name"] in MOST_MORE
            }

        page.evaluate(DAY_OF_RUNS)
        before = at(100)
        after = at(500)
        for name, most in MOST_MORE.items():
            assert after[name] <= before[name] + most, (name, before, after)


def test_after_a_night_asleep_it_asks_once_and_not_for_each_second_that_it_missed(
    browser: Browser,
    app: Flask,
    house: House,
) -> None:
    with opened(browser, app, house, "/", is_clock_driven=True) as page:
        asked = list[str]()
        with page.expect_response("**/board/live"):
            pass
        page.on("request", lambda request: asked.append(request.url))
        page.clock.pause_at(page.evaluate("Date.now()") + HOUR_MS)
        asked.clear()
        page.clock.fast_forward(12 * HOUR_MS)
        page.clock.run_for(500)
        assert len(asked) <= 2, asked
        page.clock.resume()
        page.wait_for_selector("#lost", state="hidden")


def test_a_server_that_is_away_is_asked_ever_more_rarely_and_found_again(
    browser: Browser,
    app: Flask,
    house: House,
) -> None:
    with opened(browser, app, house, "/", is_clock_driven=True) as page:
        with page.expect_response("**/board/live"):
            pass
        page.evaluate(
            "window.polls = 0; window.real = fetch;"
            "window.fetch = async () => { polls++; throw new TypeError('away') }; 0"
        )
        page.clock.run_for(600_000)
        polls = page.evaluate("polls")
        assert 100 < polls < 130, "each 5 s, not each second"
        assert page.locator("#lost").is_visible()
        age = re.search(r"is (\d+) s old", page.inner_text("#age"))
        assert age is not None
        assert int(age[1]) >= 590
        page.evaluate("window.fetch = real; 0")
        page.clock.run_for(6000)
        page.clock.resume()
        page.wait_for_selector("#lost", state="hidden")


def test_when_its_log_in_has_ended_it_says_so_and_leads_back_through_the_log_in(
    browser: Browser,
    app: Flask,
    house: House,
) -> None:
    with opened(browser, app, house, "/operator/runs/1") as page:
        asked = list[str]()
        page.context.clear_cookies()
        link = page.get_by_role("link", name="Log in again")
        link.wait_for()
        page.on("request", lambda request: asked.append(request.url))
        assert "Your log-in has ended" in page.inner_text("#lost [role=alert]")
        page.wait_for_timeout(2500)  # longer than it waits between two polls
        assert asked == []
        link.click()
        page.wait_for_url("**/operator/login?next=/operator/runs/1")


def test_a_server_of_a_new_version_gives_a_new_page_unless_somebody_types(
    browser: Browser,
    app: Flask,
    house: House,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with opened(browser, app, house, "/operator/") as page:
        page.wait_for_selector(".chart canvas", state="attached")
        with page.expect_event("load"):
            monkeypatch.setattr(html_pages, "page_version", lambda: "newer")
        # Loaded again it still is another one, as where two servers answer in turn: that is said, not tried for ever.
        page.get_by_role("link", name="Load it again").wait_for()
        monkeypatch.undo()
        page.evaluate("sessionStorage.clear()")
        page.reload()
        page.locator("button[data-path]:visible").first.click()
        page.wait_for_selector("dialog[open]")
        monkeypatch.setattr(html_pages, "page_version", lambda: "newest")
        page.get_by_role("link", name="Load it again").wait_for(state="attached")
        assert page.locator("dialog[open]").count() == 1
