"""Objects that may be labelled wrongly or not at all: where confident detections contradict the ground truth.

A detector that is good elsewhere and sure here may be right against the label. What to look at first comes first:
candidates are ranked by confidence. A person decides; nothing here changes a label or a score.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from lpirc_score.analysis.error_matching import OF_DETECTIONS, ErrorType
from lpirc_score.analysis.error_types import ErrorAnalysis, analyse_errors
from lpirc_score.arguments import number_of
from lpirc_score.metrics.detection_columns import (
    Detections,
    least_confidence,
    require_columns,
)
from lpirc_score.metrics.groups import Ids
from lpirc_score.metrics.overlap import overlaps
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Box = tuple[float, float, float, float]

CONFIDENCE = 0.5
"""The confidence from which a detection is taken as evidence, unless another one is asked for."""
MOST = 100
SAME = 0.5
"""The overlap from which two detections are of one missing object, and the share that lies in a crowd."""


class LabelDoubt(StrEnum):
    """What is doubted: an object's category, its box, or that there is no object."""

    CATEGORY = "category"
    BOX = "box"
    NO_OBJECT = "no object"


_OF_TYPE = {
    ErrorType.CLASSIFICATION: LabelDoubt.CATEGORY,
    ErrorType.LOCALISATION: LabelDoubt.BOX,
    ErrorType.BACKGROUND: LabelDoubt.NO_OBJECT,
}


@dataclass(frozen=True)
class LabelCandidate:
    """A label to look at: the image with its name, the detection that contradicts it, and the object that it is about.

    `category` and `box` (inclusive pixels) are the detection's, `detection` is its index. `object`, its index in the
    ground truth, `object_category` and `object_box` are None where the ground truth has no object.
    """

    doubt: LabelDoubt
    image: int
    image_name: str
    confidence: float
    detection: int
    category: int
    box: Box
    object: int | None = None
    object_category: int | None = None
    object_box: Box | None = None


def label_candidates(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str = "lpirc",
    iou: float | None = None,
    confidence: float = CONFIDENCE,
    most: int = MOST,
    analysis: ErrorAnalysis | None = None,
) -> tuple[LabelCandidate, ...]:
    """Return at most so many candidates, by falling confidence.

    A detection with at least this confidence is one if it lies on an object of another category that no detection finds
    (`category`), overlaps an unfound object of its own category too little (`box`), or overlaps no object (`no
    object`; one that lies by half or more in a crowd is none). Each object is doubted once, by the most confident
    detection. Of detections that would be one missing object, since they overlap by half or more, the most confident
    one is listed.

    `analysis` is that of `analyse_errors` for the same arguments, if the caller has it. Raises as `analyse_errors`.
    """
    require_columns(ground_truth, detections)
    highest = number_of(most, "number of candidates")
    least = least_confidence(confidence, detections)
    found = analysis or analyse_errors(ground_truth, detections, metric, iou)
    by_kind = dict(enumerate(OF_DETECTIONS))
    outcome = found.found.outcome
    doubts = [place for place, type_ in by_kind.items() if type_ in _OF_TYPE]
    is_about_unfound = found.found.mends | (
        outcome == OF_DETECTIONS.index(ErrorType.BACKGROUND)
    )
    which = np.flatnonzero(
        np.isin(outcome, doubts)
        & is_about_unfound
        & found.found.counted
        & (detections.confidence >= least)
    )
    order = np.argsort(-detections.confidence[which], kind="stable")
    distinct = _distinct(which[order], ground_truth, detections, found)
    names = ground_truth.image_names
    images = Ids(ground_truth.image_ids, "image")
    candidates: list[LabelCandidate] = []
    for row in distinct:
        if len(candidates) >= highest:
            break
        place = int(images.places(detections.image[[row]])[0])
        doubt = _OF_TYPE[by_kind[int(outcome[row])]]
        candidates.append(
            _candidate(doubt, row, names[place], ground_truth, detections, found)
        )
    return tuple(candidates)


def _candidate(
    doubt: LabelDoubt,
    row: int,
    name: str,
    ground_truth: GroundTruth,
    detections: Detections,
    analysis: ErrorAnalysis,
) -> LabelCandidate:
    about = int(analysis.found.object[row])
    has_object = doubt is not LabelDoubt.NO_OBJECT
    return LabelCandidate(
        doubt=doubt,
        image=int(detections.image[row]),
        image_name=name,
        confidence=float(detections.confidence[row]),
        detection=row,
        category=int(detections.category[row]),
        box=_box(detections.boxes[row]),
        object=about if has_object else None,
        object_category=int(ground_truth.category[about]) if has_object else None,
        object_box=_box(ground_truth.boxes[about]) if has_object else None,
    )


def _box(corners: NDArray[np.float64]) -> Box:
    left, top, right, bottom = corners.tolist()
    return left, top, right, bottom


def _distinct(
    rows: Ints,
    ground_truth: GroundTruth,
    detections: Detections,
    analysis: ErrorAnalysis,
) -> Iterator[int]:
    """Yield the rows, without those in a crowd and those whose missing object an earlier one already states."""
    background = OF_DETECTIONS.index(ErrorType.BACKGROUND)
    crowds = np.flatnonzero(ground_truth.crowd)
    earlier: dict[int, list[int]] = {}
    for row in rows.tolist():
        if analysis.found.outcome[row] == background:
            image = int(detections.image[row])
            box = detections.boxes[row]
            others = earlier.setdefault(image, [])
            here = crowds[ground_truth.image[crowds] == image]
            is_known = _lies_in(box, ground_truth.boxes[here])
            if is_known or _is_near(box, detections.boxes[others]):
                continue
            others.append(row)
        yield row


def _lies_in(box: Floats, crowds: Floats) -> bool:
    """Return True if half or more of a box lies in one of the crowds (M, 4)."""
    near = np.maximum(box[:2], crowds[:, :2])
    far = np.minimum(box[2:], crowds[:, 2:])
    shared = np.maximum(far - near + 1, 0).prod(axis=1)
    area = (box[2:] - box[:2] + 1).prod()
    return bool((shared >= SAME * area).any())


def _is_near(box: Floats, others: Floats) -> bool:
    mine = np.repeat(box[None], len(others), axis=0)
    return bool((overlaps(mine, others) >= SAME).any())
