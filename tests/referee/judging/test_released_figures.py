"""What a team and the public learn of an open run: seldom, roughly, of a secret half, and no oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from lpirc_testsets import GroundTruth, TestSet, read_ground_truth, synthesize
from referee.contest import Contest
from referee.judging.judge import evaluate_rows, judge
from referee.judging.provisional_scores import FollowedRuns
from referee.judging.released_figures import (
    EVERY_S,
    half_of,
    released_of,
    rough_map,
    rough_score,
)
from referee.judging.run_case import restricted_to, undo_image_order
from referee.runs.run_control import RunControl
from referee.store.records import Released, Run, RunState
from referee.web.app import create_app
from referee.web.app_parts import part_of
from referee.web.callers import Callers
from referee.web.team_login import issue_token
from tests.referee.factories import TEAM, House, StillClock, house, reading, run_record
from tests.referee.judging.judged_runs import armed_run, posted
from tests.referee.judging.oracle_attacks import (
    ATTACKS,
    Belief,
    Floats,
    belief_of,
    decoding,
)

SECRET = bytes(range(32))
WINDOW_S = 600.0
LOOK_S = 5.0
MOST_GAIN = 0.01


def opened(contest: Contest, **different: Any) -> Run:
    """A run that opened at START, and was served everything."""
    armed = armed_run(contest, TEAM, nonce="a", **different)
    contest.store.served.append(
        armed.id,
        [(image, 1000) for image in range(1, armed.images + 1)],
        0.5,
    )
    changes = {"start_s": 0.0, "opened_utc": StillClock().utc().isoformat()}
    return contest.store.runs.change(
        armed.id,
        (RunState.ARMED,),
        state=RunState.OPEN.value,
        **changes,
    )


class Watched:
    """An open run, and the contest's own process that follows it, at a time of the test's own."""

    def __init__(
        self,
        contest: Contest,
        run: Run,
        clock: StillClock,
    ) -> None:
        self.contest = replace(contest, secret=SECRET)
        self.run = run
        self.clock = clock
        self.followed = FollowedRuns(self.contest, self.clock)

    def at(self, now_s: float) -> Released | None:
        """What is released `now_s` seconds after the opening; the meter is read then."""
        self.clock.now_s = now_s
        self.contest.store.readings.append(self.run.id, 0.0, [reading(now_s)])
        self.followed.tick()
        return released_of(
            self.contest,
            self.contest.store.runs.get(self.run.id),
            self.clock.utc(),
        )


@pytest.fixture
def watched(build: Callable[..., House]) -> Watched:
    contest = build().contest
    return Watched(contest, opened(contest), StillClock())


def test_a_half_is_drawn_for_each_run_and_is_the_same_after_a_restart() -> None:
    order = np.random.default_rng(0).permutation(301)[:201] + 1
    run = run_record(id=7, nonce="abc")
    half = half_of(SECRET, run, order)
    assert len(half) == 101
    assert set(half) <= set(order)
    assert half.tolist() == half_of(SECRET, run, order[::-1]).tolist()
    for other in (
        half_of(SECRET, replace(run, nonce="abd"), order),
        half_of(bytes(32), run, order),
    ):
        assert 30 <= len(set(half) & set(other)) <= 70


def test_figures_are_released_twice_a_minute_however_often_rows_come_and_anyone_looks(
    watched: Watched,
) -> None:
    seen = []
    for second in range(1, 125):
        posted(watched.contest, watched.run, seed=second)
        released = watched.at(float(second))
        if released is not None and released not in seen:
            seen.append(released)
        if second == 40:
            # The process was replaced.
            watched.followed = FollowedRuns(watched.contest, watched.clock)
    times = [StillClock(EVERY_S * part).utc().isoformat() for part in range(1, 5)]
    assert [one.released_utc for one in seen] == times
    assert len({one.detections for one in seen}) == 4


def test_while_the_figures_are_not_fresh_nothing_is_released_and_then_it_is_made_up_for(
    watched: Watched,
) -> None:
    watched.at(1.0)
    watched.clock.now_s = 35.0
    watched.followed.tick()
    assert watched.contest.store.provisional.released(watched.run.id) is None
    released = watched.at(40.0)
    assert released is not None
    assert released.utc == released.released_utc == watched.clock.utc().isoformat()
    assert watched.at(59.0) == released


def test_the_map_is_of_the_half_with_two_digits_and_the_score_follows_from_it(
    watched: Watched,
) -> None:
    contest = watched.contest
    run = watched.run
    truth = read_ground_truth(contest.test_set.folder)
    order = contest.store.runs.image_order(run.id)
    half = half_of(SECRET, run, order)
    posted(contest, run)
    released = watched.at(30.0)
    assert released is not None
    rows = contest.store.posts.detections(run.id)
    part = restricted_to(truth, half)
    exact = evaluate_rows(contest, part, rows[np.isin(rows[:, 0], half)]).map
    assert exact not in (round(exact, 2), evaluate_rows(contest, truth, rows).map)
    assert released.map == round(exact, 2)
    assert released.energy_wh == pytest.approx(0.3)
    assert released.score == float(f"{released.map / released.energy_wh:.1e}")


@pytest.mark.parametrize(
    ("value", "rough"),
    [
        (0.40949, 0.41),
        (0.0049, 0.0),
        (0.0151, 0.02),
        (1.0, 1.0),
        (0.882, 0.88),
    ],
)
def test_a_small_map_has_no_finer_scale(value: float, rough: float) -> None:
    assert rough_map(value) == rough


@pytest.mark.parametrize("energy_wh", [0.0123456, 3.21, 1e-9])
def test_a_score_and_an_energy_give_back_no_more_of_the_map_than_is_shown(
    energy_wh: float,
) -> None:
    maps = np.linspace(0.405001, 0.414999, 50)
    assert len({rough_score(rough_map(value), energy_wh) for value in maps}) == 1


def test_without_an_energy_there_is_no_score() -> None:
    assert rough_score(0.5, None) is None
    assert rough_score(0.5, 0.0) is None


def test_a_run_that_is_over_has_its_last_figures_and_once_it_is_judged_those_of_all_images(
    watched: Watched,
) -> None:
    contest = watched.contest
    run = watched.run
    watched.at(30.0)
    posted(contest, run)
    closed = {
        "energy_wh": 1.23456,
        "elapsed_s": 40.0,
        "closed_utc": StillClock(40.0).utc().isoformat(),
    }
    contest.store.runs.change(
        run.id,
        (RunState.OPEN,),
        state=RunState.CLOSED.value,
        **closed,
    )
    last = watched.at(41.0)
    assert last is not None
    assert last.detections == contest.store.posts.count_detections(run.id)
    assert last.energy_wh == 1.23456
    assert last.map == round(last.map, 2)
    judged = judge(contest, run.id, watched.clock)
    final = watched.at(42.0)
    assert final is not None
    assert final.map == round(judged.map, 2)
    assert final.utc == judged.judged_utc


# The attack


@pytest.fixture(scope="module")
def large_set(tmp_path_factory: pytest.TempPathFactory) -> TestSet:
    """As large as those of the contests with few images, with as many categories."""
    folder = tmp_path_factory.mktemp("sets") / "large"
    return synthesize(
        folder,
        images=300,
        categories=200,
        seed=1,
        size=(64, 64),
    )


@pytest.fixture(scope="module")
def truth(large_set: TestSet) -> GroundTruth:
    return read_ground_truth(large_set.folder)


class HttpOracle:
    """Asks for the session every LOOK_S, in a window of ten minutes."""

    def __init__(
        self,
        watched: Watched,
        client: FlaskClient,
        token: str,
    ) -> None:
        self.watched = watched
        self.answers = 0
        self._client = client
        self._headers = {"Authorization": f"Bearer {token}"}
        self._last: dict[str, Any] = {}

    def post(self, rows: Floats) -> None:
        contest = self.watched.contest
        run = self.watched.run
        clock = self.watched.clock
        known = rows.copy()
        known[:, 0] = (
            np.argsort(contest.store.runs.image_order(run.id))[
                rows[:, 0].astype(np.int64) - 1
            ]
            + 1
        )
        contest.store.posts.append(
            run.id,
            known,
            sha256="s",
            idempotency_key=None,
            elapsed_s=clock.now_s,
            now=clock.utc(),
        )

    def ask(self) -> float | None:
        clock = self.watched.clock
        while clock.now_s < WINDOW_S:
            self.watched.at(clock.now_s + LOOK_S)
            found = (
                self._client.get("/v1/session", headers=self._headers).get_json()[
                    "provisional"
                ]
                or {}
            )
            if found != {} and found["released_utc"] != self._last.get("released_utc"):
                self._last = found
                self.answers = self.answers + 1
                return float(found["map"])
        return None


@pytest.fixture
def attacked(tmp_path: Path, large_set: TestSet) -> Iterator[HttpOracle]:
    with (
        house(tmp_path / "contest", large_set, teams_see_score=True) as made,
        ExitStack() as stack,
    ):
        run = opened(made.contest)
        clock = StillClock()
        control = RunControl(made.contest, clock)
        stack.callback(control.shutdown)
        app = create_app(made.contest, control, clock)
        token = issue_token(part_of(app, Callers), run)
        yield HttpOracle(Watched(made.contest, run, clock), app.test_client(), token)


class ExactOracle:
    """The whole figure of all images, after each body, as it was once shown."""

    def __init__(
        self,
        contest: Contest,
        truth: GroundTruth,
        questions: int,
    ) -> None:
        self._contest = contest
        self._truth = truth
        self._left = questions
        self.rows = np.empty((0, 7))

    def post(self, rows: Floats) -> None:
        self.rows = np.vstack([self.rows, rows])

    def ask(self) -> float | None:
        if self._left == 0:
            return None
        self._left -= 1
        return evaluate_rows(self._contest, self._truth, self.rows).map


def test_from_the_exact_figure_such_a_client_learns_much(
    attacked: HttpOracle,
    truth: GroundTruth,
) -> None:
    contest = attacked.watched.contest
    belief = belief_of(truth, seed=1)
    without = evaluate_rows(contest, truth, belief.final()).map
    oracle = ExactOracle(contest, truth, questions=66)
    oracle.post(decoding(oracle, belief).final())
    assert evaluate_rows(contest, truth, oracle.rows).map - without > 3 * MOST_GAIN


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_client_that_asks_for_ten_minutes_gains_no_hundredth_of_map(
    attacked: HttpOracle,
    truth: GroundTruth,
    attack: str,
) -> None:
    contest = attacked.watched.contest
    run = attacked.watched.run
    belief = belief_of(truth, seed=1)
    without = evaluate_rows(contest, truth, belief.final()).map
    learned: Belief = ATTACKS[attack](attacked, belief)
    attacked.post(learned.final())
    rows = undo_image_order(
        contest.store.posts.detections(run.id),
        contest.store.runs.image_order(run.id),
    )
    assert 2 <= attacked.answers <= WINDOW_S / EVERY_S
    assert 0.3 < without < 0.7
    assert evaluate_rows(contest, truth, rows).map - without <= MOST_GAIN
