"""Scoring: detections and ground truth as columns in, AP and mAP out; pure functions on numpy arrays.

No clock, no SQL. Start with `metrics`, which has a module for each family of published metrics; `analysis` computes how
certain a mAP is and which errors lower it; `detections` and `files` read and write.

A name is imported when it is first used, so a command that scores nothing does not wait for numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpirc_testsets.late_names import late_names

if TYPE_CHECKING:
    from lpirc_score.analysis.precision_recall import (
        CocoCurve,
        Curve,
        coco_curves,
        precision_recall_curves,
    )
    from lpirc_score.metrics.contest_score import format_score, score
    from lpirc_score.metrics.detection_columns import Detections
    from lpirc_score.metrics.evaluation import evaluate
    from lpirc_score.metrics.evaluation_result import Counts, Evaluation
    from lpirc_score.metrics.metric_kinds import STRICT, Tolerance
    from lpirc_score.metrics.offered import (
        COCO,
        METRICS,
        lists_ties_by_image,
        metric_names,
        signature_of,
        tolerance_of,
    )

__all__ = [
    "COCO",
    "METRICS",
    "STRICT",
    "CocoCurve",
    "Counts",
    "Curve",
    "Detections",
    "Evaluation",
    "Tolerance",
    "coco_curves",
    "evaluate",
    "format_score",
    "lists_ties_by_image",
    "metric_names",
    "precision_recall_curves",
    "score",
    "signature_of",
    "tolerance_of",
]

_MODULES = {
    "analysis.precision_recall": (
        "CocoCurve",
        "Curve",
        "coco_curves",
        "precision_recall_curves",
    ),
    "metrics.detection_columns": ("Detections",),
    "metrics.evaluation": ("evaluate",),
    "metrics.contest_score": (
        "format_score",
        "score",
    ),
    "metrics.evaluation_result": (
        "Counts",
        "Evaluation",
    ),
    "metrics.metric_kinds": (
        "STRICT",
        "Tolerance",
    ),
    "metrics.offered": (
        "COCO",
        "METRICS",
        "lists_ties_by_image",
        "metric_names",
        "signature_of",
        "tolerance_of",
    ),
}
__getattr__ = late_names(__name__, _MODULES)
