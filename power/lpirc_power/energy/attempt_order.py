"""What repeated attempts show against taking them as independent: a trend in their order, and outliers. Pure.

The interval of a mean by Student's t is right for independent attempts of about normal scatter. Two tests find what is
not so, each with a false alarm in at most `FALSE_ALARM` of series that are: the rank test of Mann and Kendall for a
trend, and Rosner's generalized test for outliers (for a single one, that of Grubbs).
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Final

import numpy as np

from lpirc_power.energy.coverage import student_factor

FALSE_ALARM: Final = 0.02
"""Largest part of series of independent attempts with normal scatter in which each of both tests warns."""
OUTLIER_LEVEL: Final = FALSE_ALARM / 2
"""Level of each step of the test for outliers: it takes several, so its false alarms are more than that."""
LEAST_TOLD: Final = 0.001
"""Part of the mean below which a trend or a distance is not told, since it changes no conclusion."""
MOST_OUTLIERS: Final = 0.2
"""Part of the attempts that are looked at as outliers."""
LEAST_ATTEMPTS: Final = 5
"""Attempts from which on both tests are made: of fewer, no order is rare, and two that agree by chance decide."""
MOST_RANKED: Final = 60
"""Attempts up to which the chance of an order is counted; the normal distribution is close enough for more."""


def attempt_warnings(energies_wh: Sequence[float], names: Sequence[str]) -> list[str]:
    """Return sentences about attempts, in their order, that are not independent ones of about normal scatter."""
    if len(energies_wh) < LEAST_ATTEMPTS or not all(map(math.isfinite, energies_wh)):
        return []
    found = [_trend_words(energies_wh), _outlier_words(energies_wh, names)]
    return [one for one in found if one]


def chance_of_trend(energies_wh: Sequence[float]) -> float:
    """Return how often independent attempts would rise or fall in their order as clearly as these, 0 to 1.

    Source: H. B. Mann, Econometrica 13 (1945), 245; M. G. Kendall, Rank Correlation Methods (1975). Equal energies
    count as no step, which makes the test more cautious.
    """
    count = len(energies_wh)
    pairs = itertools.combinations(energies_wh, 2)
    steps = abs(sum((later > one) - (later < one) for one, later in pairs))
    if not steps:
        return 1.0
    if count > MOST_RANKED:
        variance = count * (count - 1) * (2 * count + 5) / 18.0
        return math.erfc((steps - 1) / math.sqrt(2.0 * variance))
    # An order with j inversions has n (n - 1) / 2 - 2 j more steps up than down.
    inversions = (count * (count - 1) // 2 - steps) // 2
    return min(2.0 * math.fsum(_chances(count)[: inversions + 1]), 1.0)


def outliers_of(
    energies_wh: Sequence[float], level: float = OUTLIER_LEVEL
) -> list[int]:
    """Return the places of attempts that stand far outside the others, the farthest first.

    Source: B. Rosner, Technometrics 25 (1983), 165. Several outliers do not hide each other.
    """
    left = dict(enumerate(energies_wh))
    most = int(MOST_OUTLIERS * len(left))
    taken: list[int] = []
    count = 0
    while len(taken) < most:
        mean_wh = statistics.fmean(left.values())
        deviation_wh = statistics.stdev(left.values())
        if not deviation_wh:
            break
        place = max(left, key=lambda one: abs(left[one] - mean_wh))
        distance = abs(left[place] - mean_wh) / deviation_wh
        is_outside = distance > _largest_distance(len(left), level)
        taken.append(place)
        del left[place]
        if is_outside:
            count = len(taken)
    return taken[:count]


def _trend_words(energies_wh: Sequence[float]) -> str:
    chance = chance_of_trend(energies_wh)
    mean_wh = statistics.fmean(energies_wh)
    change = _slope_wh(energies_wh) * (len(energies_wh) - 1) / abs(mean_wh or math.inf)
    if chance > FALSE_ALARM or abs(change) < LEAST_TOLD:
        return ""
    direction = "rise" if change > 0 else "fall"
    return (
        f"The energies {direction} from attempt to attempt, by {abs(change):.2%} from the first to the last. By chance "
        f"attempts come in such an order in {chance:.2g} of series (Mann and Kendall's test). The mean then depends on "
        "when the series ends, which its interval does not hold. Let more attempts warm up (--warm-up), or pause "
        "between them (--cool-down)."
    )


def _outlier_words(energies_wh: Sequence[float], names: Sequence[str]) -> str:
    places = outliers_of(energies_wh)
    rest = [one for place, one in enumerate(energies_wh) if place not in places]
    mean_wh = statistics.fmean(rest)
    told = []
    for place in places:
        off = (energies_wh[place] - mean_wh) / abs(mean_wh or math.inf)
        if abs(off) >= LEAST_TOLD:
            told.append(f"{names[place]} by {100.0 * off:+.2g} %")
    if not told:
        return ""
    return (
        f"Far outside the other attempts: {', '.join(told)} (Rosner's test, a false alarm in at most "
        f"{FALSE_ALARM:.0%} of series). Look for what else ran. If such attempts belong to the work, make so many that "
        "they come ten times or more: with fewer, the interval of the mean holds less than it says."
    )


def _slope_wh(energies_wh: Sequence[float]) -> float:
    """Return the median of the slopes between any two attempts, by Theil and Sen, in Wh for each attempt."""
    places = itertools.combinations(range(len(energies_wh)), 2)
    return statistics.median(
        (energies_wh[later] - energies_wh[one]) / (later - one) for one, later in places
    )


@functools.lru_cache(maxsize=MOST_RANKED)
def _chances(count: int) -> tuple[float, ...]:
    """Return the chance of each number of inversions of so many attempts in a random order."""
    chances = np.ones(1)
    for size in range(2, count + 1):
        chances = np.convolve(chances, np.full(size, 1.0 / size))
    return tuple(chances.tolist())


@functools.lru_cache(maxsize=1024)
def _largest_distance(count: int, level: float) -> float:
    """Return the largest distance from the mean, in standard deviations, that is no outlier among so many."""
    freedom = count - 2.0
    factor = student_factor(freedom, 1.0 - level / count)
    return (
        (count - 1.0) / math.sqrt(count) * factor / math.sqrt(freedom + factor * factor)
    )
