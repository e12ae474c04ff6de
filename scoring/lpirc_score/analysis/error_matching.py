"""Finds the object of each detection, in any category, and classifies each false detection by kind of error.

The kinds are those of TIDE (Bolya et al. 2020). They are tried in the order of its program, and the first match wins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.coco_shapes import coco_boxes_of
from lpirc_score.metrics.detection_columns import Detections, refuse_not_finite
from lpirc_score.metrics.groups import Ids, group_objects, list_detections
from lpirc_score.metrics.matching import (
    IGNORED,
    UNMATCHED,
    Objects,
    Pairs,
    in_turn,
    pairs_of,
)
from lpirc_score.metrics.metric_kinds import Rule
from lpirc_score.metrics.overlap import Edges
from lpirc_score.metrics.tidecv import TIDECV
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

BACKGROUND_OVERLAP = 0.1


class ErrorType(StrEnum):
    """The kinds of error: six exclusive types, then two totals for all false detections and all unfound objects."""

    CLASSIFICATION = "classification"
    LOCALISATION = "localisation"
    BOTH = "both"
    DUPLICATE = "duplicate"
    BACKGROUND = "background"
    MISSED = "missed"
    FALSE_POSITIVE = "false-positive"
    FALSE_NEGATIVE = "false-negative"


OF_DETECTIONS = tuple(ErrorType)[:5]
"""The types that a false detection can have; its `outcome` is an index into this tuple."""

TRUE = -1
"""The outcome of a detection that finds an object. A detection that does not count has the outcome IGNORED."""

_PLACE = {type_: np.int8(place) for place, type_ in enumerate(OF_DETECTIONS)}


@dataclass(frozen=True, eq=False)
class Findings:
    """The result for each detection (M,) and object (G,), in the order of the source.

    `category` and `object_category` are indices into the ground truth's categories.

    `members` (M,) lists the detections by confidence, highest first. `counted` marks the detections that the metric
    does not ignore. `outcome` is an index into OF_DETECTIONS, or TRUE, or IGNORED. `object` is the index in the ground
    truth of the object that the detection found or that its error is about, else -1. `mends` marks the detections that
    would find that object if their error were mended.

    `objects` (G,) marks the objects that count, `unfound` those that no detection found, and `missed` those that would
    not be found even if every error were mended.
    """

    members: Ints
    category: Ints
    counted: Bools
    outcome: NDArray[np.int8]
    object: Ints
    mends: Bools
    object_category: Ints
    objects: Bools
    unfound: Bools
    missed: Bools


def find(
    ground_truth: GroundTruth,
    detections: Detections,
    rule: Rule,
    iou: float,
) -> Findings:
    """Match the detections and classify the errors.

    Raises `CodedError` `unknown-image`, `unknown-category`, `not-finite`.
    """
    refuse_not_finite(detections)
    categories = Ids(ground_truth.category_ids, "category")
    category, object_category = map(
        categories.places, (detections.category, ground_truth.category)
    )
    ignored = ground_truth.crowd | (ground_truth.difficult & rule.ignores_difficult)
    needed = rule.thresholds(ground_truth.boxes, iou)
    needed[ground_truth.crowd] = np.nextafter(
        iou, np.inf
    )  # a crowd asks for more than the threshold
    of_all = pairs_of_any_category(ground_truth, detections, needed, rule)
    members, ranks, pairs = of_all
    is_own = category.take(pairs.detection) == object_category.take(pairs.object)
    meets = pairs.overlap >= needed.take(pairs.object)

    found = np.empty(len(members), np.int64)
    found[members] = rule.assign(
        in_turn(pairs.take(is_own & meets), ranks), len(members), ignored
    )
    matched = np.flatnonzero(found >= 0)
    is_used = _marked(found.take(matched), len(ignored))
    is_error = found < 0 if rule is TIDECV else found == UNMATCHED
    left = is_error.take(pairs.detection) & ~ignored.take(pairs.object)
    # In tidecv a box whose overlap equals the threshold is misplaced, although it may find an object.
    is_placed = meets
    if rule is TIDECV:
        is_placed = pairs.overlap > needed.take(pairs.object)
    outcome, about = _errors(
        pairs.take(left),
        is_own[left],
        meets[left],
        is_placed[left],
        is_used,
        len(found),
    )

    aimed = np.flatnonzero(about >= 0)
    aimed = aimed[~is_used[about[aimed]]]
    in_order = aimed[np.argsort(ranks[aimed])]
    targets, first = np.unique(about[in_order], return_index=True)
    outcome[~is_error] = IGNORED
    outcome[matched] = TRUE
    about[matched] = found.take(matched)
    unfound = ~(is_used | ignored)
    return Findings(
        members=members,
        category=category,
        counted=found != IGNORED,
        outcome=outcome,
        object=about,
        mends=_marked(in_order[first], len(found)),
        object_category=object_category,
        objects=~ignored,
        unfound=unfound,
        missed=unfound & ~_marked(targets, len(ignored)),
    )


class PairsOfAll(NamedTuple):
    """The detections (M,) by rank, the rank (M,) of each, and the pairs of detections and objects, by their indices."""

    members: Ints
    ranks: Ints
    pairs: Pairs


def pairs_of_any_category(
    ground_truth: GroundTruth,
    detections: Detections,
    needed: Floats,
    rule: Rule,
) -> PairsOfAll:
    """Return the pairs of detections and objects that share an image, but not necessarily a category.

    Ranks are by confidence, over all categories together. `needed` (G,) is the overlap that each object requires; pairs
    down to BACKGROUND_OVERLAP are kept even if it is less than that.
    """
    one = np.zeros(1, np.int64)
    alike = replace(
        ground_truth, category=np.zeros_like(ground_truth.category), category_ids=one
    )
    groups = group_objects(alike, ~ground_truth.crowd | (rule is TIDECV), ())
    listing = list_detections(
        replace(detections, category=np.zeros_like(detections.category)), groups
    )
    members, _ = listing.ranked(0, 1, detections.confidence, rule.ties_by_image)
    ranks = np.empty(len(members), np.int64)
    ranks[members] = np.arange(len(members))

    def edges(source: GroundTruth | Detections, chosen: Ints) -> Edges:
        if rule is TIDECV:
            return Edges.of_coco(coco_boxes_of(source, chosen))
        return Edges.of_corners(source.boxes.take(chosen, axis=0))

    objects = Objects(
        edges(ground_truth, groups.objects),
        np.minimum(needed, BACKGROUND_OVERLAP)[groups.objects],
        ground_truth.crowd[groups.objects],
    )
    pairs = pairs_of(
        listing,
        groups,
        0,
        1,
        partial(edges, detections),
        objects,
    )
    detection = listing.order.take(pairs.detection).astype(np.int64)
    objects_of_pairs = groups.objects.take(pairs.object)
    return PairsOfAll(
        members,
        ranks,
        Pairs(detection, objects_of_pairs, pairs.overlap),
    )


def _errors(
    pairs: Pairs,
    is_own: Bools,
    meets: Bools,
    placed: Bools,
    is_used: Bools,
    detections: int,
) -> tuple[NDArray[np.int8], Ints]:
    """Return the kind of error (detections,), and the index of the object that it is about, or UNMATCHED.

    The kinds are tried in turn, and a later match replaces an earlier one. `pairs` are those of false detections with
    objects that count. `is_own` marks pairs of one category, and `meets` pairs that reach the required overlap. A
    detection that is `placed` on an object of its own category has no localisation error.
    """
    kind = np.full(detections, _PLACE[ErrorType.BACKGROUND], np.int8)
    target = np.full(detections, UNMATCHED, np.int64)
    kind[pairs.detection[pairs.overlap > BACKGROUND_OVERLAP]] = _PLACE[ErrorType.BOTH]
    kind[pairs.detection[is_own & meets & is_used.take(pairs.object)]] = _PLACE[
        ErrorType.DUPLICATE
    ]
    is_placed = _marked(pairs.detection[is_own & placed], detections)
    near = (
        is_own
        & (pairs.overlap >= BACKGROUND_OVERLAP)
        & ~is_placed.take(pairs.detection)
    )
    for type_, which in (
        (ErrorType.CLASSIFICATION, ~is_own & meets),
        (ErrorType.LOCALISATION, near),
    ):
        about = pairs.take(which)
        kind[about.detection] = _PLACE[type_]
        most = np.zeros(detections)
        np.maximum.at(most, about.detection, about.overlap)
        best = about.take(about.overlap == most.take(about.detection))
        # If overlaps are equal, take the first object: objects ascend, so write in reverse; the last write stays.
        target[best.detection[::-1]] = best.object[::-1]
    return kind, target


def _marked(which: Ints, size: int) -> Bools:
    marked = np.zeros(size, np.bool_)
    marked[which] = True
    return marked
