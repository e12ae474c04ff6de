"""Scoring: detections and ground truth as columns in, AP and mAP out; pure functions on numpy arrays.

Start with `metrics`; `analysis` explains a figure, `detections` reads files and bodies, `cli` is the command.
A name is imported when it is first used: a command that scores nothing does not wait for numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_MODULES = {
    "analysis.curves": (
        "CocoCurve",
        "Curve",
        "coco_curves",
        "precision_recall_curves",
    ),
    "metrics.columns": ("Detections",),
    "metrics.evaluation": ("evaluate", "signature_of"),
    "metrics.result": ("Counts", "Evaluation", "format_score", "score"),
    "metrics.rules": (
        "COCO",
        "METRICS",
        "STRICT",
        "Tolerance",
        "lists_ties_by_image",
        "tolerance_of",
    ),
}


def __getattr__(name: str) -> Any:
    """Import the module of a name at its first use. Raises AttributeError for any other name."""
    for module, names in _MODULES.items():
        if name in names:
            value = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
