"""Computes what each type of error costs a submission, in mAP of the contest's metric: TIDE (Bolya et al. 2020).

An oracle mends the errors of one type at a time: a badly placed or wrongly named detection becomes a match of its
object, every other false detection is removed, and a missed object is removed from the ground truth. The cost of a type
is the mAP gained. A mended detection takes an object that no other detection claims, so matching is not repeated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score.analysis.error_matching import (
    OF_DETECTIONS,
    TRUE,
    ErrorType,
    Findings,
    find,
)
from lpirc_score.metrics.average_precision import (
    averages,
    counts_before,
    mean_known,
    true_ranks,
)
from lpirc_score.metrics.detection_columns import Detections, require_columns
from lpirc_score.metrics.groups import Ids
from lpirc_score.metrics.metric_kinds import Rule
from lpirc_score.metrics.offered import COCO, rule_shown
from lpirc_score.metrics.ordering import ascending_codes
from lpirc_score.metrics.tidecv import TIDECV
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

__all__ = [
    "OF_DETECTIONS",
    "TRUE",
    "ErrorAnalysis",
    "ErrorType",
    "ImageErrors",
    "analyse_errors",
    "worst_images",
]


@dataclass(frozen=True, eq=False)
class ErrorAnalysis:
    """The errors of M detections and G objects, and their cost in the mAP (0..1) of the rule that computed `map`.

    `rule` is the metric, or what stands for one without a single threshold (`tidecv` for `coco`), `iou` its threshold.

    `map` is None where nothing has an AP, and so is each gain. `gains` has, by type, the mAP gained if all errors of
    that type were mended; `counts` has their number.
    `confidence_cost` has, by id of each category with objects, the AP that it would gain if all its true detections
    ranked above its false ones. `cost` (M,) is the mAP that each false detection takes from the true ones ranked below
    it. `object_cost` (G,) is the mAP that each unfound object costs: its share of its category's recall.
    """

    rule: str
    iou: float
    map: float | None
    gains: dict[ErrorType, float | None]
    counts: dict[ErrorType, int]
    confidence_cost: dict[int, float]
    found: Findings
    cost: Floats
    object_cost: Floats


def analyse_errors(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str = "lpirc",
    iou: float | None = None,
) -> ErrorAnalysis:
    """Analyse the errors of detections by a metric. Raises `CodedError` as `evaluate` does.

    A metric without a single threshold is analysed at one threshold, by default 0.5: `coco` as the program tidecv 1.0.1
    does, any other metric by the rule `lpirc`. The `map` is then not the metric's, and a gain may be below 0.
    """
    require_columns(ground_truth, detections)
    rule = TIDECV if metric == COCO else rule_shown(metric)
    threshold = rule.threshold(iou)
    found = find(ground_truth, detections, rule, threshold)
    categories = len(ground_truth.category_ids)
    own = _Listing.of(found, found.category, categories)
    objects = _by_category(found, found.objects, categories)
    is_true = own.outcome == TRUE
    ap = _averages(rule, is_true, own.counted, own.starts, objects)
    ordered = _averages(rule, is_true, is_true, own.starts, objects)
    mended = {
        ErrorType.FALSE_POSITIVE: np.where(np.isnan(ap), ap, np.nan_to_num(ordered)),
        **_with_objects_removed(rule, found, own, objects),
        **_with_detections_mended(rule, found, own, objects),
    }

    reached = None if np.isnan(ap).all() else mean_known(ap)
    scored = np.flatnonzero(objects)
    lost = (ordered - ap)[scored]
    share = 1 / max(1, len(scored)) / np.maximum(objects, 1)
    errors = np.bincount(
        found.outcome[found.outcome >= 0], minlength=len(OF_DETECTIONS)
    ).tolist()
    return ErrorAnalysis(
        rule=rule.name,
        iou=threshold,
        map=reached,
        gains={type_: _gain(mended[type_], reached) for type_ in ErrorType},
        counts=dict(zip(OF_DETECTIONS, errors, strict=True))
        | {
            ErrorType.MISSED: int(found.missed.sum()),
            ErrorType.FALSE_POSITIVE: sum(errors),
            ErrorType.FALSE_NEGATIVE: int(found.unfound.sum()),
        },
        confidence_cost=dict(
            zip(ground_truth.category_ids[scored].tolist(), lost.tolist(), strict=True)
        ),
        found=found,
        cost=_costs(own, share),
        object_cost=np.where(found.unfound, share.take(found.object_category), 0.0),
    )


def _gain(mended: Floats, reached: float | None) -> float | None:
    return None if reached is None else mean_known(mended) - reached


def _by_category(found: Findings, objects: Bools, categories: int) -> Ints:
    """Return the number of the marked objects in each category (K,)."""
    return np.bincount(found.object_category[objects], minlength=categories)


def _averages(
    rule: Rule,
    true: Bools,
    counted: Bools,
    starts: Ints,
    objects: Ints,
) -> Floats:
    """Return the AP (K,) by the rule; NaN for a category that the rule's mean leaves out."""
    ap = averages(true, counted, starts, objects, rule.average)
    if rule is TIDECV:
        # Its mean includes the categories with detections but without objects.
        has_detections = np.diff(counts_before(counted, starts)) > 0
        ap[np.isnan(ap) & has_detections] = 0.0
    return ap


