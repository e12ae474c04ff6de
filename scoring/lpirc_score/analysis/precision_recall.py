"""Computes precision-recall curves, one for every category."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score.arguments import pairs_of
from lpirc_score.metrics.coco import AT_50, AT_75, results_by_area
from lpirc_score.metrics.coco_ranking import RECALLS
from lpirc_score.metrics.detection_columns import Detections, require_columns
from lpirc_score.metrics.offered import rule_named
from lpirc_score.metrics.one_threshold import CategoryRanks, ranked_categories
from lpirc_testsets.ground_truth import GroundTruth


@dataclass(frozen=True, eq=False)
class Curve:
    """A precision-recall curve with one point for each true positive, best rank first: parallel columns (T,).

    `rank` is from 1 among the counted detections of the category. `recall` and `precision` are over all detections down
    to that rank; `confidence` is that of the true positive. Between two points precision only falls.
    """

    rank: NDArray[np.int64]
    recall: NDArray[np.float64]
    precision: NDArray[np.float64]
    confidence: NDArray[np.float64]


def precision_recall_curves(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str = "lpirc",
    iou: float | None = None,
    blacklist: Iterable[tuple[int, int]] = (),
) -> dict[int, Curve]:
    """Return the curve of every category that has objects, by id, for a metric with one IoU threshold.

    Raises `CodedError` as `evaluate` does, and `no-threshold` for any other metric.
    """
    require_columns(ground_truth, detections)
    rule = rule_named(metric)
    ranked = ranked_categories(
        ground_truth,
        detections,
        rule,
        rule.threshold(iou),
        pairs_of(blacklist),
    )
    return {
        each.id: _curve(each, detections.confidence) for each in ranked if each.objects
    }


@dataclass(frozen=True, eq=False)
class CocoCurve:
    """The curves of COCO at IoU .50 and .75: parallel columns (101,).

    Each precision is the best at that recall or above.
    """

    recall: NDArray[np.float64]
    precision_50: NDArray[np.float64]
    precision_75: NDArray[np.float64]


def coco_curves(
    ground_truth: GroundTruth,
    detections: Detections,
    blacklist: Iterable[tuple[int, int]] = (),
) -> dict[int, CocoCurve]:
    """Return the curve of every category with objects that count, by id.

    Raises `CodedError` as `evaluate` does.
    """
    require_columns(ground_truth, detections)
    result = results_by_area(ground_truth, detections, pairs_of(blacklist))["all"]
    return {
        id_: CocoCurve(
            RECALLS, result.precision[AT_50, place], result.precision[AT_75, place]
        )
        for place, id_ in enumerate(ground_truth.category_ids.tolist())
        if result.objects[place]
    }


def _curve(ranked: CategoryRanks, confidence: NDArray[np.float64]) -> Curve:
    found = np.arange(1, len(ranked.ranks) + 1)
    sorted_confidence = np.sort(confidence[ranked.members])[::-1]
    return Curve(
        rank=ranked.ranks,
        recall=found / ranked.objects,
        precision=found / ranked.ranks,
        confidence=sorted_confidence[ranked.ranks - 1],
    )
