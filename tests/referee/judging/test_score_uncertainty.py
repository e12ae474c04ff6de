from __future__ import annotations

import contextlib
import math
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy.power_error_limit import limit_w
from lpirc_power.meter import Setup
from lpirc_score import Detections
from lpirc_score.analysis.halves import HALVES, half_maps
from lpirc_score.analysis.interval import Halved, chance_of_order, map_intervals
from lpirc_testsets import TestSet, read_ground_truth
from referee.contest import Contest, create_contest, open_contest
from referee.judging.judge import judge
from referee.judging.judge_many import judge_with_interval
from referee.judging.ranking import Level
from referee.judging.score_uncertainty import budget_of_score, described, halved
from referee.judging.standings import standings
from referee.store.records import RunState
from tests.referee.factories import (
    START,
    TEAM,
    DrivenClock,
    config_text,
    reading,
    run_record,
    station,
)

CLOCK = DrivenClock()
ONE_ATTEMPT = "same images; the energy spread is unknown"
FIXED = station(voltage_range_v=150.0, current_range_a=0.5)


@pytest.fixture
def contest(tmp_path: Path, small_set: TestSet) -> Iterator[Contest]:
    create_contest(tmp_path / "contest", config_text(small_set, FIXED))
    with open_contest(tmp_path / "contest") as opened:
        opened.store.teams.add(TEAM, "no hash", START)
        yield opened


def closed_run(
    contest: Contest,
    power_w: float = 36.0,
    order: slice | list[int] = slice(None),
    setup: Setup | None = None,
    team: str = TEAM,
    missed: Callable[[NDArray[np.int64]], NDArray[np.bool_]] = lambda number: (
        number % 2 == 1
    ),
    served: Sequence[int] | None = None,
    **different: object,
) -> int:
    """A closed run that found every other object, the images in another order; it was served all, or these."""
    store = contest.store
    test_set = contest.test_set
    images = len(test_set.images)
    record = run_record(
        testset_digest=test_set.digest,
        images=images,
        team=team,
        **({"setup": setup} if setup else {}),
    )
    run = store.runs.arm(record, START, np.arange(1, images + 1)[order])
    served = range(1, images + 1) if served is None else served
    store.served.append(run.id, [(image, 1000) for image in served], 0.5)
    truth = read_ground_truth(test_set.folder)
    rows = np.column_stack(
        [truth.image, truth.category, np.full(len(truth.image), 0.5), truth.boxes]
    )
    sent = rows[~missed(np.arange(len(rows)))]
    store.posts.append(
        run.id,
        sent,
        sha256="s",
        idempotency_key=None,
        elapsed_s=1.0,
        now=START,
    )
    store.readings.append(
        run.id,
        0.0,
        [reading(second, power_w=power_w) for second in range(11)],
    )
    values = {
        "state": "closed",
        "start_s": 0.0,
        "elapsed_s": 10.0,
        "energy_wh": 0.1,
        "integrator_s": 10.0,
    }
    values["meter_changes"] = ()
    return store.runs.change(run.id, (RunState.ARMED,), **(values | different)).id


def test_the_interval_is_kept_with_the_score_and_lies_around_it(
    contest: Contest,
) -> None:
    run = closed_run(contest)
    judged = judge_with_interval(contest, run, CLOCK)
    interval = judged.interval
    kept = contest.store.scores.latest(run)
    assert interval is not None
    assert kept is not None
    assert kept.interval == interval
    assert interval.map_low < judged.map < interval.map_high
    assert interval.score_low is not None
    assert interval.score_high is not None
    assert judged.score is not None
    assert interval.score_low < judged.score < interval.score_high
    assert interval.level == 0.95
    assert interval.resamples == HALVES
    assert interval.method == "half-sampling"


def test_the_interval_is_of_what_counts(contest: Contest) -> None:
    run = closed_run(contest, served=())
    judged = judge_with_interval(contest, run, CLOCK)
    assert judged.map == 0.0
    assert judged.interval is not None
    assert judged.interval.map_high == 0.0


def test_the_halves_are_kept_and_three_intervals_are_told_apart(
    contest: Contest,
) -> None:
    run = closed_run(contest)
    judged = judge_with_interval(contest, run, CLOCK)
    interval = judged.interval
    maps = contest.store.scores.half_maps(run)
    assert interval is not None
    assert maps is not None
    truth = read_ground_truth(contest.test_set.folder)
    rows = contest.store.posts.detections(run)
    assert maps.tolist() == half_maps(truth, Detections.from_rows(rows)).tolist()
    found = map_intervals(judged.map, maps)
    assert interval.map_bias == found.bias
    assert interval.map_spread == found.spread
    assert (interval.map_low, interval.map_high) == found.mean
    assert (interval.other_low, interval.other_high) == found.other
    assert (interval.unlimited_low, interval.unlimited_high) == found.unlimited