def _with_objects_removed(
    rule: Rule,
    found: Findings,
    rows: _Listing,
    objects: Ints,
) -> dict[ErrorType, Floats]:
    """Return the AP (K,) for each type of error that is mended by removing its objects."""
    removed = {
        ErrorType.MISSED: found.missed,
        ErrorType.FALSE_NEGATIVE: found.unfound,
    }
    mended = {}
    for type_, without in removed.items():
        left = objects - _by_category(found, without, len(objects))
        is_true = rows.outcome == TRUE
        mended[type_] = _averages(rule, is_true, rows.counted, rows.starts, left)
    return mended


def _with_detections_mended(
    rule: Rule,
    found: Findings,
    own: _Listing,
    objects: Ints,
) -> dict[ErrorType, Floats]:
    """Return the AP (K,) for each type of error of a detection, with its errors mended."""
    category = found.category.copy()
    category[found.mends] = found.object_category[found.object[found.mends]]
    renamed = _Listing.of(found, category, len(objects))
    mended = {}
    for kind, type_ in enumerate(OF_DETECTIONS):
        rows = renamed if type_ is ErrorType.CLASSIFICATION else own
        is_kind = rows.outcome == kind
        mends = is_kind & rows.mends
        true = (rows.outcome == TRUE) | mends
        counted = (rows.counted & ~is_kind) | mends
        mended[type_] = _averages(rule, true, counted, rows.starts, objects)
    return mended


@dataclass(frozen=True, eq=False)
class _Listing:
    """Detections (M,) sorted by category and confidence: category k is `starts[k]` .. `starts[k + 1] - 1`."""

    order: Ints
    starts: Ints
    outcome: NDArray[np.int8]
    counted: Bools
    mends: Bools

    @classmethod
    def of(
        cls,
        found: Findings,
        category: Ints,
        categories: int,
    ) -> _Listing:
        order, codes = ascending_codes(category.take(found.members), categories)
        order = found.members.take(order)
        starts = np.searchsorted(codes, np.arange(categories + 1))
        return cls(
            order,
            starts,
            found.outcome.take(order),
            found.counted.take(order),
            found.mends.take(order),
        )


def _costs(rows: _Listing, share: Floats) -> Floats:
    """Return the mAP (M,) that each false detection costs: without it, every true detection below is more precise.

    The t-th true detection of a category, at rank r, has precision t / r, and t / (r - 1) without the false one. It
    contributes the `share` (K,) of its category.
    """
    is_true = rows.outcome == TRUE
    ranks, bounds = true_ranks(is_true, rows.counted, rows.starts)
    sizes = np.diff(bounds)
    place = np.arange(1, len(ranks) + 1)
    nth = place - np.repeat(bounds[:-1], sizes)
    lost = nth / np.maximum(ranks * (ranks - 1), 1)
    lost_map = lost * np.repeat(share, sizes)
    total = np.append(0.0, np.cumsum(lost_map))

    of_category = total.take(bounds[1:])
    of_true_above = total.take(np.cumsum(is_true, dtype=np.int64))
    below = np.repeat(of_category, np.diff(rows.starts))
    below -= of_true_above
    cost = np.empty(len(is_true))
    cost[rows.order] = np.where(rows.counted & ~is_true, below, 0.0)
    return cost


@dataclass(frozen=True, eq=False)
class ImageErrors:
    """One image: the mAP that its errors `cost`, its number of `false` detections, and its number of `unfound` objects.

    `detections` (n,) are the indices of its detections, most costly first. `objects` (m,) are the indices of its
    objects.
    """

    image: int
    cost: float
    false: int
    unfound: int
    detections: Ints
    objects: Ints


def worst_images(
    ground_truth: GroundTruth,
    detections: Detections,
    analysis: ErrorAnalysis,
    count: int = 12,
) -> tuple[ImageErrors, ...]:
    """Return the images whose errors cost most mAP, the worst first. Images without any cost are left out."""
    images = Ids(ground_truth.image_ids, "image")
    count_images = len(images.ids)
    false_places = images.places(detections.image)
    object_places = images.places(ground_truth.image)
    of_false = np.bincount(false_places, analysis.cost, count_images)
    of_objects = np.bincount(object_places, analysis.object_cost, count_images)
    cost = of_false + of_objects
    worst = np.lexsort((images.ids, -cost))[:count]
    is_worst = np.zeros(count_images, np.bool_)
    is_worst[worst] = True
    # Of all rows only those of these images are looked through for each of them.
    some_rows = np.flatnonzero(is_worst.take(false_places))
    some_objects = np.flatnonzero(is_worst.take(object_places))
    found = []
    ids = images.ids[worst].tolist()
    for image, its_cost in zip(ids, cost[worst].tolist(), strict=True):
        rows = some_rows[detections.image[some_rows] == image]
        objects = some_objects[ground_truth.image[some_objects] == image]
        # By cost, then by confidence: the last key of lexsort is the primary one.
        keys = (-detections.confidence[rows], -analysis.cost[rows])
        rows = rows[np.lexsort(keys)]
        false = int((analysis.found.outcome[rows] >= 0).sum())
        unfound = int(analysis.found.unfound[objects].sum())
        found.append(
            ImageErrors(
                image,
                its_cost,
                false,
                unfound,
                rows,
                objects,
            )
        )
    return tuple(one for one in found if one.cost > 0)
