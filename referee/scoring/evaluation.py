"""From ground truth and detections to AP by category and mAP."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from referee.errors import RefereeError
from referee.scoring.average_precision import area_under_envelope
from referee.scoring.columns import Detections
from referee.scoring.groups import BLACKLISTED, Groups, group_objects
from referee.scoring.matching import UNMATCHED, Pairs, assign_greedily, candidate_pairs, in_turn, joined
from referee.scoring.ranking import by_category, true_positive_ranks
from referee.scoring.rules import checked_iou, rule_named
from referee.scoring.signature import signature
from testsets.ground_truth import GroundTruth

_DETECTIONS_AT_ONCE = 1 << 14


@dataclass(frozen=True)
class Counts:
    """One category's objects that count, detections that found one, and detections that did not."""

    objects: int
    true_positives: int
    false_positives: int


@dataclass(frozen=True)
class Evaluation:
    """The outcome of a metric: `ap` and `counts` by category id, `map` their mean in 0..1, never NaN.

    A category without ground truth has the AP None and is no part of the mean; without any the mean is 0.
    """

    metric: str
    iou: float
    map: float
    ap: dict[int, float | None]
    counts: dict[int, Counts]
    categories_with_ground_truth: int
    images: int
    detections: int
    signature: str


@dataclass(frozen=True, eq=False)
class _Judged:
    """By detection: the places of its image and category (one past the last: ignored), and if it is true."""

    image: NDArray[np.int32]
    category: NDArray[np.int32]
    is_true: NDArray[np.bool_]


def evaluate(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str = "lpirc",
    iou: float | None = None,
    blacklist: Iterable[tuple[int, int]] = (),
    ground_truth_digest: str | None = None,
) -> Evaluation:
    """Score detections against the whole ground truth by the metric `lpirc` or `ilsvrc-det`.

    `iou` replaces the metric's threshold 0.5; `blacklist` holds (image id, category id) pairs whose
    detections are ignored and whose objects do not count. Crowds are left out, difficult objects count.
    `ground_truth_digest` goes into the signature. Raises `RefereeError` `unknown-metric`, `bad-iou`,
    `unknown-image`, `unknown-category`, `not-finite`.
    """
    rule = rule_named(metric)
    threshold = checked_iou(rule.iou if iou is None else iou)
    banned = frozenset(blacklist)
    _refuse_not_finite(detections)
    groups = group_objects(ground_truth, ~ground_truth.crowd, banned)
    objects = ground_truth.boxes[groups.objects]
    judged = _judge(detections, groups, objects, rule.thresholds(objects, threshold))
    ap, counts = _by_category(judged, detections, groups)
    scored = [value for value in ap.values() if value is not None]
    return Evaluation(
        metric=metric,
        iou=threshold,
        map=math.fsum(scored) / len(scored) if scored else 0.0,
        ap=ap,
        counts=counts,
        categories_with_ground_truth=len(scored),
        images=len(ground_truth.image_ids),
        detections=len(detections),
        signature=signature(metric, threshold, banned, ground_truth_digest),
    )


def _refuse_not_finite(detections: Detections) -> None:
    for what, values in (("confidence", detections.confidence), ("box", detections.boxes)):
        if not np.isfinite(values).all():
            raise RefereeError("not-finite", f"A {what} among the detections is not a finite number.")


def _judge(
    detections: Detections, groups: Groups, objects: NDArray[np.float64], thresholds: NDArray[np.float64]
) -> _Judged:
    # In portions: the columns of one portion stay in the processor's cache, and memory stays small.
    image = np.empty(len(detections), np.int32)
    category = np.empty(len(detections), np.int32)
    found: list[Pairs] = []
    for first in range(0, len(detections), _DETECTIONS_AT_ONCE):
        part = slice(first, first + _DETECTIONS_AT_ONCE)
        images = groups.images.places(detections.image[part])
        categories = groups.categories.places(detections.category[part])
        group = groups.at(images, categories)
        found.extend(candidate_pairs(detections, first, group, groups, objects, thresholds))
        image[part] = images
        category[part] = np.where(group == BLACKLISTED, len(groups.per_category), categories)
    return _Judged(image, category, _found_an_object(found, detections, len(objects)))


def _found_an_object(portions: list[Pairs], detections: Detections, objects: int) -> NDArray[np.bool_]:
    pairs = joined(portions)
    portions.clear()  # or all pairs would be held three times
    pairs = in_turn(pairs, detections.confidence)
    found: NDArray[np.bool_] = assign_greedily(pairs, len(detections), objects) != UNMATCHED
    return found


def _by_category(
    judged: _Judged, detections: Detections, groups: Groups
) -> tuple[dict[int, float | None], dict[int, Counts]]:
    categories = len(groups.per_category)
    sizes = np.bincount(judged.category, minlength=categories + 1)[:categories]
    order = by_category(judged.image, judged.category, len(groups.images.ids), categories + 1)
    ap: dict[int, float | None] = {}
    counts: dict[int, Counts] = {}
    ranks_by_category = true_positive_ranks(detections.confidence, judged.is_true, order, sizes)
    rows = zip(groups.categories.ids, groups.per_category, sizes, ranks_by_category, strict=True)
    for category, objects, size, ranks in rows:
        ap[int(category)] = area_under_envelope(ranks, int(objects)) if objects else None
        counts[int(category)] = Counts(int(objects), len(ranks), int(size) - len(ranks))
    return ap, counts
