"""The public pages of heats: the race while it runs, the result, the standings, and what a freeze leaves of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from flask.testing import FlaskClient

from referee.clock import Clock
from referee.judging.board_publisher import Publisher
from referee.judging.judge import judge
from referee.judging.replay_publisher import ReplayPublisher
from referee.store.records import Heat, Provisional, Released, RunState
from referee.web.app import create_app
from referee.web.published_board import LOOK_S
from tests.browser import assert_accessible, browser, visit
from tests.referee.factories import START, TEAM, House, reading
from tests.referee.judging.judged_runs import closed_run, opened_run
from tests.referee.web.served_app import served_app

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]
Build = Callable[..., House]
HOSTILE = "<script>alert('1')</script>"
LONG = "a heat with a name / of sixty characters, as long as it may"
WIDE = "w" * 60
SIZES = ((360, 740), (768, 1024), (1440, 900), (1920, 1080))


class SetClock(Clock):
    """A clock that stands at a time until a test moves it."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def utc(self) -> datetime:
        return self.now

    def monotonic_s(self) -> float:
        return self.now.timestamp()


@pytest.fixture
def clock() -> SetClock:
    return SetClock(START)


def opened_pair(house: House, heat: str, *teams: str, round_: int | None = 1) -> None:
    utc = START.isoformat()
    house.store.heats.put(Heat(heat, utc, "jo", round_))
    for number, team in enumerate(teams):
        station = f"{heat[:9]} {number}"
        opened_run(house.contest, team, number, heat=heat, station=station)


def run_on(house: House, clock: SetClock, seconds: float, score: float) -> None:
    """Let open runs go on: a reading and a release for each, then a publication."""
    clock.now = START + timedelta(seconds=seconds)
    utc = clock.now.isoformat()
    for run in house.store.runs.find(RunState.OPEN):
        energy_wh = seconds / 100 * (1 + 0.3 * (run.id % 2))
        reached = score * (1 + 0.5 * (run.id % 2))
        found = reading(seconds, power_w=36.0 + run.id, energy_wh=energy_wh)
        house.store.readings.append(run.id, 0.0, [found])
        figures = (round(reached / 10, 2), energy_wh, round(reached, 2), 30)
        house.store.provisional.set(Provisional(run.id, utc, *figures))
        house.store.provisional.release(Released(run.id, utc, utc, *figures))
    publish(house, clock)


def publish(house: House, clock: SetClock) -> None:
    publisher = Publisher(house.contest, clock)
    publisher.tick()
    clock.now += timedelta(seconds=LOOK_S)


def judged_pair(house: House, heat: str, *teams: str, round_: int | None = 1) -> None:
    house.store.heats.put(Heat(heat, START.isoformat(), "jo", round_))
    for number, team in enumerate(teams):
        run = closed_run(house.contest, team, 1.0 + number, heat=heat)
        judge(house.contest, run.id, Clock())


@pytest.fixture
def made(build: Build, clock: SetClock) -> House:
    house = build(public_score=True, heats="knock-out")
    judged_pair(house, "one", HOSTILE, "voles")
    opened_pair(house, LONG, TEAM, WIDE)
    for seconds in (65.0, 95.0, 125.0):
        run_on(house, clock, seconds, 0.1 + seconds / 1000)
    return house


@pytest.fixture
def client(made: House, clock: SetClock) -> FlaskClient:
    return create_app(made.contest, made.control, clock).test_client()


