"""Computes how certain scores and their order are, from the mAPs of halves and the limits of error of energies."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Quantity = Literal["score", "map", "energy"]

Z = 1.959963984540054
"""Standard deviations on either side of the mean that contain 95 % of a normal distribution."""
LEVEL = 0.95
STEEPEST_BIAS = 1 / (math.sqrt(2) - 1)
"""Ratio of the bias to the gap between halves and whole, if the bias falls as 1/sqrt(images). For 1/images it is 1."""
_BEST_OF: Mapping[int, float] = {
    2: 0.6817,
    3: 0.5595,
    4: 0.4917,
    5: 0.4475,
    6: 0.4159,
    7: 0.3919,
    8: 0.3729,
}
"""The variance of the least of n standard normal draws, by n (Teichroew 1956). For more than 8, that of 8 is used."""
_NEARLY_NORMAL = 1e6
_WIDEST = 1e6
_WIDEST_LOGARITHM = 100.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


@dataclass(frozen=True)
class MapIntervals:
    """The intervals of a mAP at LEVEL, estimated from its halves; its standard error `spread` and least `bias`.

    `mean` is the interval of the mean over sets of this size from the same population, `other` that of the mAP on
    another such set, and `unlimited` that of the mAP on unlimited images, widened by the uncertainty of the bias.
    """

    spread: float
    bias: float
    mean: tuple[float, float]
    other: tuple[float, float]
    unlimited: tuple[float, float]


def map_intervals(value: float, halves: Floats) -> MapIntervals:
    """Return the intervals of a mAP from the mAPs of its halves (R,), added in the order of the halves.

    Halves of n images drawn without replacement vary about their mean as whole sets do: a mean of n / 2 out of n values
    has the variance s^2 / (n / 2) x (1 - 1/2) = s^2 / n. The difference of two independent sets has twice that
    variance. A bias that falls as 1/n is as large in the whole set as the gap between halves and whole; one that falls
    as 1/sqrt(n) is STEEPEST_BIAS times as large.
    """
    count = len(halves)
    middle = _sum(halves) / count
    squares = (halves - middle) ** 2
    spread = math.sqrt(_sum(squares) / count)
    bias = middle - value
    corrected = sorted((value - bias, value - bias * STEEPEST_BIAS))
    return MapIntervals(
        spread,
        bias,
        mean=_inside(value - Z * spread, value + Z * spread),
        other=_inside(
            value - Z * spread * math.sqrt(2), value + Z * spread * math.sqrt(2)
        ),
        unlimited=_inside(corrected[0] - Z * spread, corrected[1] + Z * spread),
    )


def score_interval(
    value: float,
    spread: float,
    energy_wh: float,
    limit: float,
) -> tuple[float, float]:
    """Return the interval of the mean score over test sets of the same size.

    It follows from the mAP, its spread, and the relative limit of error of the energy. Every energy within a maker's
    limit of error is taken as equally likely (JCGM 100:2008, 4.3.7), so its standard deviation is the limit / sqrt(3).
    """
    score = value / energy_wh
    of_images = spread / energy_wh
    of_energy = score * limit
    variance = of_images * of_images + of_energy * of_energy / 3
    half_width = Z * math.sqrt(variance)
    return max(score - half_width, 0.0), score + half_width


def _sum(values: Floats) -> float:
    return float(np.cumsum(values)[-1])  # one after the other, from the first


def _inside(low: float, high: float) -> tuple[float, float]:
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


ALIKE: Final = 1.03
"""Largest ratio of two powers that are alike to a meter."""


@dataclass(frozen=True)
class EnergySpread:
    """The spread of a team's energy: the standard deviation `sd` of its logarithm over `attempts` (2 or more).

    `attempts` is None if `sd` is an assumed value. It then applies to the team's ranked attempt, and is taken as exact.
    """

    sd: float
    attempts: int | None = None

    @property
    def variance(self) -> float:
        """The variance of the logarithm of the best attempt's energy."""
        if self.attempts is None:
            return self.sd**2
        return self.sd**2 * _BEST_OF[min(self.attempts, max(_BEST_OF))]

    @property
    def freedom(self) -> float:
        """The degrees of freedom of the standard deviation."""
        if self.attempts is None:
            return math.inf
        return self.attempts - 1


@dataclass(frozen=True, eq=False)
class Halved:
    """The mAP of a run and of its halves (R,), and the energy of the run with its uncertainty.

    `shared_limit` is the part of the energy's limit of error that all runs on one meter share, `load_limit` the part
    that they share only if their `load` is alike as well, `own_limit` the part of this run alone; all are relative to
    the energy. `load` is power and apparent power in any unit; None is like no other. `images` identifies the images
    of the halves, and `meter` the meter whose error runs have in common; None equals no other value. `energy_spread`
    is the spread of the team's energy, None if it is not known because there is one attempt.
    """

    map: float
    halves: Floats
    energy_wh: float = 1.0
    shared_limit: float = 0.0
    own_limit: float = 0.0
    load_limit: float = 0.0
    load: tuple[float, float] | None = None
    images: object = None
    meter: object = None
    energy_spread: EnergySpread | None = None

    @functools.cached_property
    def by_half(self) -> Floats:
        """Half the difference within each pair of halves, relative to the mAP; a board asks each run many times."""
        difference: Floats = (self.halves[::2] - self.halves[1::2]) / 2
        if self.map:
            return difference / self.map
        return difference

    def value(self, of: Quantity) -> float:
        """Return the quantity to compare; higher is better."""
        if of == "energy":
            return 1 / self.energy_wh
        if of == "map":
            return self.map
        return self.map / self.energy_wh


