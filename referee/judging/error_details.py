"""Where the errors of a judged run are: by size of the objects, by crowding, by pairs of categories, by confidence."""

from __future__ import annotations

from dataclasses import dataclass

from lpirc_score.analysis.slices import (
    Confusion,
    Slice,
    confusions,
    crowding_slices,
    size_slices,
)
from lpirc_score.analysis.thresholds import ThresholdCurve, threshold_curve
from lpirc_score.metrics.evaluation_result import signature_parts
from lpirc_score.metrics.offered import has_one_threshold, rule_named
from referee.judging.score_explanation import Explanation
from referee.store.records import Score


@dataclass(frozen=True)
class ErrorDetails:
    """Details of an explained judgement.

    `thresholds` is None without rows, and for a metric without a single IoU threshold.
    """

    sizes: tuple[Slice, ...]
    crowding: tuple[Slice, ...]
    confusions: tuple[Confusion, ...]
    thresholds: ThresholdCurve | None


def error_details(found: Explanation, judged: Score) -> ErrorDetails:
    """Return the details of the errors of an explained judgement."""
    metric = signature_parts(judged.signature)["metric"]
    parts = (found.ground_truth, found.detections, found.analysis)
    thresholds = None
    if has_one_threshold(metric):
        rule = rule_named(metric)
        thresholds = threshold_curve(found.ground_truth, found.detections, rule)
    return ErrorDetails(
        size_slices(*parts, metric),
        crowding_slices(*parts, metric),
        confusions(*parts),
        thresholds,
    )
