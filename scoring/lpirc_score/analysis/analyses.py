"""All analyses of one file by one metric, each only if asked for; errors are analysed once for all that need them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from lpirc_score.analysis.best_f1 import BestF1, best_f1
from lpirc_score.analysis.calibration import Calibration, are_shares, calibration
from lpirc_score.analysis.confusion_matrix import (
    CONFIDENCE,
    ConfusionMatrix,
    confusion_matrix,
)
from lpirc_score.analysis.error_types import (
    ErrorAnalysis,
    ImageErrors,
    analyse_errors,
    worst_images,
)
from lpirc_score.analysis.image_slices import evaluate_slices
from lpirc_score.analysis.label_candidates import (
    CONFIDENCE as LABEL_CONFIDENCE,
)
from lpirc_score.analysis.label_candidates import LabelCandidate, label_candidates
from lpirc_score.analysis.sizes import SizeScore, ap_by_size
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.evaluation_result import Evaluation
from lpirc_score.metrics.offered import COCO
from lpirc_testsets.ground_truth import GroundTruth


class Analysis(StrEnum):
    """The analyses that can be asked for; slices are asked for by naming them."""

    ERRORS = "errors"
    CONFUSION = "confusion"
    F1 = "f1"
    CALIBRATION = "calibration"
    SIZES = "sizes"
    LABELS = "labels"


@dataclass(frozen=True)
class Wanted:
    """The analyses, the slices by name (image ids), and the confidence of confusion and labels, None: their own.

    With `is_lenient` the calibration is left out where confidences are not from 0 to 1, instead of refusing them.
    """

    analyses: frozenset[Analysis] = frozenset()
    slices: Mapping[str, Iterable[int]] = field(default_factory=dict)
    confidence: float | None = None
    is_lenient: bool = False


@dataclass(frozen=True)
class Analyses:
    """What was asked for; the rest is None, or empty. `worst_names` are the file names of the `worst` images, or ""."""

    errors: ErrorAnalysis | None = None
    worst: tuple[ImageErrors, ...] = ()
    worst_names: tuple[str, ...] = ()
    confusion: ConfusionMatrix | None = None
    f1: BestF1 | None = None
    calibration: Calibration | None = None
    sizes: Mapping[str, SizeScore] = field(default_factory=dict)
    labels: tuple[LabelCandidate, ...] | None = None
    slices: Mapping[str, Evaluation] = field(default_factory=dict)

    def only(self, kinds: frozenset[Analysis]) -> Analyses:
        """Return only these analyses, and the slices."""
        has_errors = Analysis.ERRORS in kinds
        return Analyses(
            errors=self.errors if has_errors else None,
            worst=self.worst if has_errors else (),
            worst_names=self.worst_names if has_errors else (),
            confusion=self.confusion if Analysis.CONFUSION in kinds else None,
            f1=self.f1 if Analysis.F1 in kinds else None,
            calibration=self.calibration if Analysis.CALIBRATION in kinds else None,
            sizes=self.sizes if Analysis.SIZES in kinds else {},
            labels=self.labels if Analysis.LABELS in kinds else None,
            slices=self.slices,
        )


def analysed(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str,
    iou: float | None,
    wanted: Wanted,
) -> Analyses:
    """Return the analyses. Raises `CodedError` as each of them does."""
    asked = wanted.analyses
    if wanted.is_lenient and not are_shares(detections.confidence):
        asked -= {Analysis.CALIBRATION}
    of = (ground_truth, detections, metric, iou)
    errors = None
    if asked & {Analysis.ERRORS, Analysis.LABELS}:
        errors = analyse_errors(*of)
    labels = None
    if errors is not None and Analysis.LABELS in asked:
        sure = _given(wanted.confidence, LABEL_CONFIDENCE)
        labels = label_candidates(*of, confidence=sure, analysis=errors)
    worst: tuple[ImageErrors, ...] = ()
    if errors is not None and Analysis.ERRORS in asked:
        worst = worst_images(ground_truth, detections, errors)
    confidence = _given(wanted.confidence, CONFIDENCE)
    has = asked.__contains__
    return Analyses(
        errors=errors if has(Analysis.ERRORS) else None,
        worst=worst,
        worst_names=_names(ground_truth, worst),
        confusion=confusion_matrix(*of, confidence)
        if has(Analysis.CONFUSION)
        else None,
        f1=best_f1(*of) if has(Analysis.F1) else None,
        calibration=calibration(*of) if has(Analysis.CALIBRATION) else None,
        sizes=_sizes(*of) if has(Analysis.SIZES) else {},
        labels=labels,
        slices=evaluate_slices(ground_truth, detections, wanted.slices, metric, iou),
    )


def _names(
    ground_truth: GroundTruth,
    worst: tuple[ImageErrors, ...],
) -> tuple[str, ...]:
    ids = [one.image for one in worst]
    places = np.searchsorted(ground_truth.image_ids, ids)
    return tuple(ground_truth.image_names[place] for place in places.tolist())


def _given(asked: float | None, usual: float) -> float:
    return usual if asked is None else asked


def _sizes(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str,
    iou: float | None,
) -> dict[str, SizeScore]:
    return ap_by_size(
        ground_truth,
        detections,
        metric,
        None if metric == COCO else iou,
    )
