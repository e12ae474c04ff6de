"""The metrics `voc-area` and `voc-11`: those of the PASCAL VOC challenges since 2010 and of 2007.

Goal: numbers that compare with published results on VOC.
Source: the VOC development kits of 2011 (area) and 2007 (eleven points), `VOCevaldet.m`.
Conventions: corners are inclusive pixels; a detection is matched with the object that it overlaps best, taken
or not; difficult objects do not count, and neither do detections of them; equal confidences stay in
the order of arrival. The official program accepts inverted boxes, and images and categories without objects.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.average_precision import mean_at
from lpirc_score.metrics.matching import IGNORED, UNMATCHED, Pairs, first_pairs
from lpirc_score.metrics.metric_kinds import Rule, Tolerance

Ints = NDArray[np.int64]

ELEVEN_RECALLS = np.arange(11, dtype=np.float64) * 0.1
"""The doubles of MATLAB's `0:0.1:1`, which include .30000000000000004, .6000000000000001 and .7000000000000001."""


def best_of_all(
    pairs: Pairs,
    detections: int,
    ignored: NDArray[np.bool_],
) -> Ints:
    """Return the object that each detection (detections,) finds, or UNMATCHED or IGNORED.

    `pairs` are `in_turn`. A detection is matched only with the object that it overlaps best, taken or not. If that
    object is `ignored` (G,), so is the detection. Otherwise the first detection matched with an object finds it, and
    all later ones are false.
    """
    taken = np.full(detections, UNMATCHED, np.int64)
    wanted = pairs.take(first_pairs(pairs))
    is_ignored = ignored[wanted.object]
    taken[wanted.detection[is_ignored]] = IGNORED
    wanted = wanted.take(~is_ignored)
    found, first = np.unique(wanted.object, return_index=True)
    taken[wanted.detection[first]] = found
    return taken


def eleven_points(ranks: Ints, objects: int) -> float:
    """Return the mean, over eleven recalls, of the best precision at each recall or above.

    A recall is compared with the doubles of MATLAB's `0:0.1:1`: exactly .3 does not reach .30000000000000004.
    """
    return mean_at(ELEVEN_RECALLS, ranks, objects)


AREA = Rule(
    "voc-area",
    assign=best_of_all,
    ignores_difficult=True,
    ties_by_image=False,
    tolerance=Tolerance(inverted_boxes=True, new_categories=True, new_images=True),
)
ELEVEN_POINTS = replace(
    AREA, name="voc-11", average=eleven_points, recalls=ELEVEN_RECALLS
)
