"""How often the interval of an idle power holds its truth, for loads whose readings are and are not independent."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from lpirc_power.energy.correlated_mean import correlated_mean, neighbours_agree

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]
UPDATE_S = 0.25
IDLE_30_S = 120
"""Updates of 30 s."""
DRAWS = 1000


def independent(rng: np.random.Generator, count: int) -> Floats:
    return rng.normal(size=count)


def slow(tau_s: float) -> Draw:
    """A power that forgets its past with this time constant: AR(1)."""

    def draw(rng: np.random.Generator, count: int) -> Floats:
        kept = math.exp(-UPDATE_S / tau_s)
        new = rng.normal(size=count) * math.sqrt(1.0 - kept * kept)
        found = np.empty(count)
        last = rng.normal()
        for place in range(count):
            last = kept * last + new[place]
            found[place] = last
        return found

    return draw


def bursts(each_s: float, lasts_s: float) -> Draw:
    """Bursts of 5 W at any time, one in `each_s` on average, less their mean power."""

    def draw(rng: np.random.Generator, count: int) -> Floats:
        found = 0.02 * rng.normal(size=count) - 5.0 * lasts_s / each_s
        end_s = count * UPDATE_S
        number = rng.poisson((end_s + lasts_s) / each_s)
        for begin_s in rng.uniform(-lasts_s, end_s, size=number):
            begin = max(0, int(begin_s / UPDATE_S))
            end = max(0, int((begin_s + lasts_s) / UPDATE_S))
            found[begin:end] += 5.0
        return found

    return draw


def wave(period_s: float) -> Draw:
    def draw(rng: np.random.Generator, count: int) -> Floats:
        turns = np.arange(count) * UPDATE_S / period_s + rng.random()
        return np.sin(2.0 * np.pi * turns) + 0.02 * rng.normal(size=count)

    return draw


def held(draw: Draw, count: int, draws: int = DRAWS) -> float:
    """Return the part of the measurements whose interval holds the true mean, 0."""
    rng = np.random.default_rng(37)
    found = 0
    for _ in range(draws):
        values = draw(rng, count).tolist()
        found += abs(math.fsum(values) / count) <= correlated_mean(values).half
    return found / draws


@pytest.mark.parametrize(
    ("draw", "count", "least"),
    [
        (independent, IDLE_30_S, 0.91),
        (independent, 15, 0.96),
        (slow(1.0), IDLE_30_S, 0.95),
        (slow(3.0), IDLE_30_S, 0.915),
        (slow(10.0), IDLE_30_S, 0.80),
        (slow(10.0), 4 * IDLE_30_S, 0.92),
        (bursts(5.0, 0.5), IDLE_30_S, 0.945),
        (bursts(20.0, 1.0), 4 * IDLE_30_S, 0.945),
        (wave(7.0), IDLE_30_S, 0.99),
    ],
)
def test_the_interval_holds_the_idle_power(
    draw: Draw, count: int, least: float
) -> None:
    """Each bound is so far below the measured part that other draws would miss it in less than 1 of 1,000,000 tests."""
    assert held(draw, count) > least


def test_a_wave_longer_than_the_idle_time_asks_for_more() -> None:
    rng = np.random.default_rng(1)
    short = correlated_mean(wave(40.0)(rng, 40).tolist())
    whole = correlated_mean(wave(40.0)(rng, 16 * IDLE_30_S).tolist())
    assert short.lengthen > 2.0
    assert whole.lengthen == 1.0


def test_independent_powers_ask_for_no_more_time_and_keep_ten_parts() -> None:
    values = np.random.default_rng(1).normal(size=IDLE_30_S).tolist()
    assert not neighbours_agree(values)
    found = correlated_mean(values)
    assert (found.freedom, found.lengthen) == (9.0, 1.0)


@pytest.mark.parametrize("count", [2, 3, 5, 9, 11, 14, 29, 31])
def test_equal_powers_have_no_spread_in_any_number(count: int) -> None:
    found = correlated_mean([7.0] * count)
    assert (found.standard, found.lengthen) == (0.0, 1.0)
    assert found.freedom >= 1.0


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_powers_show_no_spread(count: int) -> None:
    found = correlated_mean([7.0] * count)
    assert math.isnan(found.standard)


def test_few_independent_powers_seldom_ask_for_more_time() -> None:
    """About 3 of 100 do; 1,000 draws give more than 80 in less than 1 of 1,000,000 tests."""
    rng = np.random.default_rng(15)
    drawn = [correlated_mean(rng.normal(size=15).tolist()) for _ in range(DRAWS)]
    assert sum(one.lengthen > 1.0 for one in drawn) <= 80
