"""Stop regret: every moment is judged as if the run had ended there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from lpirc_score import Detections
from lpirc_score.analysis.error_types import ErrorType, analyse_errors
from lpirc_score.metrics.offered import METRICS
from lpirc_testsets import read_ground_truth
from referee.contest import Contest
from referee.judging.judge import case_of, judge
from referee.judging.run_case import counted_of
from referee.judging.stop_regret import MOST_MOMENTS, StopRegret, stop_regret
from referee.store.records import Run, RunState
from tests.referee.factories import START, House, reading, run_record
from tests.referee.judging.test_judge import guesses
from tests.scoring.mending import mended

END_S = 10.0
Posts = Sequence[tuple[float, NDArray[np.float64]]]
"""When each came, and its rows (n, 7), with the test set's numbers of images."""


def closed_run(
    hall: House,
    posts: Posts,
    served_s: float | Sequence[float] = 0.0,
    watt: float = 36.0,
    **different: object,
) -> Run:
    """A closed run of ten seconds at that power, whose images were served then."""
    store = hall.store
    images = len(hall.contest.test_set.images)
    record = run_record(testset_digest=hall.contest.test_set.digest, images=images)
    order = np.roll(np.arange(1, images + 1), 2)
    run = store.runs.arm(record, START, order)
    number = np.argsort(order) + 1
    for image, when in enumerate(np.broadcast_to(served_s, images).tolist(), start=1):
        if when < np.inf:
            store.served.append(run.id, [(int(number[image - 1]), 10)], when)
    for when, rows in posts:
        sent = rows.copy()
        sent[:, 0] = number[rows[:, 0].astype(int) - 1]
        store.posts.append(
            run.id,
            sent,
            sha256="",
            idempotency_key=None,
            elapsed_s=when,
            now=START,
        )
    until_wh = [(tenth / 10, watt * tenth / 36000) for tenth in range(105)]
    store.readings.append(
        run.id,
        0.0,
        [reading(when, energy_wh=wh) for when, wh in until_wh],
    )
    over = {
        "state": "closed",
        "elapsed_s": END_S,
        "energy_wh": watt * END_S / 3600,
        "meter_changes": (),
    }
    return store.runs.change(run.id, (RunState.ARMED,), **(over | different))


def regret_of(contest: Contest, run: Run) -> StopRegret | None:
    return stop_regret(contest, run, counted_of(case_of(contest, run))[0])


def truth_rows(hall: House, confidence: float = 0.9) -> NDArray[np.float64]:
    truth = read_ground_truth(hall.contest.test_set.folder)
    return np.column_stack(
        [
            truth.image,
            truth.category,
            np.full(len(truth.image), confidence),
            truth.boxes,
        ]
    )


def test_who_found_all_and_went_on_for_five_times_as_long_regrets_it_five_times(
    build: Callable[..., House],
) -> None:
    hall = build()
    found = truth_rows(hall)
    regret = regret_of(
        hall.contest,
        closed_run(
            hall,
            [
                (1.0, found[:1]),
                (2.0, found[1:]),
                (6.0, found),
            ],
        ),
    )
    assert regret is not None
    assert regret.elapsed_s.tolist() == [1.0, 2.0, 6.0, END_S]
    assert regret.energy_wh == pytest.approx([0.01, 0.02, 0.06, 0.1])
    assert regret.map[1] == 1.0
    assert regret.score == pytest.approx(regret.map / regret.energy_wh)
    assert regret.best == 1
    assert regret.ratio == pytest.approx(5.0 / regret.map[-1])


@pytest.mark.parametrize("metric", METRICS[:4])
def test_each_moment_has_the_map_of_a_run_that_ended_there(
    metric: str,
    build: Callable[..., House],
) -> None:
    hall = build(metric=metric)
    contest = hall.contest
    parts = np.array_split(guesses(contest.test_set, 3), 4)
    posts = list(zip([1.0, 2.0, 4.0, 4.0], parts, strict=True))
    served_s = [0.5, 0.5, 1.5, 3.0, np.inf]
    regret = regret_of(contest, closed_run(hall, posts, served_s))
    assert regret is not None
    assert regret.elapsed_s.tolist() == [1.0, 2.0, 4.0, END_S]
    for when, reached in zip(regret.elapsed_s, regret.map, strict=True):
        had = [one if one <= when else np.inf for one in served_s]
        ended = closed_run(hall, [one for one in posts if one[0] <= when], had)
        assert judge(contest, ended.id, hall.clock).map == reached
    assert regret.ratio >= 1


def test_a_moment_below_the_least_map_is_not_the_best(
    build: Callable[..., House],
) -> None:
    hall = build(least_map=0.9)
    found = truth_rows(hall)
    posts = [(0.1, found[:3]), (5.0, found)]
    regret = regret_of(hall.contest, closed_run(hall, posts))
    assert regret is not None
    assert regret.map[0] < 0.9
    assert regret.score.argmax() == 0
    assert regret.best == 1
    assert regret.elapsed_s[regret.best] == 5.0