def text(client: FlaskClient, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


def heats_of(client: FlaskClient) -> dict[str, Any]:
    board = client.get("/board.json").get_json()
    return {heat["name"]: heat for heat in board["heats"]}


def test_page_and_changing_part_tell_the_same_and_names_are_escaped(
    client: FlaskClient,
) -> None:
    for page, live in (
        ("/heats", "/live/heats"),
        ("/heats/one", "/live/heats/one"),
        (f"/heats/{LONG}", f"/live/heats/{LONG}"),
    ):
        part = text(client, live)
        assert part in text(client, page)
        assert HOSTILE not in part
        etag = client.get(live).headers["ETag"]
        assert client.get(live, headers={"If-None-Match": etag}).status_code == 304
    assert "&lt;script&gt;" in text(client, "/live/heats")


def test_a_heat_of_any_name_is_reached_by_the_link_to_it(
    build: Build,
    clock: SetClock,
) -> None:
    house = build()
    names = ("100 % é <b>?a=1#x&y", "Heat 7", "slash/", "a//b")
    for name in names:
        judged_pair(house, name, f"{name[:9]} one", f"{name[:9]} other")
    publish(house, clock)
    client = create_app(house.contest, house.control, clock).test_client()
    links = re.findall(r'href="(/heats/[^"]+)"', text(client, "/live/heats"))
    assert len(links) == len(names)
    for link in links:
        live = re.findall(r'data-live="([^"]+)"', text(client, link))
        assert text(client, live[0]) in text(client, link)
    assert "Heat Heat" not in text(client, "/heats")


def test_an_unknown_heat_is_not_found(client: FlaskClient) -> None:
    for path in ("/heats/none", "/live/heats/none"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert answer.get_json()["code"] == "heat-unknown"


def test_the_course_of_a_race_grows_with_each_release_and_ends_with_the_judgement(
    made: House,
    client: FlaskClient,
    clock: SetClock,
) -> None:
    first, second = heats_of(client)[LONG]["sides"]
    assert first["course"]["elapsed_s"] == [65.0, 95.0, 125.0]
    assert first["course"]["score"] == sorted(first["course"]["score"])
    assert second["course"]["energy_wh"] != first["course"]["energy_wh"]
    live = text(client, f"/live/heats/{LONG}")
    for chart in ("Score over time", "Score over energy", "Power over time"):
        assert chart in live
    over = (RunState.OPEN,)
    for run in made.store.runs.find(RunState.OPEN):
        changes = {"elapsed_s": 300.0, "energy_wh": 3.0 + run.id, "closed_by": "logout"}
        made.store.runs.change(run.id, over, state="closed", **changes)
        judge(made.contest, run.id, clock)
    publish(made, clock)
    heat = heats_of(client)[LONG]
    assert heat["outcome"] == "won"
    assert [side["course"]["elapsed_s"][-1] for side in heat["sides"]] == [300.0, 300.0]
    assert f"<strong>{heat['winner']}</strong> wins" in text(
        client, f"/live/heats/{LONG}"
    )


def test_a_decided_heat_leads_to_the_replay_of_its_runs_also_where_a_team_has_a_better_one(
    build: Build,
    clock: SetClock,
) -> None:
    house = build(public_score=True)
    judged_pair(house, "first", TEAM, "voles")
    better = closed_run(house.contest, TEAM, 0.5, seed=7)
    judge(house.contest, better.id, Clock())
    judged_pair(house, "second", "stoats", "otters")
    opened_pair(house, "third", "moles", "shrews")
    publish(house, clock)
    client = create_app(house.contest, house.control, clock).test_client()
    assert 'href="/replay/1/2"' in text(client, "/heats/first")
    assert 'href="/replay/4/5"' in text(client, "/live/heats/second")
    assert "/replay/" not in text(client, "/live/heats/third"), "it is not over"

    assert client.get("/replay/1/2").status_code == 404, "made within a minute"
    for _ in house.store.runs.find():
        ReplayPublisher(house.contest, clock).tick()
    for path in ("/replay/1/2", "/replay/4/5", f"/replay/{better.id}"):
        assert client.get(path).status_code == 200
    shown = client.get("/replay/1/course.json").get_json()["final"]
    side = heats_of(client)["first"]["sides"][0]
    assert (shown["map"], shown["score"]) == (side["map"], side["score"])
    first = client.get("/replay/runs.json").get_json()["items"][0]
    paths = [one["src"] for one in first]
    assert paths == ["/replay/4/course.json", "/replay/5/course.json"], (
        "the newest heat"
    )


def test_without_public_score_a_race_shows_power_alone(
    build: Build,
    clock: SetClock,
) -> None:
    house = build()
    opened_pair(house, "final", TEAM, "voles")
    for seconds in (65.0, 95.0):
        run_on(house, clock, seconds, 0.2)
    client = create_app(house.contest, house.control, clock).test_client()
    live = text(client, "/live/heats/final")
    assert "Power over time" in live
    assert "Score" not in live
    assert "Energy" not in live
    for side in heats_of(client)["final"]["sides"]:
        assert side["course"] == {"elapsed_s": [], "energy_wh": [], "score": []}
        assert side["score"] is None


def test_a_freeze_keeps_decided_heats_and_hides_what_is_newer(
    made: House,
    client: FlaskClient,
    clock: SetClock,
) -> None:
    made.store.published.freeze(clock.utc(), "")
    run_on(made, clock, 155.0, 0.9)
    live = text(client, f"/live/heats/{LONG}")
    assert "Running" in live
    for word in ("Score", "Power", "Energy", "race-chart"):
        assert word not in live
    for run in made.store.runs.find(RunState.OPEN):
        changes = {"elapsed_s": 300.0, "energy_wh": 3.0}
        made.store.runs.change(run.id, (RunState.OPEN,), state="closed", **changes)
        judge(made.contest, run.id, clock)
    judged_pair(made, "newer", "stoats", "otters", round_=2)
    publish(made, clock)
    live = text(client, f"/live/heats/{LONG}")
    assert "the result is shown once it is unveiled" in live
    assert "wins" not in live
    assert client.get("/heats/newer").status_code == 404
    standings = text(client, "/live/heats")
    assert "newer" not in standings
    assert "stoats" not in standings
    assert f"won by {HOSTILE}".replace("<", "&lt;")[:12] in standings
    assert "wins" in text(client, "/live/heats/one")


def test_a_heat_made_during_a_freeze_shows_who_runs_and_nothing_else(
    made: House,
    client: FlaskClient,
    clock: SetClock,
) -> None:
    made.store.published.freeze(clock.utc(), "")
    opened_pair(made, "newer", "stoats", "otters")
    run_on(made, clock, 185.0, 0.9)
    live = text(client, "/live/heats/newer")
    assert "stoats" in live
    assert "Running" in live
    assert "run 5" not in live, "how many runs came before is a result"
    assert "Score" not in live
    assert "newer" in text(client, "/live/heats")


def test_a_round_robin_shows_its_table_and_what_is_left_to_play(
    build: Build,
    clock: SetClock,
) -> None:
    house = build(heats="round-robin")
    judged_pair(house, "one", TEAM, "voles")
    publish(house, clock)
    client = create_app(house.contest, house.control, clock).test_client()
    live = text(client, "/live/heats")
    assert "1 of 3 meetings are played." in live
    assert "2 meetings to play" in live


def test_a_knock_out_without_a_round_says_so(build: Build, clock: SetClock) -> None:
    house = build(heats="knock-out")
    judged_pair(house, "one", TEAM, "voles", round_=None)
    publish(house, clock)
    client = create_app(house.contest, house.control, clock).test_client()
    live = text(client, "/live/heats")
    assert "a heat without a round does not count here" in live
    judged_pair(house, "two", TEAM, "voles")
    publish(house, clock)
    assert "does not count here" not in text(client, "/live/heats")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_heats_are_accessible_and_whole_at_every_size(
    made: House,
    clock: SetClock,
    browser: Browser,
    scheme: str,
) -> None:
    app = create_app(made.contest, made.control, clock)
    with served_app(app) as url:
        for path in ("/heats", "/heats/one", f"/heats/{LONG}"):
            with visit(browser, url + path, color_scheme=scheme) as page:
                for width, height in SIZES:
                    page.set_viewport_size({"width": width, "height": height})
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    assert wide <= width, (path, width)
                    assert_accessible(page)
        with visit(browser, f"{url}/heats/{LONG}", color_scheme=scheme) as page:
            page.locator(".race-chart canvas").nth(2).wait_for()


LARGE = """() => [...document.querySelectorAll(".side h2, .clock, .main-figure dd, .points strong")]
  .map(one => parseFloat(getComputedStyle(one).fontSize))"""
WITHIN = """() => [...document.querySelectorAll("main > *, .side, .race-chart")].every(one => {
  const box = one.getBoundingClientRect();
  return box.bottom <= innerHeight + 1 && box.right <= innerWidth + 1 && box.top >= 0;
})"""


def test_on_a_projector_a_race_fills_the_screen_and_is_read_from_afar(
    made: House,
    clock: SetClock,
    browser: Browser,
) -> None:
    app = create_app(made.contest, made.control, clock)
    with served_app(app) as url:
        for path in ("/heats/one", f"/heats/{LONG}"):
            address = f"{url}{path}?view=projector"
            with visit(browser, address, size=(1920, 1080)) as page:
                page.locator(".side").nth(1).wait_for()
                assert min(page.evaluate(LARGE)) >= 60
                assert page.evaluate(WITHIN), path
                assert_accessible(page)


NAMES = """() => [...document.querySelectorAll(".heat-row li")].map(one => ({
  size: parseFloat(getComputedStyle(one).fontSize), bottom: one.getBoundingClientRect().bottom}))"""


def test_on_a_projector_the_first_round_of_sixteen_teams_is_read_whole(
    build: Build,
    clock: SetClock,
    browser: Browser,
) -> None:
    house = build(heats="knock-out")
    for number in range(8):
        teams = (f"Low-Power Laboratory {number}", f"Measured many, team {number}")
        judged_pair(house, f"{number}", *teams)
    publish(house, clock)
    app = create_app(house.contest, house.control, clock)
    with served_app(app) as url:
        address = f"{url}/heats?view=projector"
        with visit(browser, address, size=(1920, 1080)) as page:
            names = page.evaluate(NAMES)
            assert len(names) == 16
            assert min(one["size"] for one in names) >= 60
            assert max(one["bottom"] for one in names) <= 1080
            assert_accessible(page)
