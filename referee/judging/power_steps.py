"""The power of a run as a few steps, and the part of its energy that the board would have used idle. Pure.

The steps are the piecewise constant course with the least sum of squares plus a penalty for each step (optimal
partitioning: Jackson et al. 2005), of 4 log(n) times the variance of a sum of readings. That variance is taken from
blocks of readings, since neighbouring readings of a working board are alike. Steps of nearly one power share a level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from referee.store.records import Run

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_BINS = 400
MOST_STEPS = 12
MOST_LEVELS = 5
LEAST_BINS = 8
SHORTEST = 3
"""A step of fewer bins between a lower and a higher one is the edge between them."""
ALIKE = 0.03
"""Levels that differ by less than this part of the mean power are one level."""
LEAST_S = 1.0
LEAST_SHARE = 0.02
"""A level is steady if it lasts at least LEAST_S and this part of the run."""


@dataclass(frozen=True)
class PowerStep:
    """A section of a run with a constant power, that of its level."""

    start_s: float
    end_s: float
    power_w: float


@dataclass(frozen=True)
class PowerLevel:
    """A level of power, and how long the run was at it."""

    power_w: float
    elapsed_s: float


class FloorSource(StrEnum):
    """Where the power of the idle board is known from."""

    MEASURED = "measured"
    LOWEST = "lowest"


@dataclass(frozen=True)
class IdleFloor:
    """The power of the idle board, and the energy and the share of the run's energy that it makes up.

    LOWEST: the idle board was not measured, and the power is that of the lowest steady level of the run, at which the
    board may have worked.
    """

    power_w: float
    source: FloorSource
    energy_wh: float
    share: float


def idle_floor(run: Run, levels: tuple[PowerLevel, ...]) -> IdleFloor | None:
    """Return the idle floor of a run, by the power measured at arming, else by its `levels`; None if neither is known.

    None, too, for a run without an energy above 0. The only level of a run says nothing of the idle board.
    """
    if run.elapsed_s is None or not run.energy_wh or not run.energy_wh > 0:
        return None
    source = FloorSource.MEASURED
    power_w = run.idle_power_w
    if power_w is None:
        source = FloorSource.LOWEST
        if len(levels) < 2:
            return None
        least_s = max(LEAST_S, LEAST_SHARE * run.elapsed_s)
        steady = [one.power_w for one in levels if one.elapsed_s >= least_s]
        power_w = min(steady, default=None)
    if power_w is None or power_w <= 0:
        return None
    energy_wh = power_w * run.elapsed_s / 3600
    return IdleFloor(power_w, source, energy_wh, energy_wh / run.energy_wh)


def levels_of(steps: tuple[PowerStep, ...]) -> tuple[PowerLevel, ...]:
    """Return the levels of steps, the lowest first."""
    lasted_s: dict[float, float] = {}
    for one in steps:
        before_s = lasted_s.get(one.power_w, 0.0)
        lasted_s[one.power_w] = before_s + one.end_s - one.start_s
    return tuple(PowerLevel(*one) for one in sorted(lasted_s.items()))


def power_steps(
    reading_s: Floats,
    power_w: Floats,
    elapsed_s: float,
) -> tuple[PowerStep, ...]:
    """Return the steps of the power (r,) read at `reading_s` (r,) of a run, from 0 to its end.

    Without readings there are none.
    """
    is_in = (reading_s >= 0) & (reading_s <= elapsed_s)
    when_s = reading_s[is_in]
    power_w = power_w[is_in]
    if not len(when_s):
        return ()
    bins = np.array_split(np.arange(len(when_s)), min(MOST_BINS, len(when_s)))
    means = np.array([power_w[one].mean() for one in bins])
    bounds = _bounds(means)
    pairs = list(pairwise(bounds))
    counts = np.array([last - first for first, last in pairs])
    heights = np.array([means[first:last].mean() for first, last in pairs])
    heights = _levelled(heights, counts)

    starts_s = [when_s[bins[first][0]] for first in bounds[1:-1]]
    edges_s = [0.0, *map(float, starts_s), elapsed_s]
    steps: list[PowerStep] = []
    for place, height in enumerate(heights.tolist()):
        start_s = edges_s[place]
        if steps and steps[-1].power_w == height:
            start_s = steps.pop().start_s
        steps.append(PowerStep(start_s, edges_s[place + 1], height))
    return tuple(steps)


def _bounds(means: Floats) -> list[int]:
    """Return the first bin of each step, and the number of bins: at most MOST_STEPS steps."""
    if len(means) < LEAST_BINS:
        return [0, len(means)]
    penalty = 4 * math.log(len(means)) * _long_run_variance(means)
    penalty = max(penalty, 1e-9 * float(np.sum(means**2)) + 1e-12)
    while True:
        bounds = _without_edges(means, _partition(means, penalty))
        if len(bounds) <= MOST_STEPS + 1:
            return bounds
        penalty *= 2


def _long_run_variance(means: Floats) -> float:
    """Return the variance of a sum of bins, for each bin, robustly from differences of the means of blocks."""
    size = max(2, round(len(means) ** (1 / 3)))
    blocks = means[: len(means) // size * size].reshape(-1, size).mean(axis=1)
    differences = np.abs(np.diff(blocks))
    spread = float(np.median(differences)) / 0.6745 / math.sqrt(2)
    return float(size * spread**2)


def _partition(values: Floats, penalty: float) -> list[int]:
    """Return the bounds of the partition with the least sum of squares plus `penalty` for each part."""
    count = len(values)
    sums = np.append(0.0, np.cumsum(values))
    squares = np.append(0.0, np.cumsum(values**2))
    least = np.zeros(count + 1)
    before = np.zeros(count + 1, np.int64)
    least[0] = -penalty
    for end in range(1, count + 1):
        starts = np.arange(end)
        total = sums[end] - sums[starts]
        within = squares[end] - squares[starts] - total**2 / (end - starts)
        costs = least[starts] + within + penalty
        before[end] = int(np.argmin(costs))
        least[end] = costs[before[end]]
    bounds = [count]
    while bounds[-1] > 0:
        bounds.append(int(before[bounds[-1]]))
    return bounds[::-1]


def _without_edges(means: Floats, bounds: list[int]) -> list[int]:
    """Return the bounds without the steps that are only the edge between two others."""
    kept = bounds[:]
    for first, last in pairwise(bounds[1:-1]):
        if last - first >= SHORTEST or first not in kept:
            continue
        place = kept.index(first)
        lower, own, higher = (
            float(means[start:end].mean())
            for start, end in pairwise(kept[place - 1 : place + 3])
        )
        if min(lower, higher) < own < max(lower, higher):
            kept[place : place + 2] = [(first + last) // 2]
    return kept


def _levelled(heights: Floats, counts: Ints) -> Floats:
    """Return the heights (n,) with those that are nearly one, or too many, replaced by their common mean."""
    levels = [[place] for place in np.argsort(heights, kind="stable").tolist()]
    alike = ALIKE * abs(float(np.average(heights, weights=counts)))

    def mean(level: list[int]) -> float:
        return float(np.average(heights[level], weights=counts[level]))

    while len(levels) > 1:
        gaps = np.diff([mean(one) for one in levels])
        nearest = int(np.argmin(gaps))
        if gaps[nearest] >= alike and len(levels) <= MOST_LEVELS:
            break
        levels[nearest] += levels.pop(nearest + 1)
    levelled = heights.copy()
    for level in levels:
        levelled[level] = mean(level)
    return levelled
