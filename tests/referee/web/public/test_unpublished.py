"""What the jury has not published cannot leak: contests whose judgements differ answer alike, whoever asks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lpirc_power.energy import Check
from lpirc_testsets import TestSet
from referee.contest import Contest, create_contest, open_contest
from referee.judging.jury_decisions import NOT_PUBLISHED, Seen, confirm, publish
from referee.report.run_page import report_page
from referee.season.season_pins import Pins
from referee.season.season_runs import read_season
from referee.store.records import Provisional, Released, Review, RunState, Score
from referee.web.team.team_access import TEAM_COOKIE
from tests.contest_day import HASH
from tests.referee.factories import START, TEAM, config_text
from tests.referee.judging.judged_runs import closed_run
from tests.referee.web.public.test_freeze import OTHERS, Side, SteppedClock, served

FAILED = Check(
    "integrator-time",
    ok=False,
    severity="error",
    sentence="It differs.",
    figures={},
)
LATER = START.replace(minute=5)


@pytest.fixture
def sides(tmp_path: Path, small_set: TestSet) -> Iterator[tuple[Side, Side]]:
    """Two contests that were the same until their runs were judged."""
    clock = SteppedClock()
    text = config_text(small_set, teams_see_score=True, public_score=True, publish_by=2)
    create_contest(tmp_path / "one", text)
    with open_contest(tmp_path / "one") as contest:
        store = contest.store
        store.teams.add(TEAM, HASH, START)
        for team in (*OTHERS, TEAM):
            run = closed_run(contest, team, nonce="a" if team == TEAM else "")
            utc = START.isoformat()
            store.provisional.set(Provisional(run.id, utc, 0.4, 0.5, 0.8, 30))
            store.provisional.release(Released(run.id, utc, utc, 0.4, 0.5, 0.8, 30))
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    with ExitStack() as stack:
        first = served(stack, tmp_path / "one", clock)
        second = served(stack, tmp_path / "other", clock)
        for side in (first, second):
            _judge_all(side.contest, 0.1 if side is first else 0.9)
        yield first, second


def _judge_all(contest: Contest, reached: float) -> None:
    """Judge every run; the better ones fail a check, and a review lets them stand."""
    checks = (FAILED,) if reached > 0.5 else ()
    for run in contest.store.runs.find():
        assert run.energy_wh is not None
        judged = Score(
            run=run.id,
            judged_utc=START.isoformat(),
            map=reached,
            energy_wh=run.energy_wh,
            score=reached / run.energy_wh,
            mean_power_w=9.0,
            images=run.images,
            detections=17,
            ap={1: reached},
            signature=f"lpirc|gt:{run.testset_digest[:12]}|rules:9",
            checks=checks,
        )
        contest.store.scores.add(judged, RunState.CLOSED)
        if checks:
            review = Review("jo", "It stands.", START.isoformat(), (FAILED.code,))
            contest.store.reviews.add(run.id, review)


def _publish(contest: Contest, number: int) -> None:
    review = contest.store.reviews.latest().get(number)
    seen = Seen(START.isoformat(), None if review is None else review.utc)
    confirm(contest, number, seen, "Eva", LATER)
    publish(contest, number, seen, "Max", LATER)


def _ticked(*sides: Side) -> None:
    for side in sides:
        side.publisher.tick()
    sides[0].publisher._clock.seconds += 1.0  # type: ignore[attr-defined]  # noqa: SLF001 - it is ours


def test_no_route_tells_anyone_but_operators_how_an_unpublished_run_was_judged(
    sides: tuple[Side, Side],
) -> None:
    first, second = sides
    _ticked(*sides)
    expected = first.answers()
    found = second.answers()
    assert [key for key in expected if expected[key] != found[key]] == []
    board = json.loads(found["GET", "/board.json", "public"][2])
    assert (board["ranking"], board["unranked"]) == ([], [])
    assert {one["why"] for one in board["left_out"]} == {NOT_PUBLISHED}
    session = json.loads(found["GET", "/v1/session", "team"][2])
    assert session["phase"] == "closed"
    assert session["provisional"]["map"] == 0.4, "as released before it was judged"
    (own,) = json.loads(found["GET", "/v1/team", "page"][2])["runs"]
    assert (own["state"], own["result"]) == ("closed", None)
    path = f"/team/runs/{own['run']}/report"
    cookie = {"Cookie": f"{TEAM_COOKIE}={first.cookie}"}
    refused = first.client.get(path, headers=cookie)
    assert refused.json is not None
    assert refused.json["code"] == "run-state"


def test_once_published_a_run_is_seen_on_the_board_and_by_its_team(
    sides: tuple[Side, Side],
) -> None:
    side = sides[1]
    (mine,) = side.contest.store.runs.find(team=TEAM)
    _publish(side.contest, mine.id)
    _ticked(*sides)
    found = side.answers()
    board = json.loads(found["GET", "/board.json", "public"][2])
    shown = [*board["ranking"], *board["unranked"]] + [
        one for one in board["left_out"] if one["why"] != NOT_PUBLISHED
    ]
    assert [one["run"] for one in shown] == [mine.id]
    session = json.loads(found["GET", "/v1/session", "team"][2])
    assert (session["phase"], session["provisional"]["map"]) == ("judged", 0.9)
    (own,) = json.loads(found["GET", "/v1/team", "page"][2])["runs"]
    assert own["state"] == "judged"
    assert own["result"] == board["teams"][TEAM]["attempts"][0]


def test_the_unveiled_board_has_only_published_runs(sides: tuple[Side, Side]) -> None:
    side = sides[1]
    _ticked(*sides)
    key = {"Authorization": f"Bearer {side.contest.operator_key}"}
    assert side.client.post("/operator/board/freeze", headers=key).status_code == 200
    body = {"places": "all"}
    side.client.post("/operator/board/unveil", headers=key, json=body)
    board = side.client.get("/board.json").json
    assert board is not None
    assert (board["ranking"], board["prizes"]) != ([], None)
    assert "0.9" not in side.client.get("/board.json").text
    row = side.contest.store.published.get()
    assert row is not None
    assert json.loads(row.document)["ranking"] == []


def test_neither_report_nor_season_shows_others_the_figures_of_unpublished_runs(
    sides: tuple[Side, Side],
    tmp_path: Path,
) -> None:
    contest = sides[1].contest
    numbers = [run.id for run in contest.store.runs.find()]
    _publish(contest, numbers[0])
    runs, problems = read_season([contest.folder], LATER, Pins({}))
    assert [one.run.id for one in runs] == numbers[:1]
    for number in numbers[1:]:
        told = f"{contest.folder}: run {number} is left out: {NOT_PUBLISHED}."
        assert told in problems
    page = report_page(contest, contest.store.runs.get(numbers[1]))
    assert f"For operators only: {NOT_PUBLISHED}" in page
    assert "For operators only" not in report_page(
        contest, contest.store.runs.get(numbers[0])
    )