def chance_of_order(
    better: Halved,
    other: Halved,
    of: Quantity = "score",
) -> float:
    """Return the chance that `better` has the better mean over sets of this size and over attempts like its own.

    The relative difference is taken as normal. Its variance is the sum of the variances of the halves (in pairs if the
    images are the same), of the limits of error (rectangular), and of the spreads between attempts. Spreads are used
    only if both are known. Otherwise a team could make the lead of a rival with a single attempt look uncertain, by
    wasting energy in a second attempt of its own. With few attempts the distribution is Student's, with the effective
    degrees of freedom of Welch and Satterthwaite (JCGM 100:2008, G.4.1).
    """
    first = better.value(of)
    second = other.value(of)
    if first == second:
        return 0.5
    variance, freedom = _relative_variance(better, other, of)
    if variance == 0:
        if first > second:
            return 1.0
        return 0.0
    ahead = 2 * (first - second) / (first + second)
    return _student(ahead / math.sqrt(variance), freedom)


def ratio_interval(
    better: Halved,
    other: Halved,
    of: Quantity = "score",
) -> tuple[float, float]:
    """Return the interval at LEVEL of the ratio of the two means, that of `better` over that of `other`.

    The logarithm of the ratio is distributed as the relative difference in `chance_of_order`. Both values are above 0.
    """
    variance, freedom = _relative_variance(better, other, of)
    ratio = better.value(of) / other.value(of)
    sure = _student_quantile(1 - (1 - LEVEL) / 2, freedom)
    half_width = min(sure * math.sqrt(variance), _WIDEST_LOGARITHM)
    return ratio * math.exp(-half_width), ratio * math.exp(half_width)


def _relative_variance(
    better: Halved,
    other: Halved,
    of: Quantity,
) -> tuple[float, float]:
    """Return the variance of the relative difference of two values, and its degrees of freedom."""
    variance = 0.0 if of == "energy" else _variance_of_halves(better, other)
    by_freedom = 0.0
    is_shared = better.meter is not None and better.meter == other.meter
    is_alike = is_shared and _has_alike_load(better, other)
    are_known = better.energy_spread is not None and other.energy_spread is not None
    for one in (better, other) if of != "map" else ():
        variance += one.own_limit**2 / 3
        if not is_shared:
            variance += one.shared_limit**2 / 3
        if not is_alike:
            variance += one.load_limit**2 / 3
        if are_known and one.energy_spread is not None:
            variance += one.energy_spread.variance
            by_freedom += one.energy_spread.variance**2 / one.energy_spread.freedom
    freedom = variance**2 / by_freedom if by_freedom else math.inf
    return variance, freedom


def _has_alike_load(one: Halved, other: Halved) -> bool:
    """Return True if power and apparent power agree: within its limit, a meter may err otherwise at another load."""
    if one.load is None or other.load is None:
        return False
    return _are_alike(one.load[0], other.load[0]) and _are_alike(
        one.load[1], other.load[1]
    )


def _are_alike(one: float, other: float) -> bool:
    return one <= ALIKE * other and other <= ALIKE * one


def _variance_of_halves(one: Halved, other: Halved) -> float:
    """Return the variance of the relative difference of two mAPs, from its values on the halves of each pair.

    Two halves are independent sets, so half of their difference varies as a whole set does. On the same images,
    variation that both teams share cancels.
    """
    first = one.by_half
    second = other.by_half
    has_same_images = one.images is not None and one.images == other.images
    if has_same_images:
        difference = first - second
        return float(np.mean(difference**2))
    of_first = np.mean(first**2)
    of_second = np.mean(second**2)
    return float(of_first + of_second)


def _student(t: float, freedom: float) -> float:
    """Return the chance of a value below `t` by Student's distribution, by integrating over atan(t / sqrt(freedom))."""
    if freedom > _NEARLY_NORMAL:
        return 0.5 + 0.5 * math.erf(t / math.sqrt(2))
    angle = math.atan(t / math.sqrt(freedom))
    nodes = angle * (_NODES + 1) / 2
    heights = np.cos(nodes) ** (freedom - 1)
    total = float(np.sum(_WEIGHTS * heights))
    area = angle / 2 * total

    log_above = math.lgamma((freedom + 1) / 2)
    log_below = math.lgamma(freedom / 2)
    scale = math.exp(log_above - log_below) / math.sqrt(math.pi)
    return min(max(0.5 + scale * area, 0.0), 1.0)


def _student_quantile(chance: float, freedom: float) -> float:
    """Return the value that a draw of Student's distribution stays below with the `chance` (0.5 to 1)."""
    high = 1.0
    while _student(high, freedom) < chance and high < _WIDEST:
        high *= 2
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        if _student(middle, freedom) < chance:
            low = middle
        else:
            high = middle
    return high