def known(contest: Contest, run: int) -> Halved | None:
    judged = contest.store.scores.latest(run)
    assert judged is not None
    return halved(contest, contest.store.runs.get(run), judged)


def test_runs_share_images_whatever_their_order_and_the_error_of_one_meter_with_fixed_ranges(
    contest: Contest,
) -> None:
    backwards = closed_run(contest, order=slice(None, None, -1))
    elsewhere = closed_run(contest, meter_identity="YOKOGAWA WT310 OTHER F1.03")
    automatic = closed_run(contest, setup=Setup(None, None, 0.1, 600))
    runs = closed_run(contest), backwards, elsewhere, automatic
    for run in runs:
        judge_with_interval(contest, run, CLOCK)
    one, *others = (known(contest, run) for run in runs)
    assert one is not None
    assert [
        (other.images == one.images, other.meter == one.meter)
        for other in others
        if other
    ] == [
        (True, True),
        (True, False),
        (True, False),
    ]
    assert others[2] is not None
    assert others[2].meter is None


def test_a_team_that_leads_on_every_image_is_no_tie_though_the_intervals_overlap(
    contest: Contest,
) -> None:
    contest.store.teams.add("newts", "no hash", START)
    ahead = closed_run(contest, missed=lambda number: number % 4 == 0)
    behind = closed_run(contest, missed=lambda number: number % 4 < 2, team="newts")
    first, second = (
        judge_with_interval(contest, run, CLOCK).interval for run in (ahead, behind)
    )
    assert first is not None
    assert second is not None
    assert first.score_low is not None
    assert second.score_high is not None
    assert first.score_low < second.score_high
    places = standings(contest).places
    assert [(place.standing.run, place.level_with) for place in places] == [
        (ahead, ()),
        (behind, ()),
    ]


def test_teams_as_good_as_each_other_are_a_tie_with_its_chance(
    contest: Contest,
) -> None:
    contest.store.teams.add("newts", "no hash", START)
    for team in (TEAM, "newts"):
        judge_with_interval(contest, closed_run(contest, team=team), CLOCK)
    assert [place.level_with for place in standings(contest).places] == [
        (Level("newts", 0.5, ONE_ATTEMPT),),
        (Level(TEAM, 0.5, ONE_ATTEMPT),),
    ]


