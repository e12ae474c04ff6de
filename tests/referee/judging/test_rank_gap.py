"""The gap to the next rank, and what closes it: exact where it is stated, and never stated from noise."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pytest

from lpirc_score.analysis.error_types import ErrorType
from lpirc_score.analysis.halves import HALVES
from lpirc_score.analysis.interval import Halved, ratio_interval
from referee.clock import Clock
from referee.judging.judge_many import judge_with_interval
from referee.judging.rank_gap import (
    Estimate,
    Gap,
    LeverKind,
    effect_of_waiting,
    gap_between,
    levers,
    needs_of,
    place_of,
)
from referee.judging.ranking import Place
from referee.judging.run_course import course_of
from referee.judging.score_explanation import Cost
from tests.referee.factories import START, House
from tests.referee.judging.sent_runs import closed_run, guesses
from tests.referee.judging.test_ranking import standing

NOW = START + timedelta(hours=1)
NOISE = np.random.default_rng(1).normal(0.0, 1.0, HALVES)


def place(team: str, run: int, map_: float, energy_wh: float, rank: int = 1) -> Place:
    score = map_ / energy_wh
    return Place(
        rank,
        standing(
            team,
            score,
            run,
            map=map_,
            energy_wh=energy_wh,
        ),
    )


def halved(map_: float, energy_wh: float, noise: float) -> Halved:
    """Noise that the images of one team have alone."""
    return Halved(
        map_,
        map_ + noise * NOISE,
        energy_wh,
        images=map_,
    )


def gap(noise: float, own_map: float = 0.30) -> Gap:
    own = place(
        "own",
        1,
        own_map,
        2.0,
        2,
    )
    other = place(
        "other",
        2,
        0.40,
        2.0,
        1,
    )
    known = {
        1: halved(own_map, 2.0, noise),
        2: halved(0.40, 2.0, 0.0),
    }
    return gap_between(own, other, known)


def test_what_is_needed_reaches_the_score_of_the_next_rank_at_each_end() -> None:
    found = gap(noise=0.01)
    needs = found.needs
    assert found.ahead
    assert found.is_sure
    assert needs is not None
    assert needs.map is not None
    assert needs.map_points is not None
    ratio = found.ratio
    assert ratio is not None
    assert ratio.value == pytest.approx(0.40 / 0.30)
    for end in ("low", "value", "high"):
        asked = getattr(ratio, end)
        left_wh = 2.0 * (1 - getattr(needs.energy_share, end))
        assert 0.30 / left_wh == pytest.approx(0.15 * asked)
        assert getattr(needs.map, end) / 2.0 == pytest.approx(0.15 * asked)
        points = getattr(needs.map_points, end)
        assert 0.30 + points / 100 == pytest.approx(getattr(needs.map, end))
    assert ratio.low is not None
    assert ratio.high is not None
    assert ratio.low < ratio.value < ratio.high
    assert needs.energy_wh.low == pytest.approx(2.0 / ratio.high)


def test_nothing_follows_from_a_gap_that_may_be_noise() -> None:
    found = gap(noise=0.10)
    assert found.ratio is not None
    assert found.ratio.low is not None
    assert found.ratio.low < 1 < found.ratio.value
    assert found.needs is None
    assert not found.is_sure


def test_a_map_above_1_at_one_end_is_none_to_reach() -> None:
    own = place("own", 1, 0.90, 2.0, 2)
    for high, is_told in ((1.10, True), (1.12, False)):
        needs = needs_of(own, Estimate(1.05, 1.01, high))
        assert (needs.map is not None) is is_told
        assert (needs.map_points is not None) is is_told
        assert needs.energy_share.high is not None


def test_a_gap_without_halves_has_no_interval_and_no_advice() -> None:
    own = place(
        "own",
        1,
        0.3,
        2.0,
        2,
    )
    found = gap_between(
        own,
        place(
            "other",
            2,
            0.4,
            2.0,
        ),
        {},
    )
    assert found.ratio is not None
    assert found.ratio.low is None
    assert (found.needs, found.is_sure, found.map_chance) == (None, False, None)


def test_a_map_above_1_is_not_asked_for() -> None:
    own = place(
        "own",
        1,
        0.6,
        2.0,
        2,
    )
    other = place(
        "other",
        2,
        0.6,
        1.0,
    )
    known = {1: halved(0.6, 2.0, 0.001), 2: halved(0.6, 1.0, 0.001)}
    needs = gap_between(own, other, known).needs
    assert needs is not None
    assert needs.map is None
    assert needs.map_points is None
    assert needs.energy_share.value == pytest.approx(0.5)


def test_the_interval_of_a_ratio_holds_as_often_as_stated() -> None:
    """Two teams on images of their own: the ratio of the true means lies in the interval in 95 of 100 contests."""
    chance = np.random.default_rng(7)
    held = 0
    for _ in range(400):
        first, second = (
            Halved(
                mean + chance.normal(0, 0.02),
                mean + chance.normal(0, 0.02 * 2**0.5, HALVES),
                images=mean,
            )
            for mean in (0.4, 0.3)
        )
        low, high = ratio_interval(first, second)
        held += low <= 0.4 / 0.3 <= high
    assert 0.92 <= held / 400 <= 0.98


def test_a_lever_closes_the_gap_only_with_its_least_effect_at_the_gap_s_upper_end() -> (
    None
):
    above = gap(noise=0.005)
    assert above.ratio.high is not None
    most = above.ratio.high
    enough = Cost(
        ErrorType.MISSED,
        9,
        0.30 * (most - 1) + 1e-6,
        0.1,
    )
    best_guess = Cost(
        ErrorType.BACKGROUND,
        9,
        0.30 * (above.ratio.value - 1),
        0.1,
    )
    total = Cost(
        ErrorType.FALSE_POSITIVE,
        9,
        0.9,
        0.4,
    )
    found = levers(
        above,
        0.30,
        [best_guess, total, enough],
        None,
        None,
    )
    assert [(one.error, one.closes) for one in found] == [
        (ErrorType.MISSED, True),
        (ErrorType.BACKGROUND, False),
    ]
    assert {one.kind for one in found} == {LeverKind.MENDED}
    wide = levers(
        gap(noise=0.10),
        0.30,
        [enough],
        None,
        None,
    )
    assert [one.closes for one in wide] == [False]
    unknown = levers(
        None,
        0.30,
        [enough],
        None,
        None,
    )
    assert [one.closes for one in unknown] == [False]


def judged(hall: House, team: str, found: float, energy_wh: float) -> int:
    contest = hall.contest
    rows = guesses(contest, found)
    run = closed_run(
        contest,
        rows,
        team=team,
        energy_wh=energy_wh,
    )
    judge_with_interval(contest, run.id, Clock())
    return run.id


def test_a_report_compares_with_published_runs_only_and_with_none_while_frozen(
    build: Callable[..., House],
) -> None:
    hall = build(publish_by=1)
    contest = hall.contest
    store = hall.store
    own = judged(
        hall,
        "own",
        0.5,
        0.1,
    )
    judged(
        hall,
        "rival",
        0.9,
        0.05,
    )
    store.decisions.add(
        own,
        store.scores.latest(own).judged_utc,
        "published",
        "anna",
        NOW,
    )
    found = place_of(contest, store.runs.get(own), NOW)
    assert found.place is not None
    assert found.place.rank == 1
    assert found.above is None
    assert found.below is None
    store.published.freeze(NOW, "{}")
    found = place_of(contest, store.runs.get(own), NOW)
    assert found.place is None
    assert found.why_none is not None


def test_neighbours_are_compared_by_what_the_board_knows_of_them(
    build: Callable[..., House],
) -> None:
    hall = build()
    ahead = judged(
        hall,
        "ahead",
        1.0,
        0.05,
    )
    own = judged(
        hall,
        "own",
        1.0,
        0.1,
    )
    last = judged(
        hall,
        "last",
        1.0,
        0.2,
    )
    found = place_of(hall.contest, hall.store.runs.get(own), NOW)
    assert found.above is not None
    assert found.below is not None
    assert found.above.place.standing.run == ahead
    assert found.below.place.standing.run == last
    assert found.above.ratio.value == pytest.approx(2.0)
    assert not found.below.ahead
    assert found.below.ratio.value == pytest.approx(2.0)
    assert found.above.needs is not None
    assert found.above.needs.energy_share.value == pytest.approx(0.5)
    assert found.above.covers == "same images; the energy spread is unknown"


def test_the_energy_before_the_first_image_counts_less_its_limit_of_error(
    build: Callable[..., House],
) -> None:
    hall = build()
    own = judged(
        hall,
        "own",
        1.0,
        0.1,
    )
    run = hall.store.runs.get(own)
    course = course_of(hall.contest, run)
    found = effect_of_waiting(hall.contest, run, course)
    assert found is not None
    assert found.low is not None
    assert found.value == pytest.approx(10.0 / 9.5)  # half a second of ten
    assert found.low < 1 < found.value
    waited = levers(
        None,
        0.3,
        [],
        None,
        found,
    )
    assert waited == ()
