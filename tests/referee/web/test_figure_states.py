"""No page and no JSON shows a live score without what it is worth, nor one that is no longer true: over all routes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from flask.testing import FlaskClient

from lpirc_power.meter import IntegratorState
from referee.contest import Contest
from referee.judging.board_publisher import Publisher
from referee.judging.figure_state import FigureState
from referee.judging.provisional_scores import FollowedRuns
from referee.judging.released_figures import released_of
from referee.pages.figure_text import rough_text, score_text, state_text
from referee.runs.run_control import RunControl
from referee.store.records import Run
from referee.web.app import create_app
from referee.web.app_parts import part_of
from referee.web.callers import Callers
from referee.web.team_login import issue_token
from tests.referee.factories import TEAM, House, StillClock, reading
from tests.referee.judging.judged_runs import opened_run, posted
from tests.referee.web.public.test_freeze import value_of

READ_S = 60.0
LATER_S = 90.0
# Where an open run is shown; each must show its score while it is fresh, and say why not when it is not.
JSON = {
    "/board.json": "public",
    "/v1/session": "team",
    "/operator/status": "operator",
}
PAGES = {
    "/": "public",
    "/board/live": "public",
    "/operator/": "operator",
    "/operator/live": "operator",
    "/operator/runs/1": "operator",
    "/operator/runs/1/live": "operator",
}


@dataclass
class Hall:
    """A contest with one open run, whose readings end after READ_S seconds, and all that follows it."""

    contest: Contest
    clock: StillClock
    run: Run
    client: FlaskClient
    headers: dict[str, dict[str, str]]

    def look(self) -> None:
        """Let the processes of the contest see what is there now."""
        FollowedRuns(self.contest, self.clock).tick()
        Publisher(self.contest, self.clock).tick()

    def answers(self) -> Iterator[tuple[str, str, Any]]:
        """(path, who asks, answer) of every route that can be read."""
        for rule in self.client.application.url_map.iter_rules():
            if "GET" not in (rule.methods or ()) or "log_out" in rule.endpoint:
                continue
            _, path = rule.build(
                {name: value_of(rule, name) for name in rule.arguments}
            )  # type: ignore[misc]
            for who, headers in self.headers.items():
                with self.client.get(path, headers=headers) as answer:
                    answer.get_data()
                    yield path, who, answer

    def scores(self) -> set[str]:
        """The score of the run, as operators and as others have seen it, however it is written."""
        whole = self.contest.store.provisional.of_run(self.run.id)
        rough = self.contest.store.provisional.released(self.run.id)
        assert whole is not None
        assert rough is not None
        assert whole.score is not None
        assert rough.score is not None
        return {
            repr(whole.score),
            score_text(whole.score),
            f'"score": {rough.score}',
            rough_text(rough.score),
        }


@pytest.fixture
def hall(build: Callable[..., House]) -> Iterator[Hall]:
    made = build(teams_see_score=True, public_score=True)
    contest = made.contest
    clock = StillClock(READ_S)
    run = opened_run(contest, TEAM, nonce="a")
    contest.store.readings.append(run.id, 0.0, [reading(READ_S)])
    with ExitStack() as stack:
        control = RunControl(contest, clock)
        stack.callback(control.shutdown)
        app = create_app(contest, control, clock)
        token = issue_token(part_of(app, Callers), run)
        headers = {
            "public": {"Accept": "text/html,*/*"},
            "team": {"Authorization": f"Bearer {token}"},
            "operator": {
                "Authorization": f"Bearer {contest.operator_key}",
                "Accept": "text/html,*/*",
            },
        }
        found = Hall(contest, clock, run, app.test_client(), headers)
        found.look()
        yield found


def text_of(answer: Any) -> str:
    """What an answer says; of an archive what its files say, of a picture nothing that is read."""
    if answer.mimetype != "application/zip":
        return str(answer.get_data().decode(errors="replace"))
    with zipfile.ZipFile(io.BytesIO(answer.get_data())) as archive:
        files = [archive.read(name) for name in archive.namelist()]
    return "\n".join(content.decode(errors="replace") for content in files)


def stated(document: Any) -> Iterator[tuple[Any, Any]]:
    """(score, its state) of everything in a document that has a score; the state is "none" where it has no key."""
    if isinstance(document, dict):
        is_champion = "year" in document
        if isinstance(document.get("score", ""), float | None) and not is_champion:
            yield document["score"], document.get("figure_state", "none")
        for value in document.values():
            yield from stated(value)
    elif isinstance(document, list):
        for value in document:
            yield from stated(value)


def test_a_fresh_score_is_shown_with_its_state_wherever_the_run_is(hall: Hall) -> None:
    seen = set()
    for path, who, answer in hall.answers():
        if answer.is_json:
            found = [
                (score, state)
                for score, state in stated(answer.json)
                if score is not None
            ]
            assert all(state == "fresh" for _, state in found), path
            seen |= {(path, who)} if found else set()
        elif any(
            score in text_of(answer) for score in hall.scores()
        ) and TEAM in text_of(answer):
            assert state_text("fresh") in text_of(answer), path
            seen.add((path, who))
    assert seen >= {*JSON.items(), *PAGES.items()}


def away(hall: Hall) -> FigureState:
    return FigureState.METER_AWAY


def stopped(hall: Hall) -> FigureState:
    last = reading(LATER_S, energy_wh=0.6, state=IntegratorState.STOP)
    hall.contest.store.readings.append(hall.run.id, 0.0, [last])
    return FigureState.INTEGRATOR_STOPPED


def lost(hall: Hall) -> FigureState:
    hall.contest.store.readings.append(
        hall.run.id,
        0.0,
        [reading(LATER_S, energy_wh=0.001)],
    )
    hall.contest.store.log.append(
        hall.clock.utc(),
        hall.run.id,
        "energy-lost",
        code="began-again",
        elapsed_s=61.0,
    )
    return FigureState.IN_REVIEW


@pytest.mark.parametrize("happens", [away, stopped, lost])
def test_a_score_that_is_no_longer_true_is_nowhere_and_its_state_is_said(
    hall: Hall,
    happens: Callable[[Hall], FigureState],
) -> None:
    before = hall.scores()
    hall.clock.now_s = LATER_S
    state = happens(hall)
    posted(hall.contest, hall.run, seed=1)
    hall.look()
    seen = set()
    for path, who, answer in hall.answers():
        text = text_of(answer)
        assert not any(score in text for score in before if len(score) > 4), path
        assert "<dt>Score<span" not in text, path
        if answer.is_json:
            found = [*stated(answer.json)]
            assert all(score is None for score, _ in found), path
            seen |= {(path, who)} if (None, state) in found else set()
        elif state_text(state) in text:
            seen.add((path, who))
    assert seen >= {*JSON.items(), *PAGES.items()}


def test_the_public_board_shows_no_figure_that_nobody_has_renewed(hall: Hall) -> None:
    hall.clock.now_s += 11.0
    (now,) = hall.client.get("/board.json").json["now"]
    assert (now["score"], now["map"], now["energy_wh"], now["power_w"]) == (None,) * 4
    assert now["figure_state"] is None
    text = hall.client.get("/board/live").text
    assert "power and score are not known at the moment" in text


def test_a_score_is_there_again_when_the_meter_is(hall: Hall) -> None:
    hall.clock.now_s = READ_S + 5.0
    hall.look()
    hall.contest.store.readings.append(hall.run.id, 0.0, [reading(READ_S + 5.0)])
    released = released_of(hall.contest, hall.run, hall.clock.utc())
    assert released is not None
    assert released.score is not None
    assert released.released_utc < hall.clock.utc().isoformat()
