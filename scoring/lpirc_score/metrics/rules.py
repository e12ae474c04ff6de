"""The metrics by name: what differs between rules that share matching, order and average precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lpirc_score.errors import CodedError
from lpirc_score.metrics.average_precision import (
    ELEVEN_RECALLS,
    Average,
    area_under_envelope,
    eleven_points,
)
from lpirc_score.metrics.matching import Pairs, best_of_all, best_of_free
from lpirc_score.metrics.overlap import object_thresholds

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tolerance:
    """Which questionable rows a reader accepts with a warning, as the metric's official program does.

    `new_categories` and `new_images` are those that detections name and the ground truth does not; they apply only
    where the ground truth cannot declare its categories and images.
    """

    inverted_boxes: bool = False
    new_categories: bool = False
    new_images: bool = False


STRICT = Tolerance()


def _same_for_all(boxes: Floats, iou: float) -> Floats:
    return np.full(len(boxes), iou)


@dataclass(frozen=True, eq=False)
class Rule:
    """A metric with one IoU threshold: what differs between those that share overlaps, order and counting.

    `iou` is the usual threshold; `thresholds` gives the overlap (G,) that each object requires, from boxes (G, 4)
    and the IoU; `assign` the object that each detection finds, from pairs, the number of detections and the ignored
    objects; `average` the AP from ranks of true positives and the number of objects, which is a mean over `recalls` or,
    without them, the area under the envelope.

    `ignores_difficult`: difficult objects do not count, and neither do detections of them.
    `ties_by_image`: of equal confidences the lower image id comes first, not the earlier arrival.
    `tolerance` is what its official program accepts; `lpirc`, which has none, accepts nothing questionable.
    """

    name: str
    iou: float = 0.5
    thresholds: Callable[[Floats, float], Floats] = _same_for_all
    assign: Callable[[Pairs, int, NDArray[np.bool_]], NDArray[np.int64]] = best_of_free
    average: Average = area_under_envelope
    recalls: NDArray[np.float64] | None = None
    ignores_difficult: bool = False
    ties_by_image: bool = True
    tolerance: Tolerance = STRICT

    def threshold(self, iou: float | None) -> float:
        """Return `iou`, or the usual threshold for None. Raises `CodedError` `bad-iou` outside (0, 1]."""
        asked = self.iou if iou is None else iou
        if not (math.isfinite(asked) and 0 < asked <= 1):
            sentence = f"An IoU threshold lies above 0 and up to 1, {asked} does not."
            raise CodedError("bad-iou", sentence, iou=str(asked))
        return float(asked)


_OFFICIAL = Tolerance(inverted_boxes=True, new_categories=True)
_VOC = Rule(
    "voc-area",
    assign=best_of_all,
    ignores_difficult=True,
    ties_by_image=False,
    tolerance=Tolerance(inverted_boxes=True, new_categories=True, new_images=True),
)

RULES = {
    rule.name: rule
    for rule in (
        # Alyamkin et al., "2018 Low-Power Image Recognition Challenge" and DATE 2018: at least 50 % overlap.
        Rule("lpirc"),
        # ILSVRC development kit, eval_detection.m: small objects ask for less. What the contests of 2015-2019 ran.
        Rule("ilsvrc-det", thresholds=object_thresholds, tolerance=_OFFICIAL),
        # VOC development kits, VOCevaldet.m: of 2011 (area) and of 2007 (eleven points).
        _VOC,
        replace(_VOC, name="voc-11", average=eleven_points, recalls=ELEVEN_RECALLS),
    )
}

PUBLISHED = "ilsvrc-det"
"""The metric of the evaluator that the contests of 2015-2019 ran: the champions' published mAPs compare with it."""

COCO = "coco"
"""The metric of ten IoU thresholds, which is not a `Rule`."""

METRICS = (*RULES, COCO)
"""The names of the metrics that `evaluate` knows."""


def tolerance_of(metric: str) -> Tolerance:
    """Return which questionable rows a metric accepts. Raises `CodedError` `unknown-metric`."""
    return _OFFICIAL if metric == COCO else rule_named(metric).tolerance


def lists_ties_by_image(metric: str) -> bool:
    """Whether equal confidences are listed by image id; then the order of arrival across images does not matter."""
    return metric == COCO or rule_named(metric).ties_by_image


def rule_named(metric: str) -> Rule:
    """Return the rule of a metric with one threshold. Raises `CodedError` `unknown-metric`."""
    if metric not in RULES:
        known = ", ".join(METRICS)
        raise CodedError(
            "unknown-metric", f"There is no metric {metric!r}; choose one of {known}."
        )
    return RULES[metric]
