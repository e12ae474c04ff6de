"""The rule of tidecv, used to show the errors of a submission when its metric has no single IoU.

Goal: the figures of TIDE for the metric `coco`.
Source: the program tidecv 1.0.1 (Bolya et al. 2020).
Conventions: boxes have a corner and a size, as in COCO; a detection that finds no object but meets a
crowd does not count; the AP is the mean over 101 recalls, whose doubles are not all equal to those of COCO.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.average_precision import mean_at
from lpirc_score.metrics.matching import IGNORED, UNMATCHED, Pairs, best_of_free
from lpirc_score.metrics.metric_kinds import Rule

Ints = NDArray[np.int64]

RECALLS = np.arange(101) / 100


def best_that_counts(
    pairs: Pairs,
    detections: int,
    ignored: NDArray[np.bool_],
) -> Ints:
    """Return the object that each detection (detections,) finds, or UNMATCHED or IGNORED.

    Counted objects are assigned by the rule of ILSVRC. A detection that is left over and meets an `ignored` object (G,)
    is IGNORED.
    """
    of_ignored = ignored.take(pairs.object)
    taken = best_of_free(pairs.take(~of_ignored), detections, ignored)
    meets = pairs.detection[of_ignored]
    is_left = taken.take(meets) == UNMATCHED
    taken[meets[is_left]] = IGNORED
    return taken


def tidecv_points(ranks: Ints, objects: int) -> float:
    """Return the mean, over 101 recalls, of the best precision at each recall or above."""
    return mean_at(RECALLS, ranks, objects)


TIDECV = Rule("tidecv", assign=best_that_counts, average=tidecv_points)
