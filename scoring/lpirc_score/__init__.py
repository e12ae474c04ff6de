"""Scoring: detections and ground truth as columns in, AP and mAP out; pure functions on numpy arrays.

No clock, no SQL. Start with `metrics`, which has a module for each family of published metrics; `analysis` computes how
certain a mAP is and which errors lower it; `detections` and `files` read and write. What users call stands here; each
function and result type is described in docs/score-api.md.

A name is imported when it is first used, so a command that scores nothing does not wait for numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpirc_testsets.late_names import late_names

if TYPE_CHECKING:
    from lpirc_score.analysis.best_f1 import F1, BestF1, best_f1
    from lpirc_score.analysis.calibration import (
        Calibration,
        CalibrationBin,
        calibration,
    )
    from lpirc_score.analysis.comparison import Comparison, Order, compare
    from lpirc_score.analysis.confusion_matrix import ConfusionMatrix, confusion_matrix
    from lpirc_score.analysis.error_types import (
        ErrorAnalysis,
        ErrorType,
        analyse_errors,
    )
    from lpirc_score.analysis.image_slices import evaluate_slices
    from lpirc_score.analysis.interval import MapIntervals
    from lpirc_score.analysis.label_candidates import (
        LabelCandidate,
        LabelDoubt,
        label_candidates,
    )
    from lpirc_score.analysis.precision_recall import (
        CocoCurve,
        Curve,
        coco_curves,
        precision_recall_curves,
    )
    from lpirc_score.analysis.selection import pool_categories, select
    from lpirc_score.analysis.sizes import SizeScore, ap_by_size
    from lpirc_score.errors import CodedError
    from lpirc_score.files.reading import GroundTruth, read_detections, read_truth
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
    from lpirc_score.tasks.answer_files import evaluate_answers
    from lpirc_score.tasks.label_files import evaluate_label_maps
    from lpirc_score.tasks.mask_score import MaskScore
    from lpirc_score.tasks.segm_files import evaluate_segm
    from lpirc_score.tasks.task_kinds import Figures

__all__ = [
    "COCO",
    "F1",
    "METRICS",
    "STRICT",
    "BestF1",
    "Calibration",
    "CalibrationBin",
    "CocoCurve",
    "CodedError",
    "Comparison",
    "ConfusionMatrix",
    "Counts",
    "Curve",
    "Detections",
    "ErrorAnalysis",
    "ErrorType",
    "Evaluation",
    "Figures",
    "GroundTruth",
    "LabelCandidate",
    "LabelDoubt",
    "MapIntervals",
    "MaskScore",
    "Order",
    "SizeScore",
    "Tolerance",
    "analyse_errors",
    "ap_by_size",
    "best_f1",
    "calibration",
    "coco_curves",
    "compare",
    "confusion_matrix",
    "evaluate",
    "evaluate_answers",
    "evaluate_label_maps",
    "evaluate_segm",
    "evaluate_slices",
    "format_score",
    "label_candidates",
    "lists_ties_by_image",
    "metric_names",
    "pool_categories",
    "precision_recall_curves",
    "read_detections",
    "read_truth",
    "score",
    "select",
    "signature_of",
    "tolerance_of",
]

_MODULES = {
    "analysis.best_f1": (
        "F1",
        "BestF1",
        "best_f1",
    ),
    "analysis.calibration": (
        "Calibration",
        "CalibrationBin",
        "calibration",
    ),
    "analysis.comparison": (
        "Comparison",
        "Order",
        "compare",
    ),
    "analysis.confusion_matrix": (
        "ConfusionMatrix",
        "confusion_matrix",
    ),
    "analysis.error_types": (
        "ErrorAnalysis",
        "ErrorType",
        "analyse_errors",
    ),
    "analysis.image_slices": ("evaluate_slices",),
    "analysis.interval": ("MapIntervals",),
    "analysis.label_candidates": (
        "LabelCandidate",
        "LabelDoubt",
        "label_candidates",
    ),
    "analysis.precision_recall": (
        "CocoCurve",
        "Curve",
        "coco_curves",
        "precision_recall_curves",
    ),
    "analysis.selection": (
        "pool_categories",
        "select",
    ),
    "analysis.sizes": (
        "SizeScore",
        "ap_by_size",
    ),
    "errors": ("CodedError",),
    "files.reading": (
        "GroundTruth",
        "read_detections",
        "read_truth",
    ),
    "metrics.contest_score": (
        "format_score",
        "score",
    ),
    "metrics.detection_columns": ("Detections",),
    "metrics.evaluation": ("evaluate",),
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
    "tasks.answer_files": ("evaluate_answers",),
    "tasks.label_files": ("evaluate_label_maps",),
    "tasks.mask_score": ("MaskScore",),
    "tasks.segm_files": ("evaluate_segm",),
    "tasks.task_kinds": ("Figures",),
}
__getattr__ = late_names(__name__, _MODULES)
