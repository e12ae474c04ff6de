"""The oracles of TIDE on rows: what `analyse_errors` promises, done."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lpirc_score import Detections
from lpirc_score.analysis.error_types import OF_DETECTIONS, ErrorAnalysis, ErrorType
from lpirc_testsets import GroundTruth


def chosen(
    detections: Detections,
    which: NDArray[np.int64],
) -> Detections:
    """Copies of the detections at these places, in their order."""
    return Detections(
        detections.image[which],
        detections.category[which],
        detections.confidence[which],
        detections.boxes[which],
    )


def mended(
    ground_truth: GroundTruth,
    detections: Detections,
    analysis: ErrorAnalysis,
    type_: ErrorType,
) -> tuple[GroundTruth, Detections]:
    """The ground truth and the detections with all errors of a type mended."""
    found = analysis.found
    if type_ is ErrorType.MISSED:
        return ground_truth.of_objects(~found.missed), detections
    if type_ is ErrorType.FALSE_NEGATIVE:
        return ground_truth.of_objects(~found.unfound), detections
    if type_ is ErrorType.FALSE_POSITIVE:
        return ground_truth, chosen(detections, np.flatnonzero(found.outcome < 0))
    is_type = found.outcome == OF_DETECTIONS.index(type_)
    kept = np.flatnonzero(~is_type | found.mends)
    moved = np.flatnonzero(is_type[kept])
    objects = found.object[kept[moved]]
    better = chosen(detections, kept)
    better.category[moved] = ground_truth.category[objects]
    better.boxes[moved] = ground_truth.boxes[objects]
    return ground_truth, better
