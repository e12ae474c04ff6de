"""From ground truth and detections to AP by category and mAP, for the metrics of one IoU threshold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from referee.errors import RefereeError
from referee.scoring.coco import evaluate_coco
from referee.scoring.columns import Detections
from referee.scoring.groups import BLACKLISTED, Groups, group_objects
from referee.scoring.matching import IGNORED, TRUE, Pairs, candidate_pairs, in_turn, joined
from referee.scoring.ordering import by_category, true_positive_ranks
from referee.scoring.result import Counts, Evaluation, signature
from referee.scoring.rules import COCO, Rule, rule_named
from testsets.ground_truth import GroundTruth

_DETECTIONS_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class CategoryRanks:
    """A category's id, how many `objects` count, and its detections `members` (M,) that count, as `by_category` orders.

    `ranks` (T,) from 1 are those of the true positives among the members by confidence; equal ones keep their order.
    """

    id: int
    objects: int
    members: NDArray[np.integer]
    ranks: NDArray[np.int64]


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
    """Score detections against the whole ground truth by one of METRICS.

    `iou` replaces the metric's threshold 0.5; `blacklist` holds (image id, category id) pairs whose
    detections are ignored and whose objects do not count. Crowds are left out (but not by `coco`), difficult
    objects count (but not for `voc-*`). `ground_truth_digest` goes into the signature. Raises `RefereeError`
    `unknown-metric`, `bad-iou`, `unknown-image`, `unknown-category`, `not-finite`.
    """
    if metric == COCO and iou is None:
        _refuse_not_finite(detections)
        return evaluate_coco(ground_truth, detections, blacklist, ground_truth_digest)
    if metric == COCO:
        raise RefereeError("bad-iou", "The metric coco has ten IoU thresholds of its own; give none.")
    rule = rule_named(metric)
    threshold = rule.threshold(iou)
    banned = frozenset(blacklist)
    ap: dict[int, float | None] = {}
    counts: dict[int, Counts] = {}
    for each in ranked_categories(ground_truth, detections, rule, threshold, banned):
        ap[each.id] = rule.average(each.ranks, each.objects) if each.objects else None
        counts[each.id] = Counts(each.objects, len(each.ranks), len(each.members) - len(each.ranks))
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


def ranked_categories(
    ground_truth: GroundTruth,
    detections: Detections,
    rule: Rule,
    threshold: float,
    banned: frozenset[tuple[int, int]],
) -> Iterator[CategoryRanks]:
    """Match and rank by a rule and its threshold: every category in the order of the ids.

    Raises `RefereeError` `unknown-image`, `unknown-category`, `not-finite`.
    """
    _refuse_not_finite(detections)
    groups = group_objects(ground_truth, ~ground_truth.crowd, banned)
    ignored = ground_truth.difficult[groups.objects] & rule.ignores_difficult
    objects = ground_truth.boxes[groups.objects]
    judged = _judge(detections, groups, objects, ignored, rule, rule.thresholds(objects, threshold))
    return _by_category(judged, detections, groups, groups.counts(~ignored), rule)


def _refuse_not_finite(detections: Detections) -> None:
    for what, values in (("confidence", detections.confidence), ("box", detections.boxes)):
        if not np.isfinite(values).all():
            raise RefereeError("not-finite", f"A {what} among the detections is not a finite number.")


def _judge(
    detections: Detections,
    groups: Groups,
    objects: NDArray[np.float64],
    ignored: NDArray[np.bool_],
    rule: Rule,
    thresholds: NDArray[np.float64],
) -> _Judged:
    # In portions: the columns of one portion stay in the processor's cache, and memory stays small.
    nowhere = len(groups.categories.ids)
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
        category[part] = np.where(group == BLACKLISTED, nowhere, categories)
    pairs = joined(found)
    found.clear()  # or all pairs would be held three times
    outcome = rule.outcomes(in_turn(pairs, detections.confidence), len(detections), ignored)
    category[outcome == IGNORED] = nowhere
    return _Judged(image, category, outcome == TRUE)


def _by_category(
    judged: _Judged, detections: Detections, groups: Groups, objects: NDArray[np.int64], rule: Rule
) -> Iterator[CategoryRanks]:
    categories = len(objects)
    sizes = np.bincount(judged.category, minlength=categories + 1)[:categories]
    image = judged.image if rule.ties_by_image else None
    order = by_category(image, judged.category, len(groups.images.ids), categories + 1)
    ranks_by_category = true_positive_ranks(detections.confidence, judged.is_true, order, sizes)
    ends = np.cumsum(sizes)
    columns = (groups.categories.ids.tolist(), objects.tolist(), ends - sizes, ends, ranks_by_category)
    for category, count, start, end, ranks in zip(*columns, strict=True):
        yield CategoryRanks(category, count, order[start:end], ranks)
