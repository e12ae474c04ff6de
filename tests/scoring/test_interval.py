from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from lpirc_score.analysis.interval import (
    EnergySpread,
    Halved,
    _student,
    chance_of_order,
    map_intervals,
    score_interval,
)

WIDE = np.random.default_rng(1).normal(0.3, 0.05, 300)
EXACT = np.full(300, 0.3)


def run(
    value: float = 0.3,
    halves: np.ndarray = EXACT,
    images: object = "these",
    **more: object,
) -> Halved:
    return Halved(value, halves, images=images, **more)  # type: ignore[arg-type]


def test_three_intervals_are_told_apart() -> None:
    # Mean 0.33, deviations 0.03, 0.03, 0.05, 0.05.
    halves = np.array([0.30, 0.36, 0.28, 0.38])
    found = map_intervals(0.32, halves)
    spread = math.sqrt(0.0017)
    assert found.spread == pytest.approx(spread)
    assert found.bias == pytest.approx(0.01)
    assert found.mean == pytest.approx(
        (0.32 - 1.96 * spread, 0.32 + 1.96 * spread),
        abs=1e-5,
    )
    assert found.other == pytest.approx(
        (0.32 - 2.772 * spread, 0.32 + 2.772 * spread),
        abs=1e-4,
    )
    low = 0.32 - 0.0241421 - 1.96 * spread
    high = 0.32 - 0.01 + 1.96 * spread
    assert found.unlimited == pytest.approx((low, high), abs=1e-5)


def test_a_negative_gap_to_the_halves_moves_the_unlimited_interval_up() -> None:
    found = map_intervals(0.32, np.full(4, 0.31))
    assert found.unlimited == pytest.approx((0.33, 0.3441421))


def test_no_interval_leaves_nought_to_one() -> None:
    found = map_intervals(0.5, np.array([0.0, 1.0, 0.0, 1.0]))
    assert [found.mean, found.other, found.unlimited] == [(0.0, 1.0)] * 3


def test_the_halves_of_means_spread_as_means_do() -> None:
    """The derivation, for a mean of independent values: the variance of halves is s^2 / n."""
    random = np.random.default_rng(5)
    values = random.normal(0, 1, 100)
    halves = np.array(
        [values[random.permutation(100)[:50]].mean() for _ in range(20_000)]
    )
    assert halves.std() == pytest.approx(values.std(ddof=1) / 10, rel=0.03)


def test_both_sources_add_up_in_the_score_s_interval() -> None:
    assert score_interval(0.3, 0.01, 2.0, 0.0) == pytest.approx(
        (0.15 - 1.96 * 0.005, 0.15 + 1.96 * 0.005),
        abs=1e-6,
    )
    half_width = 1.96 * math.hypot(0.005, 0.15 * 0.03 / math.sqrt(3))
    assert score_interval(0.3, 0.01, 2.0, 0.03) == pytest.approx(
        (0.15 - half_width, 0.15 + half_width),
        abs=1e-6,
    )


def test_a_lead_on_every_half_is_sure_however_far_the_halves_spread() -> None:
    better = run(0.302, WIDE + 0.002)
    other = run(0.3, WIDE)
    assert chance_of_order(better, other) == 1.0
    assert chance_of_order(other, better) == 0.0


def test_equal_scores_are_a_toss() -> None:
    assert chance_of_order(run(), run()) == 0.5
    assert chance_of_order(run(0.3, WIDE), run(0.3, WIDE[::-1].copy())) == 0.5


def test_runs_on_other_images_are_not_compared_half_by_half() -> None:
    sd = np.sqrt(np.mean((WIDE[::2] - WIDE[1::2]) ** 2)) / 2 * math.sqrt(2)
    for theirs in ("others", None):
        chance = chance_of_order(run(0.302, WIDE + 0.002, theirs), run(0.3, WIDE))
        assert chance == pytest.approx(
            0.5 + 0.002 / sd / math.sqrt(2 * math.pi),
            abs=1e-3,
        )
    assert chance_of_order(run(0.4, WIDE, None), run(0.3, WIDE, None)) < 1


