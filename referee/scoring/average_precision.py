"""Average precision of one category from the ranks of its true positives."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

ELEVEN_RECALLS = np.arange(11) * 0.1
"""The doubles of MATLAB's `0:0.1:1`: .30000000000000004, .6000000000000001 and .7000000000000001 among them."""

TIDECV_RECALLS = np.arange(101) / 100
"""The doubles of tidecv, which are not all those of COCO."""


def best_precisions(ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the monotone envelope (T,): by true positive, the best precision at its recall or above.

    `ranks` (T,) ascending from 1: places of the true positives among all detections of the category that
    count.
    """
    precision = np.arange(1, len(ranks) + 1) / ranks
    return np.maximum.accumulate(precision[::-1])[::-1]


def area_under_envelope(ranks: NDArray[np.int64], objects: int) -> float:
    """Return the area under the monotone precision-recall curve: the envelope's sum divided by `objects`.

    The AP of VOC since 2010 and of ILSVRC DET. The sum is exact (`math.fsum`), so no order of summation can
    change the result.
    """
    return math.fsum(best_precisions(ranks).tolist()) / objects


def eleven_points(ranks: NDArray[np.int64], objects: int) -> float:
    """Return the mean over eleven recalls of the best precision there or above: the AP of VOC 2007.

    A recall is compared with the doubles of MATLAB's `0:0.1:1`: exactly .3 does not reach .30000000000000004.
    """
    return _mean_at(ELEVEN_RECALLS, ranks, objects)


def tidecv_points(ranks: NDArray[np.int64], objects: int) -> float:
    """Return the mean over 101 recalls of the best precision there or above: the AP of tidecv 1.0.1."""
    return _mean_at(TIDECV_RECALLS, ranks, objects)


def _mean_at(recalls: NDArray[np.float64], ranks: NDArray[np.int64], objects: int) -> float:
    at = np.searchsorted(np.arange(1, len(ranks) + 1) / objects, recalls)
    reached = at[at < len(ranks)]
    return math.fsum(best_precisions(ranks)[reached].tolist()) / len(recalls)
