"""The two kinds of metrics that a distribution can offer, and the questionable rows that a metric accepts.

A `Rule` has one IoU threshold. It shares overlaps, order and counting with the other rules, so intervals, curves, error
analysis and scores over time work for it. An `OwnMetric` is a function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score.arguments import number_of
from lpirc_score.errors import CodedError
from lpirc_score.metrics.average_precision import Average, area_under_envelope
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.evaluation_result import Evaluation
from lpirc_score.metrics.matching import Pairs, best_of_free
from lpirc_testsets.ground_truth import GroundTruth

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Blacklist = frozenset[tuple[int, int]]
"""Pairs of image id and category id; their detections are ignored and their objects do not count."""

Thresholds = Callable[[Floats, float], Floats]
"""Maps boxes (G, 4) and the IoU to the overlap (G,) that each object requires."""

Assign = Callable[[Pairs, int, Bools], Ints]
"""Maps pairs, the number of detections and the ignored objects to the object found by each detection."""


@dataclass(frozen=True)
class Tolerance:
    """The questionable rows that a reader accepts with a warning, as the metric's official program does.

    `new_categories` and `new_images` allow categories and images that occur only in the detections. They apply only if
    the format of the ground truth cannot list categories or images.
    """

    inverted_boxes: bool = False
    new_categories: bool = False
    new_images: bool = False


STRICT = Tolerance()
OFFICIAL = Tolerance(inverted_boxes=True, new_categories=True)


def same_for_all(boxes: Floats, iou: float) -> Floats:
    """Return the overlap that each of the boxes (G, 4) requires: the IoU."""
    return np.full(len(boxes), iou)


@dataclass(frozen=True, eq=False)
class Rule:
    """A metric with one IoU threshold, as the parts in which such metrics differ.

    `iou` is the usual threshold. `average` computes the AP from the ranks of true positives and the number of objects:
    a mean over `recalls` or, if those are None, the area under the envelope.

    `ignores_difficult`: difficult objects do not count, and neither do detections of them. `ties_by_image`: if
    confidences are equal, the lower image id comes first, not the earlier arrival. `tolerance`: the questionable rows
    that its official program accepts.
    """

    name: str
    iou: float = 0.5
    thresholds: Thresholds = same_for_all
    assign: Assign = best_of_free
    average: Average = area_under_envelope
    recalls: Floats | None = None
    ignores_difficult: bool = False
    ties_by_image: bool = True
    tolerance: Tolerance = STRICT

    def threshold(self, iou: float | None) -> float:
        """Return `iou`, or the usual threshold if it is None. Raises `CodedError` `bad-iou` outside (0, 1]."""
        asked = self.iou if iou is None else number_of(iou, "IoU", "bad-iou")
        if not (math.isfinite(asked) and 0 < asked <= 1):
            sentence = f"The IoU threshold {asked} must be above 0 and at most 1."
            raise CodedError("bad-iou", sentence, iou=str(asked))
        return float(asked)


@dataclass(frozen=True, eq=False)
class OwnMetric:
    """A metric that is a function of ground truth, detections and blacklist.

    The AP of a category may depend only on its own objects and detections, and `map` must be the mean of the APs that
    are not None. The reasons: after a correction, categories are scored again one by one, and intervals come from
    halves of the images. `iou` is the text for its thresholds in the signature.
    """

    name: str
    evaluate: Callable[[GroundTruth, Detections, Blacklist], Evaluation]
    iou: str = "own"
    ties_by_image: bool = True
    tolerance: Tolerance = STRICT


Metric = Rule | OwnMetric
