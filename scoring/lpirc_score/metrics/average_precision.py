"""Computes the average precision of one category from the ranks of its true positives."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Average = Callable[[Ints, int], float]
"""Maps the ranks of true positives and the number of objects to the AP of a category."""


def best_precisions(ranks: Ints) -> Floats:
    """Return the monotone envelope (T,): for each true positive, the best precision at its recall or above.

    `ranks` (T,) ascend from 1. They rank the true positives among all counted detections of the category.
    """
    precision = np.arange(1, len(ranks) + 1) / ranks
    backwards = np.maximum.accumulate(precision[::-1])
    return backwards[::-1]


def area_under_envelope(ranks: Ints, objects: int) -> float:
    """Return the area under the monotone precision-recall curve: the sum of the envelope divided by `objects`.

    This is the AP of VOC since 2010 and of ILSVRC DET. The sum is exact (`math.fsum`), so no order of summation can
    change the result.
    """
    return math.fsum(best_precisions(ranks).tolist()) / objects


def mean_at(
    recalls: Floats,
    ranks: Ints,
    objects: int,
) -> float:
    """Return the mean, over the recalls, of the best precision at each recall or above.

    The precision is 0 beyond the highest recall reached.
    """
    recall = np.arange(1, len(ranks) + 1) / objects
    at = np.searchsorted(recall, recalls)
    reached = at[at < len(ranks)]
    return math.fsum(best_precisions(ranks)[reached].tolist()) / len(recalls)


def averages(
    true: Bools,
    counted: Bools,
    starts: Ints,
    objects: Ints,
    average: Average,
) -> Floats:
    """Return the AP (K,) of every category, NaN for categories without `objects` (K,).

    Detections (M,) are sorted by category and rank: category k is `starts[k]` .. `starts[k + 1] - 1`. `true` marks
    those that find an object, `counted` those that are not ignored.
    """
    ranks, bounds = true_ranks(true, counted, starts)
    parts = pairwise(bounds.tolist())
    found = []
    for count, (low, high) in zip(objects.tolist(), parts, strict=True):
        ap = math.nan
        if count:
            ap = average(ranks[low:high], count)
        found.append(ap)
    return np.array(found, np.float64)


def true_ranks(
    true: Bools,
    counted: Bools,
    starts: Ints,
) -> tuple[Ints, Ints]:
    """Return the ranks (T,) of the true positives, from 1, among the counted detections of their category.

    The input is that of `averages`. Also returns the bounds (K + 1,) of the categories within the ranks.
    """
    places = np.flatnonzero(true)
    bounds = np.searchsorted(places, starts)
    before_category = counts_before(counted, starts[:-1])
    first = np.repeat(before_category, np.diff(bounds))
    ranks = counts_before(counted, places) + 1 - first
    return ranks, bounds


def counts_before(marked: Bools, places: Ints) -> Ints:
    """Return how many of the marks (M,) are set before each of the places (n,), which are 0..M."""
    others = np.flatnonzero(~marked)
    before: Ints = places - np.searchsorted(others, places)
    return before


def mean_known(values: Floats) -> float:
    """Return the exact mean of the values (K,) that are not NaN, or 0 if there are none."""
    known = values[~np.isnan(values)].tolist()
    if known:
        return math.fsum(known) / len(known)
    return 0.0
