"""The operators' page of a heat: the whole race from a real server, for operators only."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import requests

from referee.contest import read_secrets
from referee.store.records import RunState
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import TEAM, Day, until
from tests.referee.web.operator.test_heat_dialog import enter
from tests.referee.web.two_stations import OTHER_TEAM, two_stations

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]


def key(day: Day) -> str:
    return read_secrets(day.folder)[1].hex()


def look(day: Day, path: str, token: str | None = None) -> requests.Response:
    assert day.server is not None
    return day.server.ask("GET", path, token, allow_redirects=False)


def started(day: Callable[..., Day]) -> Day:
    made = two_stations(day, auto_arm=False)
    sides = (f"{TEAM}@station-1", f"{OTHER_TEAM}@station-2")
    made.refers("run", "heat", "the final", *sides, "--round", "1")
    made.refers("run", "start", "the final", "--anyway")
    return made


def test_an_operator_sees_every_figure_of_the_race_and_nobody_else_does(
    day: Callable[..., Day],
    browser: Browser,
) -> None:
    made = started(day)
    server = made.server
    assert server is not None
    page_path = "/operator/heats/the final"
    assert look(made, page_path).status_code == 303
    live_path = "/operator/live/heats/the final"
    assert look(made, live_path).status_code == 401
    assert look(made, "/operator/heats/none", key(made)).status_code == 404

    made.post(made.fetched(made.login()["token"]))
    until(lambda: "Score over time" in look(made, live_path, key(made)).text)
    with visit(browser, f"{server.url}/operator/heats/the%20final") as page:
        enter(page, made)
        page.get_by_role("heading", name="Heat the final").wait_for()
        page.locator(".race-chart canvas").first.wait_for()
        page.get_by_text("2 of 6").wait_for()
        for width in (360, 768, 1440, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert_accessible(page)
    for run in made.runs(RunState.OPEN):
        made.refers("run", "close", str(run.id))
    made.refers("judge", "--all")
    text = look(made, live_path, key(made)).text
    assert "Decided" in text
    assert f"<strong>{TEAM}</strong> wins" in text or "nobody wins" in text
    public = look(made, "/heats/the final").text
    assert "run 1" in public
