"""The result of a heat: points where every side can be compared, and a reason where one cannot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lpirc_testsets import TestSet
from referee.judging.heat_results import (
    HeatResult,
    Outcome,
    heat_results,
    why_undecided,
)
from referee.judging.meetings import meeting
from referee.judging.run_figures import let_stand
from referee.store.records import DecisionKind, RunState
from tests.referee.factories import START, House, house, station, stored_run
from tests.referee.judging.heat_runs import FAILED, judged_side, won


@pytest.fixture
def hall(tmp_path: Path, small_set: TestSet) -> Iterator[House]:
    with house(tmp_path / "contest", small_set) as made:
        yield made


def only(hall: House, *, published_only: bool = False) -> HeatResult:
    (found,) = heat_results(hall.contest, published_only=published_only)
    return found


def points(result: HeatResult) -> dict[str, int | None]:
    return {side.run.team: side.points for side in result.sides}


def test_the_points_of_a_heat_are_those_of_the_meeting(hall: House) -> None:
    won(hall.store, "final", "ant", "bee", round_=2)
    found = only(hall)
    assert (found.outcome, found.winner, found.round) == (Outcome.WON, "ant", 2)
    sides = meeting(hall.contest, 1, 2).sides
    assert points(found) == {side.run.team: side.points for side in sides}
    assert points(found) == {"ant": 2, "bee": 0}


def test_equal_scores_are_a_tie_and_nobody_wins(hall: House) -> None:
    judged_side(hall.store, "ant", "final")
    judged_side(hall.store, "bee", "final")
    assert only(hall).outcome is Outcome.TIED
    assert only(hall).winner is None
    assert points(only(hall)) == {"ant": 1, "bee": 1}


def test_two_sides_without_a_score_have_no_winner(hall: House) -> None:
    judged_side(hall.store, "ant", "final", 0.0)
    judged_side(hall.store, "bee", "final", 0.0)
    assert only(hall).outcome is Outcome.NO_SCORE
    assert points(only(hall)) == {"ant": 0, "bee": 0}


def test_a_side_that_is_void_in_review_or_without_energy_is_said_and_never_guessed(
    hall: House,
) -> None:
    store = hall.store
    judged_side(store, "ant", "final")
    other = judged_side(store, "bee", "final", 2.0, FAILED)
    assert why_undecided(only(hall)) == ["bee: its run is in review"]
    assert points(only(hall)) == {"ant": None, "bee": None}
    let_stand(hall.contest, other, "jo", "a spike", START)
    assert only(hall).winner == "ant"
    store.runs.change(other, (RunState.JUDGED,), state="void", void_reason="moved")
    assert only(hall).outcome is Outcome.UNDECIDED
    assert why_undecided(only(hall)) == ["bee: its run is void"]
    store.runs.change(other, (RunState.VOID,), state="closed", energy_wh=None)
    assert why_undecided(only(hall)) == ["bee: its run is not judged yet"]


def test_a_side_without_energy_leaves_the_heat_undecided(hall: House) -> None:
    judged_side(hall.store, "ant", "final")
    judged_side(hall.store, "bee", "final", None)
    assert why_undecided(only(hall)) == ["bee: its run has no energy"]
    assert only(hall).winner is None


def test_a_run_that_was_voided_before_it_opened_is_no_side(hall: House) -> None:
    failed = stored_run(hall.store, team="cat", heat="final").id
    hall.store.runs.change(failed, (RunState.ARMED,), state="void", void_reason="x")
    assert heat_results(hall.contest) == []
    won(hall.store, "final", "ant", "bee")
    assert only(hall).teams == ("ant", "bee")
    assert only(hall).winner == "ant"


def test_sides_stand_in_the_order_of_the_stations_whichever_run_was_first(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    stations = [station("right"), station("left")]
    with house(tmp_path / "other", small_set, stations) as made:
        judged_side(made.store, "ant", "final", station="left")
        judged_side(made.store, "bee", "final", station="right")
        judged_side(made.store, "cat", "final", station="removed")
        assert only(made).teams == ("bee", "ant", "cat")


def test_a_heat_is_not_started_then_running(hall: House) -> None:
    first = stored_run(hall.store, team="ant", heat="final").id
    stored_run(hall.store, team="bee", heat="final", station="two")
    assert only(hall).outcome is Outcome.NOT_STARTED
    hall.store.runs.change(first, (RunState.ARMED,), state="open")
    assert only(hall).outcome is Outcome.RUNNING


def test_in_a_heat_of_three_each_meets_every_other_one(hall: House) -> None:
    for team, energy_wh in (("ant", 3.0), ("bee", 1.0), ("cat", 2.0)):
        judged_side(hall.store, team, "final", energy_wh, station=team)
    assert points(only(hall)) == {"ant": 0, "bee": 4, "cat": 2}
    assert only(hall).winner == "bee"
    assert len(only(hall).pairs) == 3


def test_what_the_jury_has_not_published_decides_nothing_for_others(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    with house(tmp_path / "other", small_set, publish_by=1) as made:
        won(made.store, "final", "ant", "bee")
        assert only(made).winner == "ant"
        hidden = only(made, published_only=True)
        assert hidden.outcome is Outcome.UNDECIDED
        assert [side.figures for side in hidden.sides] == [None, None]
        utc = START.isoformat()
        for run in (1, 2):
            for kind in (DecisionKind.CONFIRMED, DecisionKind.PUBLISHED):
                made.store.decisions.add(run, utc, kind, "jo", START)
        assert only(made, published_only=True).winner == "ant"
