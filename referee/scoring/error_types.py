"""What the errors of a submission cost, by type: TIDE (Bolya et al., "TIDE", ECCV 2020), in mAP of the contest's metric.

An error is mended by an oracle, one type at a time: a badly placed or wrongly named detection becomes the object that
it is about, every other false one goes, and a missed object goes from the ground truth. A type costs what the mAP gains.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from referee.scoring.columns import Detections
from testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class ErrorType(StrEnum):
    """The six types that share out the errors, then the two that mend all false detections or all unfound objects."""

    CLASSIFICATION = "classification"
    LOCALISATION = "localisation"
    BOTH = "both"
    DUPLICATE = "duplicate"
    BACKGROUND = "background"
    MISSED = "missed"
    FALSE_POSITIVE = "false-positive"
    FALSE_NEGATIVE = "false-negative"


OF_DETECTIONS = tuple(ErrorType)[:5]
"""The types that a false detection can have: `ErrorAnalysis.outcome` holds places in this tuple."""

TRUE, IGNORED = -1, -2
"""The outcomes of detections that are no errors: it found an object, or it does not count."""


@dataclass(frozen=True, eq=False)
class ErrorAnalysis:
    """The errors of M detections and G objects, and what they cost by the metric whose `map` this is, in 0..1.

    `gains` is by type the mAP gained if all errors of that type were mended; `counts` how many they are.
    `confidence_cost` is by category id, of those with objects: its AP if all its true detections ranked above its false
    ones, less its AP. The mean is `gains[FALSE_POSITIVE]`: no change of confidences can gain more.

    By detection (M,), in order of arrival: `outcome` int8, a place in OF_DETECTIONS, or TRUE or IGNORED; `object`, the
    index in the ground truth of the object that it found or that its error is about, else -1; `cost`, the mAP that
    it takes from the true ones below it. By object (G,): `unfound`, those that count and that no detection found, and
    `missed`, those of them that no mended detection would find either.
    """

    metric: str
    iou: float
    map: float
    gains: dict[ErrorType, float]
    counts: dict[ErrorType, int]
    confidence_cost: dict[int, float]
    outcome: NDArray[np.int8]
    object: Ints
    cost: Floats
    unfound: Bools
    missed: Bools


def analyse_errors(
    ground_truth: GroundTruth, detections: Detections, metric: str = "lpirc", iou: float | None = None
) -> ErrorAnalysis:
    """Analyse detections by one of METRICS, as `evaluate` judges them. Raises `RefereeError` as it does."""
    raise NotImplementedError


def analyse_as_tidecv(ground_truth: GroundTruth, detections: Detections, iou: float = 0.5) -> ErrorAnalysis:
    """Analyse as the program tidecv 1.0.1 does, with its own AP; for figures that compare with published ones."""
    raise NotImplementedError


@dataclass(frozen=True, eq=False)
class ImageErrors:
    """An image, the mAP that its errors `cost`, how many detections are `false` and how many objects `unfound`.

    `detections` (n,) and `objects` (m,) are indices of its rows, most costly first, and of its objects.
    """

    image: int
    cost: float
    false: int
    unfound: int
    detections: Ints
    objects: Ints


def worst_images(
    ground_truth: GroundTruth, detections: Detections, analysis: ErrorAnalysis, count: int = 12
) -> tuple[ImageErrors, ...]:
    """The images whose errors cost most, the worst first; none that costs nothing.

    A false detection costs the precision that it takes from the true ones below it, an unfound object its share of the
    recall of its category, both in mAP.
    """
    raise NotImplementedError
