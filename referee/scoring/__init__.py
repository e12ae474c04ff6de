"""Scoring: detections and ground truth as columns in, AP and mAP out; pure functions on numpy arrays.

No I/O, no clock, no SQL. Start with `evaluation`; `rules` has the metrics, `matching` the boxes.
"""

from referee.scoring.columns import Detections
from referee.scoring.curves import (
    CocoCurve,
    Curve,
    coco_curves,
    precision_recall_curves,
)
from referee.scoring.evaluation import evaluate, signature_of
from referee.scoring.result import Counts, Evaluation, format_score, score
from referee.scoring.rules import (
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
