"""The table of a round robin in a hall: names of 60 px, page by page, until every team has been seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from referee.clock import Clock
from referee.judging.board_publisher import Publisher
from referee.judging.judge import judge
from referee.store.records import Heat
from referee.web.app import create_app
from tests.browser import browser, visit
from tests.referee.factories import START, House, StillClock
from tests.referee.judging.judged_runs import closed_run
from tests.referee.web.served_app import served_app

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]
TEAMS = 16
LEAST_PIXELS = 60  # of 1080
ROWS = """() => [...document.querySelectorAll("tbody tr:not([hidden])")].map(row => {
  const name = row.querySelector("th"), box = row.getBoundingClientRect();
  return [name.textContent, parseFloat(getComputedStyle(name).fontSize), box.bottom <= innerHeight];
})"""


def test_every_team_of_the_table_is_seen_in_large_letters(
    build: Callable[..., House],
    browser: Browser,
) -> None:
    house = build(heats="round-robin")
    contest = house.contest
    for number in range(TEAMS // 2):
        heat = f"heat {number}"
        house.store.heats.put(Heat(heat, START.isoformat(), "jo", 1))
        for side in (0, 1):
            team = f"a team of the many, number {2 * number + side}"
            run = closed_run(contest, team, 1.0 + side, 2 * number + side, heat=heat)
            judge(contest, run.id, Clock())
    Publisher(contest, Clock()).tick()
    app = create_app(contest, house.control, StillClock(60.0))
    seen = set[str]()
    with (
        served_app(app) as url,
        visit(browser, f"{url}/heats?view=projector", size=(1920, 1080)) as page,
    ):
        page.locator("#table-page", has_text="Page ").wait_for()
        page.evaluate("() => { window.now_ms = 0; Date.now = () => window.now_ms; }")
        for turn in range(4):
            look = f"at => {{ window.now_ms = at * 10000; turnTable(); return ({ROWS})(); }}"
            for name, pixels, is_whole in page.evaluate(look, turn):
                assert pixels >= LEAST_PIXELS
                assert is_whole, name
                seen.add(name)
    ours = {name for name in seen if name.startswith("a team of the many")}
    assert len(ours) == TEAMS
