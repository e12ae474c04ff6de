"""The band of stop regret claims an earlier log-out no more often than stated where the end is the best."""

from __future__ import annotations

import numpy as np
import pytest

from lpirc_score.analysis.interval import LEVEL
from referee.judging.stop_band import stop_band
from tests.referee.judging.simulated_stops import MOMENTS, Answered, Floats, answered

RUNS = 120
MOST_CLAIMS = 12
"""By more than this, a procedure that is wrong with the stated chance of 5 % would pass once in eighty times."""


@pytest.fixture(scope="module")
def mean_maps() -> Floats:
    """The mean mAP over time, from other runs than those that are tried."""
    found = [answered(seed).maps() for seed in range(10_000, 10_400)]
    return np.mean(found, axis=0)


@pytest.fixture(scope="module")
def runs() -> list[Answered]:
    return [answered(seed) for seed in range(RUNS)]


def claims(runs: list[Answered], energy_wh: Floats) -> int:
    return sum(bool((one.band(energy_wh).low[:-1] > 1).any()) for one in runs)


def test_runs_whose_score_stays_the_same_on_average_are_seldom_told_to_stop_earlier(
    runs: list[Answered],
    mean_maps: Floats,
) -> None:
    """The hardest case: no moment is better than the end, and each is as good. The highest moment is always noise."""
    assert LEVEL == 0.95
    scores = [one.maps() / mean_maps for one in runs]
    by_the_highest = sum(bool(one[:-1].max() > one[-1]) for one in scores)
    assert by_the_highest > 0.9 * RUNS
    assert claims(runs, mean_maps) <= MOST_CLAIMS


def test_runs_whose_score_grows_to_the_end_are_seldom_told_to_stop_earlier(
    runs: list[Answered],
    mean_maps: Floats,
) -> None:
    """A start that took a tenth of the energy before the first image."""
    assert claims(runs[:40], mean_maps + 0.1 * mean_maps[-1]) <= 2


def test_a_run_whose_last_third_cost_twice_is_told_and_the_band_holds_the_truth(
    runs: list[Answered],
    mean_maps: Floats,
) -> None:
    first = MOMENTS * 2 // 3
    each = np.where(np.arange(MOMENTS) < first, 1.0, 2.5)
    energy_wh = np.cumsum(each)
    true = mean_maps / energy_wh * energy_wh[-1] / mean_maps[-1]
    assert claims(runs[:40], energy_wh) >= 30
    held = 0
    for one in runs[:40]:
        band = one.band(energy_wh)
        at = int(np.argmax(band.low))
        held += bool(band.low[at] <= true[at] <= band.high[at])
    assert held >= 36


def test_the_energy_limit_widens_the_band_and_an_unknown_moment_has_none() -> None:
    maps = np.array([0.5, 0.5, 0.5])
    same = np.full((3, 10), 0.5)
    energy_wh = np.array([0.01, 0.05, 0.1])
    limit_wh = np.array([0.02, 0.025, 0.0])
    known = np.array([False, True, True])
    elapsed_s = np.array([1.0, 5.0, 10.0])
    band = stop_band(
        elapsed_s,
        maps,
        same,
        energy_wh,
        limit_wh,
        known,
    )
    assert np.isnan(band.ratio[0])
    assert band.ratio[1] == pytest.approx(2.0)
    assert band.low[1] == pytest.approx(2.0 / 1.5)
    assert band.high[1] == pytest.approx(2.0 * 1.5)
    assert (band.low[2], band.ratio[2], band.high[2]) == (1.0, 1.0, 1.0)


def test_a_local_mean_of_moments_that_are_no_better_is_no_better() -> None:
    """One moment after another lies below 1, so no smoothing may make a claim of them."""
    maps = np.linspace(0.1, 1.0, 50)
    energy_wh = maps * np.linspace(1.3, 1.0, 50)
    band = stop_band(
        np.linspace(1.0, 50.0, 50),
        maps,
        np.tile(maps[:, None], 10),
        energy_wh,
        np.zeros(50),
        np.ones(50, np.bool_),
    )
    assert (band.ratio <= 1).all()


def test_nothing_found_has_no_band_but_at_the_end() -> None:
    nothing = np.zeros(3)
    known = np.ones(3, np.bool_)
    at = np.arange(1.0, 4.0)
    band = stop_band(
        at,
        nothing,
        np.zeros((3, 10)),
        at,
        nothing,
        known,
    )
    assert np.isnan(band.low).tolist() == [True, True, False]


def test_few_orders_widen_the_band_as_by_student_s_distribution() -> None:
    """Five orders: 2.776 standard deviations instead of 1.960."""
    off = np.array([-0.02, -0.01, 0.0, 0.01, 0.02])
    in_orders = np.array([0.5 * (1 + off), np.full(5, 0.5)])
    band = stop_band(
        np.array([5.0, 10.0]),
        np.array([0.5, 0.5]),
        in_orders,
        np.array([0.05, 0.1]),
        np.zeros(2),
        np.ones(2, np.bool_),
    )
    half_width = np.log(band.high[0] / band.ratio[0])
    assert half_width / np.std(off, ddof=1) == pytest.approx(2.776, rel=0.06)