def test_errors_of_two_meters_are_independent_and_that_of_one_meter_is_common() -> None:
    limits = {"shared_limit": 0.01, "meter": "m"}
    better, other = (run(energy_wh=wh, **limits) for wh in (2.0, 2.01))
    assert chance_of_order(better, other) == 1.0
    # The lead of 0.5 % is 0.61 deviations of sqrt(2 x 1 % ^ 2 / 3).
    for theirs in ("n", None):
        apart = chance_of_order(better, replace(other, meter=theirs))
        assert apart == pytest.approx(0.729, abs=0.002)


def test_what_depends_on_the_load_is_common_on_one_meter_only_where_loads_are_alike() -> (
    None
):
    limits = {"load_limit": 0.01, "meter": "m"}
    better = run(energy_wh=2.0, load=(10.0, 12.0), **limits)
    other = run(energy_wh=2.01, load=(10.1, 12.1), **limits)
    assert chance_of_order(better, other) == 1.0
    for different in ((10.0, 13.0), (10.5, 12.0), None):
        apart = chance_of_order(better, replace(other, load=different))
        assert apart == pytest.approx(0.729, abs=0.002)
    assert chance_of_order(better, replace(other, meter="n")) < 0.75


def test_what_a_run_does_not_share_with_others_on_its_meter_counts_there_too() -> None:
    """15 uWh between two equal programs of 0.1 Wh: 8 ms of the log-out. Start and stop alone may cost 0.1 %."""
    sure, unsure = (
        chance_of_order(
            run(energy_wh=0.1, own_limit=own, meter="m"),
            run(energy_wh=0.100015, own_limit=own, meter="m"),
        )
        for own in (0.0, 0.001)
    )
    assert sure == 1.0
    assert unsure < 0.6


def test_the_spread_between_attempts_counts_and_few_attempts_widen_it() -> None:
    chances = [
        chance_of_order(
            run(energy_spread=spread),
            run(energy_wh=1.02, energy_spread=spread),
        )
        for spread in (
            None,
            EnergySpread(0.01),
            EnergySpread(0.01, 100),
            EnergySpread(0.01, 3),
            EnergySpread(0.01, 2),
        )
    ]
    assert chances[0] == 1.0
    assert chances[1] == pytest.approx(0.92, abs=0.01)
    assert chances[2] > chances[3] > chances[4] > 0.85


def test_a_wasteful_second_attempt_does_not_make_a_rivals_lead_unsure() -> None:
    better = run(own_limit=0.01)
    other = run(energy_wh=1.05, own_limit=0.01)
    wasteful = replace(other, energy_spread=EnergySpread(0.8, 2))
    assert chance_of_order(better, wasteful) == chance_of_order(better, other) > 0.99


def test_an_order_by_energy_has_no_images_and_one_by_map_no_energy() -> None:
    better = run(0.3, WIDE, None, energy_wh=1.0, own_limit=0.01)
    other = run(0.3, WIDE, None, energy_wh=1.002, own_limit=0.01)
    assert chance_of_order(better, other, "energy") == pytest.approx(0.597, abs=0.003)
    assert chance_of_order(better, other, "map") == 0.5
    certain = replace(better, map=0.31, halves=EXACT), replace(other, halves=EXACT)
    assert chance_of_order(*certain, "map") == 1.0


@pytest.mark.parametrize(
    ("t", "freedom", "chance"),
    [
        (6.313752, 1, 0.95),
        (2.919986, 2, 0.95),
        (-2.919986, 2, 0.05),
        (1.697261, 30, 0.95),
        (1.644854, math.inf, 0.95),
        (1.644869, 1e5, 0.95),
        (0.0, 3, 0.5),
        (1e9, 2, 1.0),
    ],
)
def test_student_s_distribution_is_that_of_the_tables(
    t: float,
    freedom: float,
    chance: float,
) -> None:
    assert _student(t, freedom) == pytest.approx(chance, abs=1e-6)
