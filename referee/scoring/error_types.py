"""What the errors of a submission cost, by type: TIDE (Bolya et al. 2020), in mAP of the contest's metric.

An error is mended by an oracle, one type at a time: a badly placed or wrongly named detection becomes the object that
it is about, every other false one goes, and a missed object leaves the ground truth. A type costs what the mAP gains.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from referee.scoring.average_precision import tidecv_points
from referee.scoring.columns import Detections
from referee.scoring.error_gains import gains_of
from referee.scoring.error_matching import OF_DETECTIONS, TRUE, ErrorType, Terms, find
from referee.scoring.evaluation import evaluate
from referee.scoring.groups import Ids
from referee.scoring.matching import IGNORED, best_that_counts
from referee.scoring.rules import COCO, Rule, rule_named
from testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


__all__ = [
    "IGNORED",
    "OF_DETECTIONS",
    "TRUE",
    "ErrorAnalysis",
    "ErrorType",
    "ImageErrors",
    "analyse_as_tidecv",
    "analyse_errors",
    "mended",
    "worst_images",
]


@dataclass(frozen=True, eq=False)
class ErrorAnalysis:
    """The errors of M detections and G objects, and what they cost by the metric whose `map` this is, in 0..1.

    `gains` is by type the mAP gained if all errors of that type were mended; `counts` how many they are.
    `confidence_cost` is by category id, of those with objects: its AP if all its true detections ranked above its false
    ones, less its AP. The mean is `gains[FALSE_POSITIVE]`.

    By detection (M,), in order of arrival: `outcome` int8, a place in OF_DETECTIONS, or TRUE or IGNORED; `object`, the
    index in the ground truth of the object that it found or that its error is about, else -1; `mends`, whether it would
    find that object if its error were mended; `cost`, the mAP that it takes from the true ones below it.

    By object (G,): `unfound`, those that count and that no detection found, `missed`, those of them that no mended
    detection would find either, and `object_cost`, the share of its category's recall in mAP that an unfound one takes.
    """

    metric: str
    iou: float
    map: float
    gains: dict[ErrorType, float]
    counts: dict[ErrorType, int]
    confidence_cost: dict[int, float]
    outcome: NDArray[np.int8]
    object: Ints
    mends: Bools
    cost: Floats
    unfound: Bools
    missed: Bools
    object_cost: Floats


_TIDECV = Rule("tidecv", assign=best_that_counts, average=tidecv_points)


def analyse_errors(
    ground_truth: GroundTruth, detections: Detections, metric: str = "lpirc", iou: float | None = None
) -> ErrorAnalysis:
    """Analyse detections by one of METRICS, as `evaluate` judges them. Raises `RefereeError` as it does.

    `coco`, which has ten thresholds, has its errors named at .5, and every mended submission is evaluated.
    """
    if metric != COCO:
        rule = rule_named(metric)
        return _analysis(ground_truth, detections, Terms(rule, rule.threshold(iou)))
    before = evaluate(ground_truth, detections, COCO, iou)
    at_50 = _analysis(ground_truth, detections, Terms(_TIDECV, _TIDECV.iou, of_coco=True))
    after = {
        type_: evaluate(*mended(ground_truth, detections, at_50, type_), COCO)
        if at_50.counts[type_]
        else before
        for type_ in ErrorType
    }
    ordered = after[ErrorType.FALSE_POSITIVE].ap
    return replace(
        at_50,
        metric=COCO,
        map=before.map,
        gains={type_: each.map - before.map for type_, each in after.items()},
        confidence_cost={id_: (ordered[id_] or 0.0) - ap for id_, ap in before.ap.items() if ap is not None},
    )


def analyse_as_tidecv(ground_truth: GroundTruth, detections: Detections, iou: float = 0.5) -> ErrorAnalysis:
    """Analyse as the program tidecv 1.0.1 does, with its own AP; for figures that compare with published ones.

    Of an image all detections are looked at (its `max_dets`), and a gain may be negative, which it shows as 0.
    """
    return _analysis(
        ground_truth, detections, Terms(_TIDECV, _TIDECV.threshold(iou), of_coco=True, as_tidecv=True)
    )


def mended(
    ground_truth: GroundTruth, detections: Detections, analysis: ErrorAnalysis, type_: ErrorType
) -> tuple[GroundTruth, Detections]:
    """The ground truth and the detections with all errors of a type mended: judged, they have the mAP it gains."""
    if type_ is ErrorType.MISSED:
        return ground_truth.of_objects(~analysis.missed), detections
    if type_ is ErrorType.FALSE_NEGATIVE:
        return ground_truth.of_objects(~analysis.unfound), detections
    if type_ is ErrorType.FALSE_POSITIVE:
        return ground_truth, detections.chosen(np.flatnonzero(analysis.outcome < 0))
    is_type = analysis.outcome == OF_DETECTIONS.index(type_)
    kept = np.flatnonzero(~is_type | analysis.mends)
    chosen = detections.chosen(kept)
    moved = np.flatnonzero(is_type[kept])
    objects = analysis.object[kept[moved]]
    chosen.category[moved] = ground_truth.category[objects]
    chosen.boxes[moved] = ground_truth.boxes[objects]
    if chosen.coco_boxes is not None:
        chosen.coco_boxes[moved] = ground_truth.coco_boxes[objects]
    return ground_truth, chosen


def _analysis(ground_truth: GroundTruth, detections: Detections, terms: Terms) -> ErrorAnalysis:
    found = find(ground_truth, detections, terms)
    gains = gains_of(found, terms, len(ground_truth.category_ids))
    known = np.flatnonzero(~np.isnan(gains.ap))
    costs = (gains.ordered - gains.ap)[known].tolist()
    errors = np.bincount(found.outcome[found.outcome >= 0], minlength=len(OF_DETECTIONS)).tolist()
    counts = dict(zip(OF_DETECTIONS, errors, strict=True)) | {
        ErrorType.MISSED: int(found.missed.sum()),
        ErrorType.FALSE_POSITIVE: sum(errors),
        ErrorType.FALSE_NEGATIVE: int(found.unfound.sum()),
    }
    return ErrorAnalysis(
        metric=terms.rule.name,
        iou=terms.iou,
        map=gains.map,
        gains={type_: gains.mended[type_] - gains.map for type_ in ErrorType},
        counts=counts,
        confidence_cost=dict(zip(ground_truth.category_ids[known].tolist(), costs, strict=True)),
        outcome=found.outcome,
        object=found.object,
        mends=found.mends,
        cost=gains.costs[0],
        unfound=found.unfound,
        missed=found.missed,
        object_cost=gains.costs[1],
    )


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
    images = Ids(ground_truth.image_ids, "image")
    of_false = np.bincount(images.places(detections.image), analysis.cost, len(images.ids))
    cost = of_false + np.bincount(images.places(ground_truth.image), analysis.object_cost, len(images.ids))
    worst = np.lexsort((images.ids, -cost))[:count]
    found = []
    for image, its_cost in zip(images.ids[worst].tolist(), cost[worst].tolist(), strict=True):
        rows, objects = np.flatnonzero(detections.image == image), np.flatnonzero(ground_truth.image == image)
        rows = rows[np.lexsort((-detections.confidence[rows], -analysis.cost[rows]))]
        false, unfound = int((analysis.outcome[rows] >= 0).sum()), int(analysis.unfound[objects].sum())
        found.append(ImageErrors(image, its_cost, false, unfound, rows, objects))
    return tuple(one for one in found if one.cost > 0)
