"""What each detection finds and, where it is false, what kind of error it is, whatever its category.

The kinds are those of TIDE (Bolya et al. 2020), looked for in the order of its program: the first that fits counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from referee.scoring.columns import Detections
from referee.scoring.evaluation import refuse_not_finite
from referee.scoring.groups import Ids, group_objects, list_detections
from referee.scoring.matching import UNMATCHED, Objects, Pairs, in_turn, pairs_of
from referee.scoring.overlap import Edges
from referee.scoring.rules import Rule
from testsets.boxes import coco_from_corners
from testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

BACKGROUND_OVERLAP = 0.1


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
"""The types that a false detection can have; its `kind` is a place in this tuple."""

_KIND = {type_: np.int8(place) for place, type_ in enumerate(OF_DETECTIONS)}


@dataclass(frozen=True)
class Terms:
    """The rule and its threshold. `of_coco`: boxes have a corner and a size, and crowds are ignored, not left out.

    `as_tidecv`: ignored detections can be errors, and a category with rows is in the mean, also without objects.
    """

    rule: Rule
    iou: float
    of_coco: bool = False
    as_tidecv: bool = False


@dataclass(frozen=True, eq=False)
class Findings:
    """By detection (M,) and by object (G,), in the order of the source; `category` and `object_category` are places.

    `members` (M,) are the detections by confidence, highest first. `found` is the object that a detection finds, else
    UNMATCHED or IGNORED; `kind` its kind of error, else UNMATCHED; `target` the object that it could find if it were
    rightly placed and named; it `mends` if it is the first that could find an object that no detection found.
    `counts` are the objects that count; of them, no detection finds the `unfound`, and none could find the `missed`.
    """

    members: Ints
    category: Ints
    found: Ints
    kind: NDArray[np.int8]
    target: Ints
    mends: Bools
    object_category: Ints
    counts: Bools
    unfound: Bools
    missed: Bools


def find(ground_truth: GroundTruth, detections: Detections, terms: Terms) -> Findings:
    """Match, and name the errors. Raises `RefereeError` `unknown-image`, `unknown-category`, `not-finite`."""
    refuse_not_finite(detections)
    categories = Ids(ground_truth.category_ids, "category")
    category, object_category = map(categories.places, (detections.category, ground_truth.category))
    members, ranks, order, pairs, needed = _pairs(ground_truth, detections, terms)
    detection = order.take(pairs.detection).astype(np.int64)
    is_own = category.take(detection) == object_category.take(pairs.object)
    meets = pairs.overlap >= needed.take(pairs.object)
    ignored = ground_truth.crowd | (ground_truth.difficult & terms.rule.ignores_difficult)

    found = np.empty(len(members), np.int64)
    rivals = in_turn(pairs.take(is_own & meets), ranks)
    found[members] = terms.rule.assign(rivals, len(members), ignored)
    is_used = _marked(found[found >= 0], len(ignored))
    is_error = found < 0 if terms.as_tidecv else found == UNMATCHED

    left = is_error.take(detection) & ~ignored.take(pairs.object)
    of_errors = replace(pairs, detection=detection).take(left)
    kind, target = _errors(of_errors, is_own[left], meets[left], needed, is_used, len(found))
    kind[~is_error] = UNMATCHED

    in_order = members[(target >= 0)[members] & ~is_used[target[members]]] if len(is_used) else members[:0]
    targets, first = np.unique(target.take(in_order), return_index=True)
    unfound = ~(is_used | ignored)
    return Findings(
        members,
        category,
        found,
        kind,
        target,
        _marked(in_order[first], len(found)),
        object_category,
        ~ignored,
        unfound,
        unfound & ~_marked(targets, len(ignored)),
    )


def _pairs(
    ground_truth: GroundTruth, detections: Detections, terms: Terms
) -> tuple[Ints, Ints, NDArray[np.int32], Pairs, Floats]:
    """Detections by rank; ranks and detections as listed; pairs of a listed detection and an object of its image.

    The last are the overlaps (G,) that the objects need; pairs may have less, but no less than BACKGROUND_OVERLAP.
    """
    one = np.zeros(1, np.int64)
    alike = replace(ground_truth, category=np.zeros_like(ground_truth.category), category_ids=one)
    groups = group_objects(alike, ~ground_truth.crowd | terms.of_coco, ())
    listing = list_detections(replace(detections, category=np.zeros_like(detections.category)), groups)
    members, ranks = listing.ranked(0, 1, detections.confidence, terms.rule.ties_by_image)

    boxes = ground_truth.coco_boxes if terms.of_coco else ground_truth.boxes
    needed = terms.rule.thresholds(boxes, terms.iou)
    needed[ground_truth.crowd] = np.nextafter(terms.iou, np.inf)  # a crowd asks for more than the threshold
    objects = Objects(
        Edges.of_coco(boxes[groups.objects]) if terms.of_coco else Edges.of_corners(boxes[groups.objects]),
        np.minimum(needed, BACKGROUND_OVERLAP)[groups.objects],
        ground_truth.crowd[groups.objects],
    )

    def edges(chosen: Ints) -> Edges:
        if not terms.of_coco:
            return Edges.of_corners(detections.boxes.take(chosen, axis=0))
        if detections.coco_boxes is None:
            return Edges.of_coco(coco_from_corners(detections.boxes.take(chosen, axis=0)))
        return Edges.of_coco(detections.coco_boxes.take(chosen, axis=0))

    pairs = pairs_of(listing, groups, 0, 1, edges, objects)
    return members, ranks, listing.order, replace(pairs, object=groups.objects.take(pairs.object)), needed


def _errors(
    pairs: Pairs, is_own: Bools, meets: Bools, needed: Floats, is_used: Bools, detections: int
) -> tuple[NDArray[np.int8], Ints]:
    """The kind of error (detections,), and the object that it is about or UNMATCHED; each kind replaces those before.

    `pairs` are those of false detections with objects that count; `is_own` is by category, `meets` by overlap.
    """
    kind = np.full(detections, _KIND[ErrorType.BACKGROUND], np.int8)
    target = np.full(detections, UNMATCHED, np.int64)
    kind[pairs.detection[pairs.overlap > BACKGROUND_OVERLAP]] = _KIND[ErrorType.BOTH]
    kind[pairs.detection[is_own & meets & is_used.take(pairs.object)]] = _KIND[ErrorType.DUPLICATE]

    wrong = pairs.take(~is_own & meets)
    kind[wrong.detection] = _KIND[ErrorType.CLASSIFICATION]
    _aim(target, wrong)

    is_placed = _marked(pairs.detection[is_own & (pairs.overlap > needed.take(pairs.object))], detections)
    near = is_own & (pairs.overlap >= BACKGROUND_OVERLAP) & ~is_placed.take(pairs.detection)
    kind[pairs.detection[near]] = _KIND[ErrorType.LOCALISATION]
    _aim(target, pairs.take(near))
    return kind, target


def _aim(target: Ints, pairs: Pairs) -> None:
    """Set the target of each detection of the pairs: the object that it overlaps best, the first of equals."""
    most = np.zeros(len(target))
    np.maximum.at(most, pairs.detection, pairs.overlap)
    best = pairs.take(pairs.overlap == most.take(pairs.detection))
    target[best.detection[::-1]] = best.object[
        ::-1
    ]  # the last write stays: those of a detection ascend by object


def _marked(which: Ints, size: int) -> Bools:
    marked = np.zeros(size, np.bool_)
    marked[which] = True
    return marked
