"""Scoring: detections and ground truth as columns in, AP and mAP out; pure functions on numpy arrays.

No I/O, no clock, no SQL. Start with `evaluation`; `rules` has the metrics, `matching` the boxes.
"""

from lpirc_score.analysis.curves import (
    CocoCurve,
    Curve,
    coco_curves,
    precision_recall_curves,
)
from lpirc_score.metrics.columns import Detections
from lpirc_score.metrics.evaluation import evaluate, signature_of
from lpirc_score.metrics.result import Counts, Evaluation, format_score, score
from lpirc_score.metrics.rules import (
    COCO,
    METRICS,
    STRICT,
    Tolerance,
    lists_ties_by_image,
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
    "precision_recall_curves",
    "score",
    "signature_of",
    "tolerance_of",
]