def test_a_contest_of_an_earlier_form_is_shown_as_it_was_until_it_is_judged_again(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    folder = tmp_path / "contest"
    create_contest(folder, config_text(small_set, FIXED))
    with open_contest(folder) as new:
        new.store.teams.add(TEAM, "no hash", START)
        run = closed_run(new)
        first = judge_with_interval(new, run, CLOCK)
    with contextlib.closing(sqlite3.connect(folder / "contest.db")) as connection:
        for statement in (
            "ALTER TABLE scores DROP COLUMN map_ilsvrc_det",
            "ALTER TABLE intervals DROP COLUMN map_bias",
            "ALTER TABLE intervals DROP COLUMN maps",
            "ALTER TABLE intervals DROP COLUMN method",
            "ALTER TABLE scores DROP COLUMN energy_own_limit",
            "UPDATE scores SET signature = replace(signature, '|rules:1', '')",
            "PRAGMA user_version = 9",
        ):
            connection.execute(statement)
        connection.commit()
    with open_contest(folder) as old:
        kept = old.store.scores.latest(run)
        assert kept is not None
        assert kept.interval is not None
        assert kept.score == first.score
        assert kept.map_ilsvrc_det is None
        assert kept.interval.map_bias is None
        assert kept.interval.method == "bootstrap"
        assert [place.standing.complete for place in standings(old).places] == [False]
        again = judge_with_interval(old, run, CLOCK)
        assert again.map_ilsvrc_det == first.map_ilsvrc_det
        assert again.interval == first.interval
        assert [place.standing.complete for place in standings(old).places] == [True]


def test_runs_on_other_images_do_not_share_them(contest: Contest) -> None:
    runs = (
        closed_run(contest),
        closed_run(contest, order=[0, 0, *range(2, len(contest.test_set.images))]),
    )
    for run in runs:
        judge_with_interval(contest, run, CLOCK)
    one, other = (known(contest, run) for run in runs)
    assert one is not None
    assert other is not None
    assert one.images != other.images


def test_the_order_is_not_known_before_the_resamples_are_or_without_the_meter_s_accuracy(
    contest: Contest,
) -> None:
    first = closed_run(contest)
    blind = closed_run(contest, power_w=math.nan)
    without = closed_run(contest, energy_wh=None)
    judge(contest, first, CLOCK)
    assert known(contest, first) is None
    for run in (blind, without):
        judge_with_interval(contest, run, CLOCK)
        assert known(contest, run) is None


def test_judging_again_gives_the_same_interval(contest: Contest) -> None:
    run = closed_run(contest)
    first, again = (judge_with_interval(contest, run, CLOCK) for _ in range(2))
    assert first.interval is not None
    assert first.interval == again.interval
    assert contest.store.scores.latest(run) == again


def test_an_interval_goes_to_its_own_score_though_another_process_judges_the_run_meanwhile(
    contest: Contest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = closed_run(contest, energy_wh=None)
    add_interval = contest.store.scores.add_interval
    later = []

    def late(*interval: Any) -> None:
        if not later:
            contest.store.runs.change(
                run,
                (RunState.JUDGED,),
                energy_wh=0.1,
                integrator_s=10.0,
            )
            with open_contest(contest.folder) as other:
                later.append(judge_with_interval(other, run, CLOCK))
        add_interval(*interval)

    monkeypatch.setattr(contest.store.scores, "add_interval", late)
    assert judge_with_interval(contest, run, CLOCK).score is None
    assert [contest.store.scores.latest(run)] == later
    assert known(contest, run) is not None


def test_the_score_is_stored_before_its_interval(
    contest: Contest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = closed_run(contest)

    def power_cut(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(contest.store.scores, "add_interval", power_cut)
    with pytest.raises(KeyboardInterrupt):
        judge_with_interval(contest, run, CLOCK)
    kept = contest.store.scores.latest(run)
    assert kept is not None
    assert kept.interval is None
    assert [place.standing.complete for place in standings(contest).places] == [False]


def test_of_a_known_scoring_score_and_interval_are_stored_together(
    contest: Contest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = closed_run(contest)
    first = judge_with_interval(contest, run, CLOCK)
    scores = contest.store.scores.add
    intervals = []

    def killed_after(*score: Any) -> None:
        scores(*score)
        intervals.append(contest.store.scores.latest(run))
        raise KeyboardInterrupt

    monkeypatch.setattr(contest.store.scores, "add", killed_after)
    with pytest.raises(KeyboardInterrupt):
        judge_with_interval(contest, run, CLOCK)
    assert [first.interval] == [one and one.interval for one in intervals]


@pytest.mark.parametrize("metric", ["coco", "voc-11", "voc-area", "ilsvrc-det"])
def test_every_metric_has_an_interval(
    metric: str,
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    create_contest(tmp_path / metric, config_text(small_set, FIXED, metric=metric))
    with open_contest(tmp_path / metric) as contest:
        contest.store.teams.add(TEAM, "no hash", START)
        judged = judge_with_interval(contest, closed_run(contest), CLOCK)
        assert judged.interval is not None
        assert judged.interval.map_low < judged.map < judged.interval.map_high
        assert [place.standing.complete for place in standings(contest).places] == [
            True
        ]


def test_the_bootstrap_of_an_earlier_form_is_named_and_says_nothing_of_an_order(
    contest: Contest,
) -> None:
    contest.store.teams.add("newts", "no hash", START)
    runs = [closed_run(contest, team=team) for team in (TEAM, "newts")]
    for run in runs:
        judge_with_interval(contest, run, CLOCK)
    with contextlib.closing(
        sqlite3.connect(contest.folder / "contest.db")
    ) as connection:
        connection.execute(
            "UPDATE intervals SET method = NULL, maps = zeroblob(8000), other_low = NULL"
        )
        connection.commit()
    judged = contest.store.scores.latest(runs[0])
    assert judged is not None
    ((name, figures),) = described(judged.interval)
    assert name == "mean over sets of this size"
    assert (
        figures.partition(" at ")[2]
        == "95%; the method bootstrap makes this interval too narrow; judge the run again"
    )
    assert [place.level_with for place in standings(contest).places] == [(), ()]
    assert [place.standing.complete for place in standings(contest).places] == [
        False,
        False,
    ]


def test_attempts_tell_the_energy_spread_but_not_one_in_review_or_void(
    contest: Contest,
) -> None:
    contest.store.teams.add("newts", "no hash", START)
    energies_wh = (0.1, 0.102, 0.104)
    attempts = [
        closed_run(
            contest,
            power_w=360 * wh,
            energy_wh=wh,
            team="newts",
        )
        for wh in energies_wh
    ]
    # The readings say otherwise.
    wrong = closed_run(
        contest,
        power_w=360,
        energy_wh=0.2,
        team="newts",
    )
    alone = closed_run(contest, power_w=39.6, energy_wh=0.11)
    for run in (*attempts, wrong, alone):
        judge_with_interval(contest, run, CLOCK)
    spread = float(np.std(np.log(energies_wh), ddof=1))
    first, second = (place.standing for place in standings(contest).places)
    assert first.team == "newts"
    assert first.energy_spread == pytest.approx(spread)
    assert second.team == TEAM
    assert second.energy_spread is None
    contest.store.runs.change(
        attempts[2],
        (RunState.JUDGED,),
        state="void",
        void_reason="wrong board",
    )
    assert standings(contest).places[0].standing.energy_spread == pytest.approx(
        math.log(1.02) / math.sqrt(2)
    )
    contest.store.runs.change(
        attempts[1],
        (RunState.JUDGED,),
        state="void",
        void_reason="wrong board",
    )
    assert standings(contest).places[0].standing.energy_spread is None


def test_15_uwh_between_two_equal_programs_are_no_sure_order(contest: Contest) -> None:
    """8 ms of the log-out: start and stop, and the meter's update, may put a run off by more."""
    contest.store.teams.add("newts", "no hash", START)
    for team, wh in ((TEAM, 0.1), ("newts", 0.100015)):
        judge_with_interval(
            contest,
            closed_run(contest, energy_wh=wh, team=team),
            CLOCK,
        )
    ((level,), _) = (place.level_with for place in standings(contest).places)
    assert level.team == "newts"
    assert level.chance < 0.6
    assert level.covers == ONE_ATTEMPT


def test_the_meters_share_is_that_of_its_fixed_ranges_and_model(
    contest: Contest,
) -> None:
    judged = judge(contest, closed_run(contest), CLOCK)
    figures = {check.code: check.figures for check in judged.checks}["accuracy"]
    found_w = limit_w(36.0, 36.0, 75.0, limits_of("WT310"))
    assert found_w is not None
    assert figures["uncertainty"] == pytest.approx(found_w / 36.0)


@pytest.mark.parametrize("power_w", [math.nan, math.inf, 0.0, -1.0])
def test_readings_that_say_nothing_leave_the_scores_interval_out(
    contest: Contest,
    power_w: float,
) -> None:
    run = closed_run(contest, power_w=power_w)
    interval = judge_with_interval(contest, run, CLOCK).interval
    assert interval is not None
    assert interval.score_low is None
    assert interval.score_high is None
    assert interval.energy_uncertainty is None
    assert interval.map_high > 0


def test_a_run_without_energy_has_an_interval_of_its_map_only(contest: Contest) -> None:
    run = closed_run(contest, energy_wh=None)
    interval = judge_with_interval(contest, run, CLOCK).interval
    assert interval is not None
    assert interval.score_low is None


def test_runs_on_one_meter_share_the_maker_s_terms_of_their_budgets(
    contest: Contest,
) -> None:
    run = closed_run(contest)
    judged = judge_with_interval(contest, run, CLOCK)
    found = known(contest, run)
    budget = budget_of_score(judged)
    assert found is not None
    assert budget is not None
    assert judged.energy_limit is not None
    root = math.sqrt(3) / budget.energy_wh
    of_reading = next(one for one in budget.terms if one.code == "reading")
    assert found.shared_limit == pytest.approx(root * (of_reading.standard_wh or 0.0))
    shared = math.hypot(found.shared_limit, found.load_limit)
    assert shared == pytest.approx(root * (budget.shared_wh or 0.0))
    assert found.load is not None
    assert found.own_limit == pytest.approx(root * (budget.own_wh or 0.0))
    whole = math.hypot(shared, found.own_limit)
    assert whole == pytest.approx(root * (budget.combined_wh or 0.0))
    assert whole < judged.energy_limit


def test_runs_judged_before_budgets_share_the_limit_of_their_meter_as_they_did(
    contest: Contest,
) -> None:
    """So a published board keeps its sure orders and its prizes."""
    found = []
    for power_w in (30.0, 36.0):
        run = closed_run(contest, power_w)
        judged = judge_with_interval(contest, run, CLOCK)
        limit = judged.energy_limit
        own = judged.energy_own_limit
        assert limit is not None
        assert own is not None
        assert judged.interval is not None
        assert own < limit
        interval = replace(judged.interval, energy_uncertainty=limit)
        before = replace(judged, energy_budget=None, interval=interval)
        of_run = halved(contest, contest.store.runs.get(run), before)
        assert of_run is not None
        assert (of_run.shared_limit, of_run.own_limit) == (limit - own, own)
        found.append(of_run)
    first, second = found
    alone = [replace(one, shared_limit=0.0) for one in found]
    assert chance_of_order(first, second) == chance_of_order(*alone)
    assert first.meter == second.meter
    now = known(contest, run)
    assert now is not None
    assert now.meter != second.meter, "a run judged with a budget shares nothing"
