"""Scores by a `Rule`, a metric with one IoU threshold: matches, ranks and averages each category."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.average_precision import averages, mean_known
from lpirc_score.metrics.detection_columns import Detections, refuse_not_finite
from lpirc_score.metrics.evaluation_result import Counts, Evaluation, evaluation_of
from lpirc_score.metrics.groups import group_objects, list_detections
from lpirc_score.metrics.matching import IGNORED, Objects, Pairs, in_turn, pairs_of
from lpirc_score.metrics.metric_kinds import Blacklist, Rule
from lpirc_score.metrics.overlap import Edges
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CategoryRanks:
    """A category: its id, its number of `objects`, and its detections, both without ignored ones.

    `members` (M,) are the detections by confidence, highest first. `ranks` (T,) are the ranks, from 1, of the true
    positives among them, and `found` (T,) the indices in the ground truth of the objects that these found.
    """

    id: int
    objects: int
    members: Ints
    ranks: NDArray[np.int64]
    found: Ints


def evaluate_rule(
    rule: Rule,
    ground_truth: GroundTruth,
    detections: Detections,
    threshold: float,
    banned: Blacklist,
) -> Evaluation:
    """Score detections by a rule with this threshold.

    Raises `CodedError` `unknown-image`, `unknown-category`, `not-finite`.
    """
    ap: dict[int, float | None] = {}
    counts: dict[int, Counts] = {}
    for each in ranked_categories(
        ground_truth,
        detections,
        rule,
        threshold,
        banned,
    ):
        true = len(each.ranks)
        counts[each.id] = Counts(each.objects, true, len(each.members) - true)
        ap[each.id] = None
        if each.objects:
            ap[each.id] = rule.average(each.ranks, each.objects)
    return evaluation_of(
        rule.name,
        ground_truth,
        detections,
        ap,
        counts,
        iou=threshold,
    )


def ranked_categories(
    ground_truth: GroundTruth,
    detections: Detections,
    rule: Rule,
    threshold: float,
    banned: Blacklist,
) -> Iterator[CategoryRanks]:
    """Match and rank by a rule with this threshold, and yield every category in ascending order of id.

    Raises `CodedError` `unknown-image`, `unknown-category`, `not-finite`.
    """
    for batch in _batches(
        ground_truth,
        detections,
        rule,
        threshold,
        banned,
    ):
        members = batch.members
        taken = rule.assign(batch.pairs, len(members), batch.ignored)
        bounds = pairwise(batch.starts.tolist())
        categories = zip(batch.ids, batch.objects, bounds, strict=True)
        for id_, objects, (low, high) in categories:
            taken_here = taken[low:high]
            yield _ranked(id_, objects, members[low:high], taken_here, batch.sources)


def maps_over_time(
    ground_truth: GroundTruth,
    detections: Detections,
    since: Ints,
    moments: int,
    rule: Rule,
) -> NDArray[np.float64]:
    """Return the mAP at each moment (moments,) of the detections present: those whose `since` (M,) is not later.

    Each value equals the `map` of `evaluate_rule`, but candidate pairs are made only once. Raises as `evaluate_rule`
    does.
    """
    by_moment: list[list[NDArray[np.float64]]] = [[] for _ in range(moments)]
    for batch in _batches(
        ground_truth,
        detections,
        rule,
        rule.iou,
        frozenset(),
    ):
        its_since = since.take(batch.members)
        for moment, aps in enumerate(by_moment):
            is_here = its_since <= moment
            pairs = batch.pairs.take(is_here.take(batch.pairs.detection))
            taken = rule.assign(pairs, len(is_here), batch.ignored)
            is_true = taken >= 0
            counted = is_here & (taken != IGNORED)
            ap = averages(
                is_true,
                counted,
                batch.starts,
                batch.objects,
                rule.average,
            )
            aps.append(ap)
    return np.array(
        [mean_known(np.concatenate([np.empty(0), *aps])) for aps in by_moment]
    )


@dataclass(frozen=True, eq=False)
class _Batch:
    """Some categories: their ids (K,), counted `objects` (K,), and detections (n,), ranked as `members`.

    Category k is `starts[k]` .. `starts[k + 1] - 1`. `pairs` are in the order of `in_turn`;
    `ignored`, and the indices `sources` in the ground truth, are in the order of the sorted objects.
    """

    ids: Ints
    objects: Ints
    members: Ints
    starts: Ints
    pairs: Pairs
    ignored: NDArray[np.bool_]
    sources: Ints


def _batches(
    ground_truth: GroundTruth,
    detections: Detections,
    rule: Rule,
    threshold: float,
    banned: Blacklist,
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
        pairs = in_turn(
            pairs_of(
                listing,
                groups,
                first,
                last,
                edges,
                objects,
            ),
            ranks,
        )
        starts = listing.starts[first : last + 1] - listing.starts[first]
        ids = groups.categories.ids[first:last]
        yield _Batch(
            ids,
            counts[first:last],
            members,
            starts,
            pairs,
            ignored,
            groups.objects,
        )


def _ranked(
    id_: np.int64,
    objects: np.int64,
    members: Ints,
    taken: Ints,
    sources: Ints,
) -> CategoryRanks:
    counted = np.flatnonzero(taken != IGNORED)
    taken = taken.take(counted)
    true = np.flatnonzero(taken >= 0)
    return CategoryRanks(
        int(id_),
        int(objects),
        members.take(counted),
        true + 1,
        sources.take(taken.take(true)),
    )
