"""The public page of a team: its attempts as published, at an address that works for any name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from flask.testing import FlaskClient

from lpirc_testsets import TestSet
from referee.clock import Clock
from referee.contest import Contest, create_contest, open_contest
from referee.judging.board_publisher import Publisher
from referee.judging.judge import judge
from referee.judging.released_figures import published_figures
from referee.judging.standings import standings
from referee.pages.team_address import team_address
from referee.runs.run_control import RunControl
from referee.store.records import RunState
from referee.web.app import create_app
from referee.web.public.public_team import HEIGHT, WIDTH, course
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import HASH, Day, problem, until
from tests.referee.factories import START, TEAM, config_text
from tests.referee.judging.judged_runs import closed_run, opened_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]
NAMES = (
    "a/b",
    "/leads",
    "trails/",
    "//",
    "a//b",
    ".",
    "..",
    "../..",
    "a/../b",
    "%2F",
    "a?b#c&d=e",
    "a\\b",
    "\U0001f980 crabs \U0001f468\U0001f3fd",
    "name=x",
    "live",
    "x" * 200,
    "<script>alert(1)</script>",
    "quo\"te's",
    " spaced ",
    "naïve ünï",
)
HIDDEN_BESIDE = """() => [...document.querySelectorAll(".scroll")]
  .filter(one => one.scrollWidth > one.clientWidth).map(one => one.ariaLabel)"""
LINK = re.compile(r'<a class="name" href="([^"]*)">(.*?)</a>')


@pytest.fixture
def contest(tmp_path: Path, small_set: TestSet) -> Iterator[Contest]:
    create_contest(tmp_path / "contest", config_text(small_set))
    with open_contest(tmp_path / "contest") as opened:
        yield opened


@pytest.fixture
def client(contest: Contest) -> Iterator[FlaskClient]:
    clock = Clock()
    control = RunControl(contest, clock)
    yield create_app(contest, control, clock).test_client()
    control.shutdown()


def page_of(client: FlaskClient, team: str, part: str = "") -> str:
    address = team_address(team)
    if part:
        address += f"{'&' if '?' in address else '?'}part={part}"
    answer = client.get(address)
    assert answer.status_code == 200, (team, answer.text)
    return answer.text


def test_every_name_has_a_page_over_http_which_the_board_links(
    day: Callable[..., Day],
) -> None:
    made = day(teams=NAMES)
    assert made.server is not None
    server = made.server
    until(lambda: len(server.ask("GET", "/board.json").json()["teams"]) == len(NAMES))
    board = server.ask("GET", "/board/live").text
    linked = {
        unescape(text): unescape(address) for address, text in LINK.findall(board)
    }
    assert linked.keys() == set(NAMES)
    for name in NAMES:
        page = server.raw(
            f"GET {linked[name]} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()
        ).decode()
        assert page.startswith("HTTP/1.1 200"), (name, page[:300])
        found = re.search(r'<h1 class="name">(.*?)</h1>', page)
        assert found is not None
        assert unescape(found[1]) == name
        follow = re.search(r'data-live="([^"]*)"', page)
        assert follow is not None
        live = server.raw(
            f"GET {unescape(follow[1])} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()
        ).decode()
        assert unescape(live.partition('<h1 class="name">')[2]).startswith(name)
        assert "<!doctype" not in live
    for unknown in ("/teams/nobody", "/teams/", "/teams/?name=nobody"):
        told = problem(server.ask("GET", unknown), 404, "team-unknown")["detail"]
        assert told.endswith((" The board, /, leads to each.", " leads to each team."))


def test_the_figures_of_all_attempts_are_those_of_the_standings(
    contest: Contest,
    client: FlaskClient,
) -> None:
    store = contest.store
    for team in (TEAM, "voles"):
        store.teams.add(team, HASH, START, "Brook & Sons")
    runs = [closed_run(contest, TEAM, 1.0 + seed, seed) for seed in range(3)]
    for run in runs[:2]:
        judge(contest, run.id, Clock())
    in_review = closed_run(contest, TEAM, 0.3, odd=True)
    judge(contest, in_review.id, Clock())
    void = closed_run(contest, TEAM, 0.2)
    store.runs.change(
        void.id, (RunState.CLOSED,), state="void", void_reason="secret why"
    )
    opened_run(contest, TEAM, station="two")
    Publisher(contest, Clock()).tick()
    document = json.loads(client.get("/board.json").text)
    attempts = document["teams"][TEAM]["attempts"]
    assert [one["run"] for one in attempts] == [
        *(run.id for run in runs),
        in_review.id,
        void.id,
    ]
    known = {one.run: one for one in standings(contest).attempts}
    for one in attempts[:2] + attempts[3:4]:
        published = published_figures(asdict(known[one["run"]]))
        for name in ("score", "map", "energy_wh", "score_low", "score_high"):
            assert one[name] == published[name]
    assert [one["state"] for one in attempts] == [
        "judged",
        "judged",
        "closed",
        "judged",
        "void",
    ]
    assert "score" not in attempts[2]
    assert [one.get("rank") for one in attempts].count(1) == 1
    assert "in review" in attempts[3]["not_ranked"]
    page = page_of(client, TEAM)
    for one in attempts[:2]:
        assert f"{one['score']:.4f}" in page
    assert "Brook &amp; Sons" in page
    assert page.count("<circle") == 3
    assert page.count('class="out"') == 1
    assert "secret why" not in page + json.dumps(document)
    assert "No attempt yet." in page_of(client, "voles")


def test_a_page_is_frozen_with_the_results_and_renewed_with_them(
    contest: Contest,
    client: FlaskClient,
) -> None:
    contest.store.teams.add(TEAM, HASH, START)
    judge(contest, closed_run(contest, TEAM, 1.0).id, Clock())
    publisher = Publisher(contest, Clock())
    publisher.tick()
    contest.store.published.freeze(Clock().utc(), "")
    frozen = page_of(client, TEAM, "live")
    judge(contest, closed_run(contest, TEAM, 0.5).id, Clock())
    publisher.tick()
    until(lambda: "as it was at the freeze" in page_of(client, TEAM, "live"))
    now = page_of(client, TEAM, "live")
    assert now.count("<tr id=") == frozen.count("<tr id=") == 1


def test_the_picture_has_every_score_within_its_frame() -> None:
    assert course([]) == []
    times = [(START + timedelta(minutes=one)).isoformat() for one in (0, 7, 60)]
    attempts = [
        {"run": run, "utc": utc, "score": score}
        for run, utc, score in zip((1, 2, 3), times, (0.0, 0.5, 0.25), strict=True)
    ]
    points = course([*attempts, {"run": 4, "utc": times[0]}])
    assert [one.run for one in points] == [1, 2, 3]
    assert all(0 < one.x < WIDTH and 0 < one.y < HEIGHT for one in points)
    assert points[1].y < points[2].y < points[0].y
    (alone,) = course(attempts[:1])
    assert 0 < alone.x < WIDTH


def test_the_page_is_accessible_and_whole_at_every_size(
    day: Callable[..., Day],
    browser: Browser,
) -> None:
    made = day(served=False, teams=("x" * 200,))
    with open_contest(made.folder) as contest:
        for energy_wh in (1.0, 0.7):
            run = closed_run(contest, "x" * 200, energy_wh, odd=energy_wh < 1)
            judge(contest, run.id, Clock())
    server = made.serve()
    # Before the board is published, no team is known.
    until(lambda: server.ask("GET", "/board.json").json()["teams"])
    with visit(browser, server.url + team_address("x" * 200)) as page:
        page.wait_for_selector("circle")
        for width, height in ((360, 740), (768, 1024), (1440, 900), (1920, 1080)):
            page.set_viewport_size({"width": width, "height": height})
            assert page.evaluate("document.body.scrollWidth") <= width
            assert page.evaluate(HIDDEN_BESIDE) == []
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                assert_accessible(page)
