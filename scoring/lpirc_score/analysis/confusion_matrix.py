"""Which category was found on objects of which category, at one IoU and above one confidence.

Detections of all categories take part in one assignment: by falling confidence, each takes the free object that it
overlaps best, whatever its category. A metric's AP never matches across categories, so the diagonal is not the metric's
count of true detections.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score.analysis.error_matching import pairs_of_any_category
from lpirc_score.analysis.judged_rows import matched_by
from lpirc_score.metrics.detection_columns import (
    Detections,
    least_confidence,
    refuse_not_finite,
    require_columns,
)
from lpirc_score.metrics.groups import Ids
from lpirc_score.metrics.matching import IGNORED, in_turn
from lpirc_score.metrics.offered import COCO, rule_shown
from lpirc_score.metrics.tidecv import TIDECV, best_that_counts
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]

CONFIDENCE = 0.25
"""The confidence from which detections are counted, unless another one is asked for."""

BACKGROUND = "background"


@dataclass(frozen=True, eq=False)
class ConfusionMatrix:
    """Counts (K + 1, K + 1): rows are the categories of objects, columns those of detections, in the order of `ids`.

    The last row is of detections that take no object, the last column of objects that no detection takes; their corner
    is 0. A row, or a column, adds up to the objects, or the detections, that count. `rule` is the metric whose overlaps
    were used.
    """

    rule: str
    iou: float
    confidence: float
    ids: tuple[int, ...]
    names: tuple[str, ...]
    counts: Ints

    @property
    def shares(self) -> NDArray[np.float64]:
        """Return the counts divided by the sum of their row, 0 in an empty row."""
        total = self.counts.sum(axis=1, keepdims=True)
        shares: NDArray[np.float64] = self.counts / np.maximum(total, 1)
        return shares


def confusion_matrix(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str = "lpirc",
    iou: float | None = None,
    confidence: float = CONFIDENCE,
) -> ConfusionMatrix:
    """Return the confusion matrix of the detections with at least this confidence.

    The metric says what overlap is (`coco`: boxes of corner and size; others: inclusive pixels), what an object asks
    for at `iou` (default: its own, 0.5 for `coco`) and which objects do not count. Objects that do not count are left
    out, and so are detections that meet only such objects, where the metric ignores them.

    Raises `CodedError` as `evaluate` does.
    """
    require_columns(ground_truth, detections)
    rule = TIDECV if metric == COCO else rule_shown(metric)
    threshold = rule.threshold(iou)
    refuse_not_finite(detections)
    confidence = least_confidence(confidence, detections)
    found = detections.of_rows(detections.confidence >= confidence)
    categories = Ids(ground_truth.category_ids, "category")
    sent = categories.places(found.category)
    true = categories.places(ground_truth.category)
    ignored = ground_truth.crowd | (ground_truth.difficult & rule.ignores_difficult)
    needed = rule.thresholds(ground_truth.boxes, threshold)

    of_all = pairs_of_any_category(ground_truth, found, needed, rule)
    meets = of_all.pairs.overlap >= needed.take(of_all.pairs.object)
    pairs = in_turn(of_all.pairs.take(meets), of_all.ranks)
    taken = np.empty(len(found), np.int64)
    taken[of_all.members] = best_that_counts(pairs, len(found), ignored)

    nothing = len(ground_truth.category_ids)
    is_matched = taken >= 0
    objects = taken[is_matched]
    is_false = ~(is_matched | (taken == IGNORED))
    is_unfound = ~ignored
    is_unfound[objects] = False
    rows = [true[objects], np.full(is_false.sum(), nothing), true[is_unfound]]
    columns = [sent[is_matched], sent[is_false], np.full(is_unfound.sum(), nothing)]
    size = nothing + 1
    codes = np.concatenate(rows) * size + np.concatenate(columns)
    counts = np.bincount(codes, minlength=size * size).reshape(size, size)
    return ConfusionMatrix(
        rule=matched_by(metric),
        iou=threshold,
        confidence=confidence,
        ids=tuple(ground_truth.category_ids.tolist()),
        names=(*ground_truth.category_names, BACKGROUND),
        counts=counts,
    )
