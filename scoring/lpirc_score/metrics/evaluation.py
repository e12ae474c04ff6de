"""Scores detections by any metric."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace

from lpirc_score.arguments import pairs_of
from lpirc_score.errors import CodedError
from lpirc_score.metrics.detection_columns import (
    Detections,
    refuse_not_finite,
    require_columns,
)
from lpirc_score.metrics.evaluation_result import Evaluation
from lpirc_score.metrics.metric_kinds import Blacklist, Metric, Rule
from lpirc_score.metrics.offered import (
    engine_of,
    failed,
    metric_named,
    signature_of,
)
from lpirc_score.metrics.one_threshold import evaluate_rule
from lpirc_score.metrics.units import PIXELS, TOLD, are_shares
from lpirc_testsets.errors import TestSetError
from lpirc_testsets.ground_truth import GroundTruth
from lpirc_testsets.plugins import failure_of


def evaluate(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str = "lpirc",
    iou: float | None = None,
    blacklist: Iterable[tuple[int, int]] = (),
    ground_truth_digest: str | None = None,
) -> Evaluation:
    """Score detections against the whole ground truth by one of the metrics.

    `iou` replaces the threshold of a metric with a single one. `blacklist` holds (image id, category id) pairs: their
    detections are ignored and their objects do not count. Crowds are left out (except by `coco`), and difficult objects
    count (except for `voc-*`). `ground_truth_digest` goes into the signature. Boxes that all lie within 0..1 are a
    UserWarning, unless `read_detections` has warned of them.

    Raises `CodedError` `unknown-metric`, `bad-metric` (one that cannot be used, or fails), `bad-iou`, `unknown-image`,
    `unknown-category`, `not-finite`.
    """
    found = evaluated(
        ground_truth, detections, metric, iou, blacklist, ground_truth_digest
    )
    if detections not in TOLD and are_shares(detections, ground_truth):
        sentence = (
            f"all boxes ({len(detections)}) lie within 0..1, as shares of an image do"
        )
        warnings.warn(f"The detections: {sentence}; write {PIXELS}", stacklevel=2)
    return found


def evaluated(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str = "lpirc",
    iou: float | None = None,
    blacklist: Iterable[tuple[int, int]] = (),
    ground_truth_digest: str | None = None,
) -> Evaluation:
    """Do as `evaluate` without a warning, for rows that are looked at elsewhere."""
    require_columns(ground_truth, detections)
    found = metric_named(metric)
    banned = pairs_of(blacklist)
    if iou is not None and not isinstance(found, Rule):
        raise CodedError("bad-iou", _no_threshold(metric))
    try:
        result = _computed(found, ground_truth, detections, iou, banned)
    except (CodedError, TestSetError):
        raise
    except (Exception, SystemExit) as error:
        if engine_of(metric) is None:
            raise
        raise failed(metric, f"it failed: {failure_of(error)}") from error
    if not isinstance(result, Evaluation):
        raise failed(metric, f"it made {result!r:.80}, which is not an Evaluation")
    signature = signature_of(metric, ground_truth_digest, banned, iou)
    return replace(result, signature=signature)


def _computed(
    found: Metric,
    ground_truth: GroundTruth,
    detections: Detections,
    iou: float | None,
    banned: Blacklist,
) -> object:
    if isinstance(found, Rule):
        threshold = found.threshold(iou)
        return evaluate_rule(found, ground_truth, detections, threshold, banned)
    refuse_not_finite(detections)
    return found.evaluate(ground_truth, detections, banned)


def _no_threshold(metric: str) -> str:
    if metric == "coco":
        return "The metric coco sets its own ten IoU thresholds; do not give one."
    return f"The metric {metric} has no single IoU threshold; do not give one."
