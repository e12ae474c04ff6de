"""The analyses of one file as parts of its JSON document; floats have full precision, and what is not there is null."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from lpirc_score.analysis.analyses import Analyses
from lpirc_score.analysis.best_f1 import F1, BestF1
from lpirc_score.analysis.calibration import Calibration
from lpirc_score.analysis.confusion_matrix import ConfusionMatrix
from lpirc_score.analysis.error_types import ErrorAnalysis
from lpirc_score.analysis.sizes import SizeScore
from lpirc_score.metrics.evaluation_result import Evaluation

Document = dict[str, Any]


def as_documents(found: Analyses) -> Document:
    """Return the parts by name, only those that were asked for."""
    parts: Document = {}
    if found.errors is not None:
        parts["errors"] = _errors(found.errors, found)
    _add(parts, "confusion", found.confusion, _confusion)
    _add(parts, "f1", found.f1, _f1)
    _add(parts, "calibration", found.calibration, _calibration)
    if found.sizes:
        parts["sizes"] = {name: _size(one) for name, one in found.sizes.items()}
    if found.labels is not None:
        parts["labels"] = [asdict(one) for one in found.labels]
    if found.slices:
        parts["slices"] = {name: _slice(one) for name, one in found.slices.items()}
    return parts


def _add(
    parts: Document,
    name: str,
    value: Any,
    document: Callable[[Any], Document],
) -> None:
    if value is not None:
        parts[name] = document(value)


def _errors(found: ErrorAnalysis, of: Analyses) -> Document:
    images = [
        {
            "image": one.image,
            "name": name,
            "cost": one.cost,
            "false": one.false,
            "unfound": one.unfound,
        }
        for one, name in zip(of.worst, of.worst_names, strict=True)
    ]
    return {
        "rule": found.rule,
        "iou": found.iou,
        "map": found.map,
        "gains": {str(type_): gain for type_, gain in found.gains.items()},
        "counts": {str(type_): count for type_, count in found.counts.items()},
        "confidence_cost": _by_id(found.confidence_cost),
        "worst_images": images,
    }


def _confusion(found: ConfusionMatrix) -> Document:
    return {
        "rule": found.rule,
        "iou": found.iou,
        "confidence": found.confidence,
        "categories": list(found.ids),
        "names": list(found.names),
        "counts": found.counts.tolist(),
    }


def _f1(found: BestF1) -> Document:
    categories = {str(id_): _f1_of(one) for id_, one in found.by_category.items()}
    return {
        "rule": found.rule,
        "iou": found.iou,
        "mean": found.mean,
        "overall": _f1_of(found.overall),
        "categories": categories,
    }


def _f1_of(one: F1 | None) -> Document | None:
    return None if one is None else asdict(one)


def _calibration(found: Calibration) -> Document:
    return {
        "rule": found.rule,
        "iou": found.iou,
        "detections": found.detections,
        "ece": found.ece,
        "mce": found.mce,
        "bins": [asdict(one) for one in found.bins],
        "categories": _by_id(found.by_category),
    }


def _size(found: SizeScore) -> Document:
    return {
        "rule": found.rule,
        "least_area": found.least,
        "most_area": found.most,
        "map": found.map,
        "objects": found.objects,
        "ap": _by_id(found.ap),
    }


def _slice(found: Evaluation) -> Document:
    objects = sum(one.objects for one in found.counts.values())
    return {
        "map": found.map,
        "images": found.images,
        "objects": objects,
        "detections": found.detections,
        "ap": _by_id(found.ap),
    }


def _by_id(values: dict[int, Any]) -> Document:
    return {str(id_): value for id_, value in values.items()}