def test_no_advice_rests_on_an_energy_within_its_own_limit_of_error(
    build: Callable[..., House],
) -> None:
    """All found after a second: start, stop and an update may take 1.1 s, so its energy is not known at all."""
    hall = build()
    found = truth_rows(hall)
    regret = regret_of(hall.contest, closed_run(hall, [(1.0, found), (8.0, found[:1])]))
    assert regret is not None
    assert regret.score[0] == pytest.approx(100.0)
    assert regret.limit_wh[0] > regret.energy_wh[0]
    assert regret.is_known.tolist() == [False, True, True]
    assert regret.elapsed_s[regret.best] == 8.0
    assert np.isnan(regret.band.low[0])
    assert 1.0 < regret.least_ratio < regret.ratio < 10 / 8 + 1e-9


def test_an_earlier_moment_is_the_best_only_if_it_is_so_at_the_limit_of_its_energy(
    build: Callable[..., House],
) -> None:
    hall = build()
    found = truth_rows(hall)
    regret = regret_of(hall.contest, closed_run(hall, [(9.0, found)]))
    assert regret is not None
    assert regret.score[0] > regret.score[-1]
    assert regret.energy_wh[0] + regret.limit_wh[0] > regret.energy_wh[-1]
    assert regret.best == 1
    assert regret.ratio == 1.0
    assert regret.least_ratio == 1.0


def test_a_start_and_stop_that_were_measured_bound_the_energy_of_a_moment(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = closed_run(hall, [(1.0, truth_rows(hall))])
    hall.store.log.append(START, run.id, "closed", start_stop_s=0.05)
    regret = regret_of(hall.contest, run)
    assert regret is not None
    # And the reading after it.
    assert regret.limit_wh[0] == pytest.approx(0.01 * (0.05 + 0.1) + 0.001)
    assert regret.best == 0
    assert regret.ratio == pytest.approx(10.0)
    assert regret.least_ratio == pytest.approx(0.1 / 0.0125)


def test_many_posts_make_at_most_forty_moments_and_the_end(
    build: Callable[..., House],
) -> None:
    hall = build()
    found = truth_rows(hall)
    posts = [(when, found[:1]) for when in np.linspace(1, 9, 230).tolist()]
    regret = regret_of(hall.contest, closed_run(hall, posts))
    assert regret is not None
    assert len(regret.elapsed_s) == MOST_MOMENTS + 1
    assert regret.elapsed_s[[0, -2, -1]].tolist() == [1.0, 9.0, END_S]


def test_nothing_found_is_nothing_to_regret(build: Callable[..., House]) -> None:
    hall = build()
    wrong = truth_rows(hall)
    wrong[:, 3:] += 1000
    regret = regret_of(hall.contest, closed_run(hall, [(1.0, wrong)]))
    assert regret is not None
    assert regret.ratio == 1.0
    assert regret.score.tolist() == [0.0, 0.0]


def test_without_posts_energy_or_readings_nothing_is_known(
    build: Callable[..., House],
) -> None:
    hall = build()
    posts = [(1.0, truth_rows(hall))]
    assert regret_of(hall.contest, closed_run(hall, [])) is None
    assert regret_of(hall.contest, closed_run(hall, posts, energy_wh=None)) is None
    assert regret_of(hall.contest, closed_run(hall, posts, energy_wh=0.0)) is None
    assert (
        regret_of(
            hall.contest,
            closed_run(hall, posts, watt=float("nan"), energy_wh=0.1),
        )
        is None
    )
    began_again = closed_run(hall, posts)
    hall.store.readings.append(began_again.id, 0.0, [reading(9.95, energy_wh=0.001)])
    assert regret_of(hall.contest, began_again) is None


@pytest.mark.parametrize("metric", METRICS[:4])
def test_a_team_that_mends_a_type_of_errors_gets_the_score_that_was_promised(
    metric: str,
    build: Callable[..., House],
) -> None:
    hall = build(metric=metric)
    contest = hall.contest
    run = closed_run(hall, [(1.0, guesses(contest.test_set, 7))])
    before = judge(contest, run.id, hall.clock)
    truth, rows = counted_of(case_of(contest, run))
    found = Detections.from_rows(rows[np.argsort(rows[:, 0], kind="stable")])
    analysis = analyse_errors(truth, found, metric)
    assert analysis.map == before.map
    for type_ in (
        ErrorType.CLASSIFICATION,
        ErrorType.LOCALISATION,
        ErrorType.BACKGROUND,
    ):
        _, better = mended(truth, found, analysis, type_)
        sent = np.column_stack(
            [better.image, better.category, better.confidence, better.boxes]
        )
        after = judge(contest, closed_run(hall, [(1.0, sent)]).id, hall.clock)
        assert before.score is not None
        promised = before.score + analysis.gains[type_] / 0.1
        assert after.score == pytest.approx(promised, rel=1e-9)
    assert analysis.gains[ErrorType.LOCALISATION] > 0


def test_with_few_images_nothing_is_said_of_moments_before_the_last_one_was_answered(
    build: Callable[..., House],
) -> None:
    """Two of five images by half of the time say nothing of how the score grows."""
    hall = build()
    found = truth_rows(hall)
    first = found[:, 0] <= 2
    posts = [(4.0, found[first]), (8.0, found[~first])]
    regret = regret_of(hall.contest, closed_run(hall, posts))
    assert regret is not None
    assert regret.is_known.tolist() == [False, True, True]
    assert regret.elapsed_s[regret.best] == 8.0
    assert regret.as_good_s == (8.0, 8.0)
