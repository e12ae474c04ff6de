"""What a live figure is worth, from the readings of its run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from lpirc_power.meter import IntegratorState
from referee.judging.figure_freshness import measured_state, state_of
from referee.judging.figure_state import (
    LEAST_LIMIT_S,
    FigureState,
    Readings,
    figure_state,
    judged_state,
    limit_s,
)
from referee.judging.run_figures import figures_of
from referee.pages.figure_text import state_text
from referee.store.records import Provisional, RunState
from tests.referee.factories import START, House, reading
from tests.referee.judging.judged_runs import armed_run, opened_run

UPDATE_S = 5.0
RUNS = IntegratorState.START
NOW = Readings(0.0, 0.0, RUNS)


def state(
    run: RunState = RunState.OPEN,
    readings: Readings = NOW,
    *,
    is_lost: bool = False,
    has_energy: bool = False,
) -> FigureState | None:
    return figure_state(
        run,
        is_lost=is_lost,
        has_energy=has_energy,
        readings=readings,
        update_interval_s=UPDATE_S,
    )


@pytest.mark.parametrize(
    ("age_s", "expected"),
    [
        (0.0, FigureState.FRESH),
        (10.0, FigureState.FRESH),
        (10.1, FigureState.METER_AWAY),
        (-3600.0, FigureState.METER_AWAY),  # the clock was set back
    ],
)
def test_a_reading_counts_for_two_updates_of_its_meter(
    age_s: float,
    expected: FigureState,
) -> None:
    assert state(readings=Readings(age_s, age_s, RUNS)) is expected


def test_a_fast_meter_is_given_the_time_in_which_its_readings_are_stored() -> None:
    assert limit_s(0.1) == LEAST_LIMIT_S
    assert limit_s(20.0) == 40.0


@pytest.mark.parametrize("word", [one for one in IntegratorState if one is not RUNS])
def test_an_integrator_that_does_not_run_is_told_while_it_is_read_and_then_the_meter_is_away(
    word: IntegratorState,
) -> None:
    assert state(readings=Readings(1.0, 1.0, word)) is FigureState.INTEGRATOR_STOPPED
    # No energy, either.
    assert state(readings=Readings(1.0, 60.0, word)) is FigureState.INTEGRATOR_STOPPED
    assert state(readings=Readings(60.0, 60.0, word)) is FigureState.METER_AWAY


def test_readings_without_an_energy_give_no_score() -> None:
    assert state(readings=Readings(0.0, 11.0, RUNS)) is FigureState.METER_AWAY


def test_a_lost_energy_needs_review_whatever_the_meter_says_now() -> None:
    assert state(is_lost=True) is FigureState.IN_REVIEW
    assert (
        state(RunState.CLOSED, is_lost=True, has_energy=True) is FigureState.IN_REVIEW
    )


def test_a_closed_run_waits_for_its_energy() -> None:
    assert state(RunState.CLOSED) is FigureState.METER_AWAY
    assert state(RunState.CLOSED, has_energy=True) is FigureState.FRESH


@pytest.mark.parametrize("run", [RunState.ARMED, RunState.VOID])
def test_an_armed_run_and_one_that_was_void_before_it_was_judged_have_no_figures(
    run: RunState,
) -> None:
    assert state(run, has_energy=True) is None


def test_a_judged_run_is_final_unless_it_needs_review() -> None:
    assert judged_state(needs_review=False) is FigureState.FINAL
    assert judged_state(needs_review=True) is FigureState.IN_REVIEW


def test_every_state_has_words() -> None:
    assert len({state_text(one) for one in FigureState}) == len(FigureState)


def test_before_the_first_reading_it_is_the_time_since_the_opening_that_counts(
    build: Callable[..., House],
) -> None:
    contest = build().contest
    run = opened_run(contest, "voles")
    empty = contest.store.runs.change(
        armed_run(contest, "otters", station="two").id,
        (RunState.ARMED,),
        state="open",
        opened_utc=START.isoformat(),
    )
    at = [START + timedelta(seconds=seconds) for seconds in (1.0, 3.0, 61.0, 64.0)]
    assert state_of(contest.store, empty, at[0]) is FigureState.FRESH
    assert state_of(contest.store, empty, at[1]) is FigureState.METER_AWAY
    assert state_of(contest.store, run, at[2]) is FigureState.FRESH
    assert state_of(contest.store, run, at[3]) is FigureState.METER_AWAY
    contest.store.readings.append(
        run.id,
        0.0,
        [reading(64.0, state=IntegratorState.TIMEUP)],
    )
    assert state_of(contest.store, run, at[3]) is FigureState.INTEGRATOR_STOPPED


@pytest.mark.parametrize(
    ("pause_s", "late_s"),
    [
        (None, 10.0),
        (0.2, 10.2),
        (60.0, 70.0),
    ],
)
def test_figures_that_are_no_longer_renewed_have_no_state_and_no_score_though_the_meter_is_read(
    build: Callable[..., House],
    pause_s: float | None,
    late_s: float,
) -> None:
    contest = build().contest
    run = opened_run(contest, "voles")
    utc = START.isoformat()
    contest.store.provisional.set(Provisional(run.id, utc, 0.5, 0.25, 2.0, 7, pause_s))
    for seconds, state, score in (
        (late_s, FigureState.FRESH, 2.0),
        (late_s + 0.1, None, None),
    ):
        now = START + timedelta(seconds=seconds)
        contest.store.readings.append(run.id, 0.0, [reading(seconds)])
        figures = figures_of(contest, run, now)
        assert figures.figure_state == state
        assert figures.score == score
        assert measured_state(contest.store, run, now) is FigureState.FRESH, (
            "who renews them may go on"
        )
