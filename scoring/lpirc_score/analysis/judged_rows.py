"""Which detections of each category are true at one IoU, by any metric: what F1 and calibration are counted from.

A metric with one threshold is asked at that threshold or another one, `coco` at one of its ten. Any other metric is
shown by the rule `lpirc`, as in the other analyses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score.arguments import number_of
from lpirc_score.errors import CodedError
from lpirc_score.metrics.coco import ranked_coco
from lpirc_score.metrics.coco_ranking import IOUS
from lpirc_score.metrics.detection_columns import Detections, refuse_not_finite
from lpirc_score.metrics.offered import COCO, rule_shown
from lpirc_score.metrics.one_threshold import ranked_categories
from lpirc_testsets.ground_truth import GroundTruth

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class JudgedCategory:
    """A category: its id, the number of its `objects` that count, and its detections (M,) that count, by rank."""

    id: int
    objects: int
    confidence: Floats
    is_true: Bools


def judged_categories(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str,
    iou: float | None,
) -> Iterator[JudgedCategory]:
    """Yield every category in ascending order of id. Raises `CodedError` as `evaluate` does, and as `iou_of`."""
    if metric == COCO:
        yield from _judged_by_coco(ground_truth, detections, iou_of(metric, iou))
        return
    rule = rule_shown(metric)
    threshold = rule.threshold(iou)
    nothing_banned: frozenset[tuple[int, int]] = frozenset()
    for each in ranked_categories(
        ground_truth,
        detections,
        rule,
        threshold,
        nothing_banned,
    ):
        is_true = np.zeros(len(each.members), np.bool_)
        is_true[each.ranks - 1] = True
        confidence = detections.confidence.take(each.members)
        yield JudgedCategory(each.id, each.objects, confidence, is_true)


def matched_by(metric: str) -> str:
    """Return the name of the metric whose matching is used: the metric's own, or `lpirc` if it cannot be asked."""
    if metric == COCO:
        return COCO
    return rule_shown(metric).name


def iou_of(metric: str, iou: float | None) -> float:
    """Return the IoU at which a metric's detections are judged; None asks for the metric's own, 0.5 for `coco`.

    Raises `CodedError` `bad-iou` for one outside (0, 1], and for `coco` unless it is one of its ten.
    """
    if metric != COCO:
        return rule_shown(metric).threshold(iou)
    asked = 0.5 if iou is None else number_of(iou, "IoU", "bad-iou")
    for known in IOUS.tolist():
        if abs(known - asked) < 1e-9:
            return float(known)
    sentence = f"The metric coco has no IoU threshold {asked}; choose one of 0.5, 0.55 .. 0.95."
    raise CodedError("bad-iou", sentence, iou=str(asked))


def _judged_by_coco(
    ground_truth: GroundTruth,
    detections: Detections,
    iou: float,
) -> Iterator[JudgedCategory]:
    refuse_not_finite(detections)
    bit = np.uint16(1 << IOUS.tolist().index(iou))
    ids = ground_truth.category_ids.tolist()
    ranked = ranked_coco(ground_truth, detections, frozenset())
    for id_, each in zip(ids, ranked, strict=True):
        counted = np.flatnonzero(each.counts & bit)
        is_true = (each.is_true.take(counted) & bit).astype(np.bool_)
        confidence = each.confidence.take(counted)
        yield JudgedCategory(id_, len(each.object_images), confidence, is_true)
