"""The highest F1 that a threshold of confidence can reach, and that threshold: by category, and for all categories.

F1 is the harmonic mean of precision and recall (van Rijsbergen, "Information Retrieval", 1979): 2 true / (detections +
objects). A threshold keeps the detections with at least that confidence. What remains is matched as before, since a
detection never takes an object from one of higher confidence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score.analysis.judged_rows import iou_of, judged_categories, matched_by
from lpirc_score.metrics.detection_columns import Detections, require_columns
from lpirc_testsets.ground_truth import GroundTruth

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class F1:
    """An F1 and what it is made of; `confidence` is the threshold, None if no detection finds an object (F1 is 0)."""

    f1: float
    precision: float
    recall: float
    confidence: float | None
    true: int
    false: int
    objects: int


@dataclass(frozen=True)
class BestF1:
    """The best F1 of each category by its id, None without objects, with the `mean` of the others.

    `rule` is the metric that matched. `overall` has one threshold for all categories: true detections, detections and
    objects are added up over the categories. Detections of a category without objects are false there. `overall` and
    `mean` are None if no category has an object.
    """

    rule: str
    iou: float
    overall: F1 | None
    mean: float | None
    by_category: dict[int, F1 | None]


def best_f1(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str = "lpirc",
    iou: float | None = None,
) -> BestF1:
    """Return the best F1 by a metric; of several thresholds that reach it, the highest one.

    `iou` is the overlap at which a detection is true: by default the metric's own, 0.5 for `coco`, which takes its ten
    only. Raises `CodedError` as `evaluate` does, and `bad-iou`.
    """
    require_columns(ground_truth, detections)
    judged = [*judged_categories(ground_truth, detections, metric, iou)]
    by_category: dict[int, F1 | None] = {}
    for one in judged:
        best = _best(one.confidence, one.is_true, one.objects)
        by_category[one.id] = best if one.objects else None
    known = [best.f1 for best in by_category.values() if best is not None]
    overall = _best(
        _joined(one.confidence for one in judged),
        _joined(one.is_true for one in judged).astype(np.bool_),
        sum(one.objects for one in judged),
    )
    return BestF1(
        rule=matched_by(metric),
        iou=iou_of(metric, iou),
        overall=overall if known else None,
        mean=sum(known) / len(known) if known else None,
        by_category=by_category,
    )


def _joined(columns: Iterable[NDArray[np.generic]]) -> Floats:
    return np.concatenate([np.empty(0), *columns])


def _best(confidence: Floats, is_true: Bools, objects: int) -> F1:
    """Return the best F1 of detections (M,) in any order."""
    order = np.argsort(-confidence, kind="stable")
    ordered = confidence.take(order)
    true = np.cumsum(is_true.take(order))
    rows = np.arange(1, len(true) + 1)
    f1 = 2 * true / (rows + objects)
    # Rows of equal confidence are kept together.
    is_last = np.append(ordered[1:] != ordered[:-1], True)[: len(rows)]
    at = int(np.argmax(np.where(is_last, f1, -1.0))) if len(rows) else 0
    if len(rows) == 0 or f1[at] == 0:
        return F1(0.0, 0.0, 0.0, None, 0, 0, objects)
    found = int(true[at])
    count = int(rows[at])
    return F1(
        f1=float(f1[at]),
        precision=found / count,
        recall=found / objects,
        confidence=float(ordered[at]),
        true=found,
        false=count - found,
        objects=objects,
    )
