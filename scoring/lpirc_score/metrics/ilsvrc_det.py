"""The metric `ilsvrc-det`: that of ILSVRC DET, which allows a tolerance of a few pixels for small objects.

Goal: to compare with the champions of 2015 to 2019, whose contests ran its evaluator.
Source: the ILSVRC development kit, `eval_detection.m`.
Conventions: as `lpirc`, except for the overlap that an object requires, min(iou, wh / ((w + 10)(h + 10))).
The official program accepts inverted boxes, which overlap nothing, and categories without objects.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.metric_kinds import OFFICIAL, Rule

Floats = NDArray[np.float64]

PIXEL_TOLERANCE = 10.0
"""Tolerance in pixels that ILSVRC DET adds to the width and the height of small objects."""


def object_thresholds(boxes: Floats, iou: float) -> Floats:
    """Return the overlap (M,) that each object requires, from boxes (M, 4) of inclusive corners."""
    width = boxes[:, 2] - boxes[:, 0] + 1
    height = boxes[:, 3] - boxes[:, 1] + 1
    widened = (width + PIXEL_TOLERANCE) * (height + PIXEL_TOLERANCE)
    return np.minimum(iou, width * height / widened)


METRIC = Rule("ilsvrc-det", thresholds=object_thresholds, tolerance=OFFICIAL)

PUBLISHED = METRIC.name
"""The metric of the evaluator in the contests of 2015-2019. Its mAPs are comparable with those of the champions."""
