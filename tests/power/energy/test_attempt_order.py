"""Attempts that are not independent ones of normal scatter are told, and those that are hardly ever."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from lpirc_power.energy.attempt_order import (
    FALSE_ALARM,
    attempt_warnings,
    chance_of_trend,
    outliers_of,
)

SERIES = 2_000
DEVIATION = 0.01
# 4.3 standard deviations above the stated rate: 1 of 10^5 tests.
MOST_TOLD = FALSE_ALARM + 4.3 * math.sqrt(FALSE_ALARM * (1 - FALSE_ALARM) / SERIES)


def warned(energies_wh: list[float]) -> list[str]:
    return attempt_warnings(energies_wh, [f"{place}" for place in range(1, 100)])


def normal(count: int, rng: np.random.Generator) -> np.ndarray:
    return 1.0 + DEVIATION * rng.normal(size=count)


@pytest.mark.parametrize("count", [5, 6, 7, 10, 15, 20, 30])
def test_independent_attempts_are_seldom_told(count: int) -> None:
    rng = np.random.default_rng(count)
    told = {"trend": 0, "outlier": 0}
    for _ in range(SERIES):
        words = " ".join(warned(normal(count, rng).tolist()))
        told["trend"] += "from attempt to attempt" in words
        told["outlier"] += "Far outside" in words
    for number in told.values():
        assert number / SERIES <= MOST_TOLD


def test_the_chance_of_an_order_is_that_of_all_orders_of_seven() -> None:
    orders = list(itertools.permutations(range(7)))
    sizes = [abs(_steps(one)) for one in orders]
    for one in orders[::97]:
        chance = sum(size >= abs(_steps(one)) for size in sizes) / len(orders)
        assert chance_of_trend(one) == pytest.approx(chance)


def _steps(order: tuple[int, ...]) -> int:
    pairs = list(itertools.combinations(order, 2))
    rises = sum(later > one for one, later in pairs)
    return 2 * rises - len(pairs)


@pytest.mark.parametrize(
    ("count", "steps", "chance"),
    [(4, 6, 0.042), (5, 8, 0.042), (8, 16, 0.031), (10, 21, 0.036), (10, 31, 0.0024)],
)
def test_the_chance_of_an_order_is_that_of_kendalls_table(
    count: int, steps: int, chance: float
) -> None:
    left = list(range(count))
    inversions = (count * (count - 1) // 2 - steps) // 2
    order = []
    while left:
        place = min(inversions, len(left) - 1)
        order.append(left.pop(place))
        inversions -= place
    assert chance_of_trend(order) / 2.0 == pytest.approx(chance, rel=0.06)


def test_many_attempts_have_the_chance_of_the_normal_distribution() -> None:
    rng = np.random.default_rng(5)
    found = [chance_of_trend(normal(80, rng).tolist()) for _ in range(400)]
    # 0.05 +-0.043 is 4 standard deviations of a share of 400.
    assert np.mean(np.array(found) <= 0.05) == pytest.approx(0.05, abs=0.043)
    assert chance_of_trend(list(range(80))) < 1e-12


def test_equal_attempts_have_no_trend_and_no_outlier() -> None:
    assert chance_of_trend([1.0] * 9) == 1.0
    assert outliers_of([1.0] * 9) == []
    assert warned([1.0] * 9) == []


ROSNER = [
    -0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49, 1.49, 1.55, 1.56, 1.58, 1.65, 1.69, 1.70,
    1.76, 1.77, 1.81, 1.91, 1.94, 1.96, 1.99, 2.06, 2.09, 2.10, 2.14, 2.15, 2.23, 2.24, 2.26, 2.35, 2.37, 2.40,
    2.47, 2.54, 2.62, 2.64, 2.90, 2.92, 2.92, 2.93, 3.21, 3.26, 3.30, 3.59, 3.68, 4.30, 4.64, 5.34, 5.42, 6.01,
]  # fmt: skip
"""The example of Rosner's paper, as NIST's handbook (1.3.5.17.3) has it: three outliers at a level of 5 %."""


def test_the_outliers_are_those_of_rosners_example() -> None:
    found = [ROSNER[place] for place in outliers_of(ROSNER, 0.05)]
    assert found == [6.01, 5.42, 5.34]


def test_attempts_that_warm_up_are_told_with_their_change() -> None:
    rng = np.random.default_rng(1)
    rise = 0.05 * (1.0 - np.exp(-np.arange(7) / 5.0))
    (told,) = warned((1.0 + rise + 0.002 * rng.normal(size=7)).tolist())
    assert told.startswith("The energies rise from attempt to attempt, by ")
    assert "--warm-up" in told
    (told,) = warned((1.0 - rise).tolist())
    assert told.startswith("The energies fall from attempt to attempt, by ")


@pytest.mark.parametrize("places", [(3,), (3, 9), (0, 1, 2, 15)])
def test_costly_attempts_are_named_also_where_there_are_several(
    places: tuple[int, ...],
) -> None:
    rng = np.random.default_rng(2)
    energies_wh = 1.0 + 0.005 * rng.normal(size=20)
    energies_wh[list(places)] += 0.3
    assert set(outliers_of(energies_wh.tolist())) == {*places}
    told = [one for one in warned(energies_wh.tolist()) if "Far outside" in one]
    assert len(told) == 1
    for place in places:
        assert f"{place + 1} by +3" in told[0] or f"{place + 1} by +29" in told[0]


def test_what_changes_nothing_is_not_told() -> None:
    # Differences of 0.01 %: a counter's last digit.
    assert warned([1.0, 1.0, 1.0, 1.0, 1.0001]) == []
    assert warned([1.0 + 1e-5 * place for place in range(8)]) == []


@pytest.mark.parametrize(
    "energies_wh", [[], [1.0], [1.0, 1.0, 1.0, 9.0], [1.0, 2.0, math.nan, 3.0, 4.0]]
)
def test_too_few_attempts_and_those_without_an_energy_are_not_judged(
    energies_wh: list[float],
) -> None:
    assert warned(energies_wh) == []


def test_energies_whose_mean_is_0_are_no_failure() -> None:
    assert warned([-1.0, 1.0, -1.0, 1.0, 0.0]) == []
