"""What a guest reads on board, projector, heats and the published site, who knows nothing of the contest."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from typing import TYPE_CHECKING

import pytest
from flask.testing import FlaskClient

from lpirc_power.meter_standing import Standing
from referee.clock import Clock
from referee.judging.board_publisher import Publisher
from referee.judging.judge import judge
from referee.publishing.site_publication import publish_site
from referee.store.records import Heat
from referee.web.app import create_app
from tests.browser import assert_accessible, browser, visit
from tests.referee.factories import START, House, reading
from tests.referee.judging.judged_runs import armed_run, closed_run, opened_run
from tests.referee.web.public.test_heat_pages import SetClock, publish
from tests.referee.web.public.test_small_screens import MEETS
from tests.referee.web.served_app import served_app

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

__all__ = ["browser"]
Build = Callable[..., House]
LONG = "Zeta-long-name-team"
BROWSER = {"Accept": "text/html"}
AXES = """() => [...document.querySelectorAll("[data-one-scale] .chart")].map(one => {
  const {x, y} = charts.get(one).plot.scales;
  return [x.max, y.max];
})"""
REACH = """() => {
  const lowest = Math.max(...[...document.querySelectorAll("main *")].map(one => one.getBoundingClientRect().bottom));
  return lowest / innerHeight;
}"""
APART = """() => [...document.querySelectorAll(".marks, .notes")].flatMap(one => {
  const marks = [...one.querySelectorAll(".mark")].map(mark => mark.getBoundingClientRect());
  return marks.slice(1).map((mark, at) => mark.top >= marks[at].bottom ? 99 : mark.left - marks[at].right);
})"""


@pytest.fixture
def clock() -> SetClock:
    return SetClock(START)


@pytest.fixture
def house(build: Build) -> House:
    return build()


def ranked(house: House, *teams: str, heat: str | None = None) -> None:
    if heat is not None:
        house.store.heats.put(Heat(heat, START.isoformat(), "jo", None))
    for number, team in enumerate(teams):
        marks = {
            "meter_standing": Standing.SIMULATED,
            "extra_s": 60.0,
            "window_s": 660.0,
        }
        run = closed_run(house.contest, team, 1 + number / 9, heat=heat, **marks)
        judge(house.contest, run.id, Clock())


def running(house: House, *teams: str, heat: str | None = None) -> None:
    for number, team in enumerate(teams):
        station = f"station-{number}"
        run = opened_run(house.contest, team, heat=heat, station=station)
        for at_s in range(62, 90 + 20 * number):
            power_w = 40.0 + 30 * number
            found = reading(float(at_s), power_w=power_w, energy_wh=at_s / 100)
            house.store.readings.append(run.id, 0.0, [found])


def text(client: FlaskClient, path: str) -> str:
    answer = client.get(path, headers=BROWSER)
    assert answer.status_code == 200, answer.text
    return " ".join(unescape(re.sub("<[^>]*>", " ", answer.text)).split())


@pytest.fixture
def client(house: House, clock: SetClock) -> FlaskClient:
    return create_app(house.contest, house.control, clock).test_client()


def test_the_legend_has_only_terms_that_occur(
    house: House,
    clock: SetClock,
    client: FlaskClient,
) -> None:
    publish(house, clock)
    nothing = text(client, "/board/live")
    assert "95 % interval" not in nothing
    assert "unofficial meter" not in nothing
    ranked(house, "ant", "bee")
    publish(house, clock)
    some = text(client, "/board/live")
    assert "unofficial meter its energy was simulated" in some
    assert "extra time granted" in some
    assert "images seen before" not in some
    assert "measured otherwise" not in some


def test_a_board_before_a_heat_says_what_starts_its_clock(
    house: House,
    clock: SetClock,
    client: FlaskClient,
) -> None:
    armed_run(house.contest, "ant", heat="one")
    publish(house, clock)
    for path in ("/board/live", "/heats/one"):
        assert "The clock starts for all at once, at the start signal." in text(
            client, path
        )
    assert "log-in" not in text(client, "/board/live")


def test_a_prize_with_a_condition_is_open_while_two_teams_are_ranked_and_says_its_bar_from_three_on(
    house: House,
    clock: SetClock,
    client: FlaskClient,
) -> None:
    ranked(house, "ant", "bee")
    publish(house, clock)
    two = text(client, "/board/live")
    assert "Least energy Open The least energy of the teams with an mAP" in two
    assert "Named once three teams are ranked" in two
    ranked(house, "cat")
    publish(house, clock)
    three = text(client, "/board/live")
    assert "Named once" not in three
    assert re.search(r"with an mAP of \d\.\d+ or more: one standard deviation", three)


def test_the_board_leads_to_a_team_s_page_and_has_the_results_of_the_heats(
    house: House,
    clock: SetClock,
    client: FlaskClient,
) -> None:
    ranked(house, "ant", "bee", heat="one")
    publish(house, clock)
    assert 'href="/team/"' in client.get("/", headers=BROWSER).text
    assert "Heat one won by ant, 2 : 0" in text(client, "/board/live")


def test_a_decided_heat_keeps_its_power_and_says_what_points_are(
    house: House,
    clock: SetClock,
    client: FlaskClient,
) -> None:
    ranked(house, "ant", "bee", heat="one")
    publish(house, clock)
    shown = text(client, "/heats/one")
    assert "Power over time" in shown
    assert "Points: 2 for the higher score, 1 each for a tie." in shown
    assert house.contest.config.name in shown
    side = client.get("/board.json").get_json()["heats"][0]["sides"][0]
    assert side["power"]["power_w"]


def test_public_replays_never_promise_images_that_the_contest_keeps_secret(
    house: House,
) -> None:
    from referee.judging.freeze import Freeze
    from referee.judging.replay_release import NO_END, NOT_NOW, why_hidden

    ranked(house, "ant")
    Publisher(house.contest, Clock()).tick()
    freeze = Freeze(house.store.published.get())
    assert why_hidden(None, freeze, START) == NO_END
    later = START + timedelta(days=2)
    said = why_hidden(later, freeze, START)
    assert said is not None
    assert "before 2026-05-06 09:00 UTC" in said
    assert why_hidden(START, freeze, later) is None
    assert why_hidden(START, Freeze(None), later) == NOT_NOW


def test_marks_stand_beside_each_other_on_a_phone(
    house: House,
    clock: SetClock,
    client: FlaskClient,
    browser: Browser,
) -> None:
    ranked(house, LONG, "Delta")
    publish(house, clock)
    with (
        served_app(client.application) as url,
        visit(browser, url, size=(360, 740)) as page,
    ):
        page.locator(".mark").nth(3).wait_for()
        assert page.evaluate(MEETS) == []
        assert min(page.evaluate(APART)) >= 2
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_two_who_run_are_compared_on_one_scale_and_the_projector_is_full(
    house: House,
    clock: SetClock,
    client: FlaskClient,
    browser: Browser,
) -> None:
    ranked(house, LONG, "Delta")
    judge(house.contest, closed_run(house.contest, "Otter").id, Clock())
    running(house, "Gamma", "Alpha", heat="final")
    clock.now = START + timedelta(seconds=110)
    publish(house, clock)
    with served_app(client.application) as url:
        for path in ("/", "/?view=projector"):
            with visit(browser, url + path, size=(1920, 1080)) as page:
                page.locator(".chart canvas").nth(1).wait_for()
                one, other = page.evaluate(AXES)
                assert one == other
                assert one[0] > 80
                shown = page.locator("main").inner_text()
                assert "5 of 5" in shown
                if path != "/":
                    assert (
                        page.locator(".runs dt")
                        .first.inner_text()
                        .startswith("Time left")
                    )
                    assert "more is better" in shown
                    assert page.evaluate(REACH) > 0.9
                    assert min(page.evaluate(APART)) >= 2
                assert_accessible(page)


def test_a_final_site_says_so_and_a_phone_shows_score_and_team_without_scrolling(
    house: House,
    clock: SetClock,
    browser: Browser,
    tmp_path: Path,
) -> None:
    from tests.referee.publishing.test_site import web_server

    ranked(house, LONG, "Delta", heat="one")
    publish(house, clock)
    publish_site(house.contest, tmp_path / "site", clock.now, final=True)
    with (
        web_server(tmp_path / "site") as url,
        visit(browser, url + "index.html", size=(360, 740)) as page,
    ):
        shown = page.locator("main").inner_text()
        assert shown.partition("Final")[1]
        assert "Live" not in shown
        for words in ("Held on", "Heats", "won by", "unofficial meter its energy"):
            assert words in " ".join(shown.split()), words
        for box in page.locator(".score").all():
            place = box.bounding_box()
            assert place is not None
            assert place["x"] + place["width"] <= 360
        inner = "[...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth).length"
        assert page.evaluate(inner) == 0
        assert min(page.evaluate(APART)) >= 2
        assert_accessible(page)
