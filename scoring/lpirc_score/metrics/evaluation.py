"""From ground truth and detections to AP by category and mAP, for the metrics of one IoU threshold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lpirc_score.errors import CodedError
from lpirc_score.metrics.average_precision import averages, mean_known
from lpirc_score.metrics.coco import IOU_RANGE, evaluate_coco
from lpirc_score.metrics.columns import Detections
from lpirc_score.metrics.groups import group_objects, list_detections
from lpirc_score.metrics.matching import IGNORED, Objects, Pairs, in_turn, pairs_of
from lpirc_score.metrics.overlap import Edges
from lpirc_score.metrics.result import Counts, Evaluation, signature
from lpirc_score.metrics.rules import COCO, Rule, rule_named
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CategoryRanks:
    """A category's id, how many `objects` count, and its detections that count.

    `members` (M,) run by confidence, highest first; `ranks` (T,) from 1 are those of the true positives among them.
    """

    id: int
    objects: int
    members: Ints
    ranks: NDArray[np.int64]


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
    objects count (but not for `voc-*`). `ground_truth_digest` goes into the signature. Raises `CodedError`
    `unknown-metric`, `bad-iou`, `unknown-image`, `unknown-category`, `not-finite`.
    """
    if metric == COCO and iou is None:
        refuse_not_finite(detections)
        return evaluate_coco(ground_truth, detections, blacklist, ground_truth_digest)
    if metric == COCO:
        raise CodedError(
            "bad-iou", "The metric coco has ten IoU thresholds of its own; give none."
        )
    rule = rule_named(metric)
    threshold = rule.threshold(iou)
    banned = frozenset(blacklist)
    ap: dict[int, float | None] = {}
    counts: dict[int, Counts] = {}
    for each in ranked_categories(ground_truth, detections, rule, threshold, banned):
        ap[each.id] = rule.average(each.ranks, each.objects) if each.objects else None
        counts[each.id] = Counts(
            each.objects, len(each.ranks), len(each.members) - len(each.ranks)
        )
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


def signature_of(metric: str, ground_truth_digest: str) -> str:
    """The signature of `evaluate` by a metric as it stands, without a blacklist."""
    iou = IOU_RANGE if metric == COCO else rule_named(metric).iou
    return signature(metric, iou, (), ground_truth_digest)


def ranked_categories(
    ground_truth: GroundTruth,
    detections: Detections,
    rule: Rule,
    threshold: float,
    banned: frozenset[tuple[int, int]],
) -> Iterator[CategoryRanks]:
    """Match and rank by a rule and its threshold: every category in the order of the ids.

    Raises `CodedError` `unknown-image`, `unknown-category`, `not-finite`.
    """
    for batch in _batches(ground_truth, detections, rule, threshold, banned):
        members = batch.members
        taken = rule.assign(batch.pairs, len(members), batch.ignored)
        bounds = pairwise(batch.starts.tolist())
        for id_, objects, (low, high) in zip(
            batch.ids, batch.objects, bounds, strict=True
        ):
            yield _ranked(id_, objects, members[low:high], taken[low:high])


def maps_over_time(
    ground_truth: GroundTruth,
    detections: Detections,
    since: Ints,
    moments: int,
    metric: str = "lpirc",
) -> NDArray[np.float64]:
    """Return the mAP at each moment (moments,) of the detections that are there: those whose `since` (M,) is not later.

    Each is the `map` that `evaluate` would find; candidate pairs are made only once. Raises as `evaluate` does,
    and `unknown-metric` for `coco`, which would take minutes.
    """
    rule = rule_named(metric)
    by_moment: list[list[NDArray[np.float64]]] = [[] for _ in range(moments)]
    for batch in _batches(ground_truth, detections, rule, rule.iou, frozenset()):
        its_since = since.take(batch.members)
        for moment, aps in enumerate(by_moment):
            is_here = its_since <= moment
            pairs = batch.pairs.take(is_here.take(batch.pairs.detection))
            taken = rule.assign(pairs, len(is_here), batch.ignored)
            counted = is_here & (taken != IGNORED)
            aps.append(
                averages(taken >= 0, counted, batch.starts, batch.objects, rule.average)
            )
    return np.array(
        [mean_known(np.concatenate(aps)) if aps else 0.0 for aps in by_moment]
    )


@dataclass(frozen=True, eq=False)
class _Batch:
    """Some categories: their ids (K,) and `objects` that count (K,), their detections (n,) ranked as `members`.

    Category k holds `starts[k]` .. `starts[k + 1] - 1`. `pairs` are `in_turn`; `ignored` is by sorted object.
    """

    ids: Ints
    objects: Ints
    members: Ints
    starts: Ints
    pairs: Pairs
    ignored: NDArray[np.bool_]


def _batches(
    ground_truth: GroundTruth,
    detections: Detections,
    rule: Rule,
    threshold: float,
    banned: frozenset[tuple[int, int]],
) -> Iterator[_Batch]:
    refuse_not_finite(detections)
    groups = group_objects(ground_truth, ~ground_truth.crowd, banned)
    ignored = ground_truth.difficult[groups.objects] & rule.ignores_difficult
    boxes = ground_truth.boxes[groups.objects]
    none = np.zeros(len(boxes), np.bool_)
    objects = Objects(Edges.of_corners(boxes), rule.thresholds(boxes, threshold), none)
    counts = groups.counts(~ignored)
    listing = list_detections(detections, groups)

    def edges(chosen: Ints) -> Edges:
        return Edges.of_corners(detections.boxes.take(chosen, axis=0))

    for first, last in listing.batches():
        members, ranks = listing.ranked(
            first, last, detections.confidence, rule.ties_by_image
        )
        pairs = in_turn(pairs_of(listing, groups, first, last, edges, objects), ranks)
        starts = listing.starts[first : last + 1] - listing.starts[first]
        ids = groups.categories.ids[first:last]
        yield _Batch(ids, counts[first:last], members, starts, pairs, ignored)


def _ranked(
    id_: np.int64, objects: np.int64, members: Ints, taken: Ints
) -> CategoryRanks:
    counted = np.flatnonzero(taken != IGNORED)
    ranks = np.flatnonzero(taken.take(counted) >= 0) + 1
    return CategoryRanks(int(id_), int(objects), members.take(counted), ranks)


def refuse_not_finite(detections: Detections) -> None:
    """Raise `CodedError` `not-finite` unless every confidence and corner is a finite number."""
    for what, values in (
        ("confidence", detections.confidence),
        ("box", detections.boxes),
    ):
        if not np.isfinite(values).all():
            raise CodedError(
                "not-finite", f"A {what} among the detections is not a finite number."
            )
