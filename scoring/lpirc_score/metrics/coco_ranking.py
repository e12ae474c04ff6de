"""Matches and ranks by the COCO metric: in one range of areas, for each of ten IoU thresholds.

A detection takes the best free object that passes the threshold. It takes an object that is ignored in the range only
if no other is left. This is the greedy assignment of `matching` with the ignored objects of each detection last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.matching import (
    UNMATCHED,
    Pairs,
    assign_greedily,
    first_pairs,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

IOUS = np.linspace(0.5, 0.95, 10)
LEAST_OVERLAPS = np.minimum(IOUS, 1 - 1e-10)

MOST = (1, 10, 100)
"""The largest numbers of detections that count per image and category."""

RECALLS = np.linspace(0.0, 1.0, 101)

SPACING = float(np.spacing(np.float64(1.0)))
"""The amount that COCO adds to the number of detections before dividing by it."""


@dataclass(frozen=True, eq=False)
class AreaResult:
    """The result for one range of areas, by IoU (T,) and category (K,).

    `objects` (K,) are the numbers of counted objects.

    `precision` (T, K, R) is the best one at each of RECALLS or a higher recall, NaN without objects. `true` (MOST, T,
    K) is the number of detections that found an object, among the first 1, 10 or 100 of an image. `listed` (K,) is the
    number of detections that are not ignored at the first IoU.
    """

    objects: Ints
    precision: Floats
    true: Ints
    listed: Ints

    @property
    def recall(self) -> Floats:
        """The share of objects found (MOST, T, K), NaN without objects."""
        unknown = np.full(self.true.shape, np.nan)
        share: Floats = np.divide(
            self.true, self.objects, out=unknown, where=self.objects > 0
        )
        return share


@dataclass(frozen=True, eq=False)
class Found:
    """The detections (M,) that find an object at one IoU, ascending by rank, and the objects (M,) that they find."""

    detection: Ints
    object: Ints

    def take(self, which: Ints) -> Found:
        """Return those at these indices, in order."""
        return Found(self.detection.take(which), self.object.take(which))


def assigned_at_each_iou(pairs: Pairs, ignored: Bools, crowd: Bools) -> list[Found]:
    """Return what finds an object, for each IoU.

    `pairs` are in the order of `in_turn`. Objects that are `ignored` (G,) are taken last; a `crowd` (G,) can be found
    repeatedly.
    """
    pairs = pairs.take(_ignored_last(pairs, ignored))
    is_first = first_pairs(pairs)
    detections = pairs.detection.compress(is_first)
    numbers = np.cumsum(is_first) - 1
    pairs = Pairs(numbers, pairs.object, pairs.overlap)
    found = []
    for least in LEAST_OVERLAPS:
        pairs = pairs.take(pairs.overlap >= least)
        taken = assign_greedily(pairs, len(detections), crowd)
        matched = np.flatnonzero(taken != UNMATCHED)
        found.append(Found(detections.take(matched), taken.take(matched)))
    return found


def assigned_otherwise(
    known: list[Found],
    pairs: Pairs,
    before: Bools,
    ignored: Bools,
    crowd: Bools,
    group: Ints,
) -> list[Found]:
    """Return what `assigned_at_each_iou` does, from what is `known` with the objects `before` (G,) ignored.

    Groups are independent: those in which each detection asks for its objects in the same order as before have the same
    assignment. Only the other ones are computed. `group` (G,) is that of each object.
    """
    moved = _ignored_last(pairs, ignored) != _ignored_last(pairs, before)
    if not moved.any():
        return known
    of_pair = group.take(pairs.object)
    is_other = np.zeros(int(group.max()) + 1, np.bool_)
    is_other[of_pair.compress(moved)] = True
    again = assigned_at_each_iou(pairs.take(is_other.take(of_pair)), ignored, crowd)
    found = []
    for old, new in zip(known, again, strict=True):
        is_kept = ~is_other.take(group.take(old.object))
        detection = np.concatenate([old.detection.compress(is_kept), new.detection])
        objects = np.concatenate([old.object.compress(is_kept), new.object])
        order = np.argsort(detection, kind="stable")
        found.append(Found(detection, objects).take(order))
    return found


def _ignored_last(pairs: Pairs, ignored: Bools) -> Ints:
    """Return the order of pairs by detection, with its ignored objects last."""
    keys = 2 * pairs.detection + ignored.take(pairs.object)
    return np.argsort(keys, kind="stable")


def rank(
    assigned: Iterable[Found],
    ignored: Bools,
    inside: Bools,
    within: NDArray[np.uint8],
    bounds: Ints,
    objects: Ints,
) -> AreaResult:
    """Rank the detections (N,) of some categories: category k is `bounds[k]` .. `bounds[k + 1] - 1`.

    Objects that are `ignored` (G,) in the range need not be found. A detection without an object is false if it is
    `inside` (N,) the range, else ignored. `within` (N,) is the rank of a detection within its image and category.
    """
    needed = _needed(objects)
    # The number of detections inside the range before each one.
    before = np.zeros(len(inside) + 1, np.int32)
    np.cumsum(inside, out=before[1:])
    precision = []
    found = []
    listed = []
    for one in assigned:
        is_true = ~ignored.take(one.object)
        # A detection that finds an object counts if that object does, wherever its own area lies.
        changes = np.zeros(len(is_true) + 1, np.int64)
        np.subtract(is_true, inside.take(one.detection), out=changes[1:], dtype=np.int8)
        np.cumsum(changes, out=changes)
        ends = np.searchsorted(one.detection, bounds)
        counted = before.take(bounds) + changes.take(ends)

        true = one.detection.compress(is_true)
        true_ends = np.searchsorted(true, bounds)
        by_most = _found_by_most(within.take(true), true_ends)
        found.append(by_most)
        of_category = by_most[-1]
        ranks = before.take(true + 1) + changes[1:].compress(is_true)
        ranks -= np.repeat(counted[:-1], of_category)
        precision.append(_precisions(ranks, of_category, needed))
        listed.append(np.diff(counted))
    by_recall = np.array(precision)
    by_recall[:, objects == 0] = np.nan
    return AreaResult(objects, by_recall, np.swapaxes(found, 0, 1), listed[0])


def _found_by_most(place: NDArray[np.uint8], ends: Ints) -> list[Ints]:
    """Count by category the true detections whose place in image and category is below each of MOST."""
    counts = []
    for most in MOST:
        before = np.zeros(len(place) + 1, np.int64)
        np.cumsum(place < most, out=before[1:])
        counts.append(np.diff(before.take(ends)))
    return counts


def counted_at_each_iou(
    assigned: Iterable[Found],
    ignored: Bools,
    inside: Bools,
) -> Iterator[tuple[Bools, Ints]]:
    """Yield for each IoU which detections count (N,), and the indices of the true ones (T,). Input as for `rank`."""
    for one in assigned:
        is_true = ~ignored.take(one.object)
        counts = inside.copy()
        counts[one.detection] = is_true
        yield counts, one.detection.compress(is_true)


def category_precisions(by_iou: Iterable[Bools], objects: int) -> Floats:
    """Return the `precision` of `rank` for one category (T, R). `by_iou` marks the true detections at each IoU."""
    needed = _needed(np.array([objects]))
    rows = []
    for is_true in by_iou:
        ranks = np.flatnonzero(is_true) + 1
        found = np.array([len(ranks)])
        rows.append(_precisions(ranks, found, needed)[0])
    return np.array(rows)


def _needed(objects: Ints) -> Ints:
    """Return the smallest number of true positives (K, R) that reaches each of RECALLS.

    `objects` (K,) is the number of objects by category.
    """
    reached = []
    for count in objects.tolist():
        recall = np.arange(1, count + 1) / count
        reached.append(np.searchsorted(recall, RECALLS))
    return np.reshape(reached, (-1, len(RECALLS))).astype(np.int64)


def _precisions(
    ranks: Ints,
    found: Ints,
    needed: Ints,
) -> Floats:
    """Return the best precision (K, R) at each of RECALLS or a higher recall; 0 beyond the highest that is reached.

    `ranks` are those of all true positives, and `found` (K,) is their number by category.
    """
    starts = np.cumsum(found) - found
    place = np.arange(1, len(ranks) + 1)
    nth = place - np.repeat(starts, found)
    precision = np.append(nth / (ranks + SPACING), 0.0)
    # The best one from each recall to the next, then to the highest; a category's recalls begin where it does.
    places = starts[:, None] + np.minimum(needed, found[:, None])
    best = np.maximum.reduceat(precision, places.ravel()).reshape(places.shape)
    best[needed >= found[:, None]] = 0.0
    backwards = np.maximum.accumulate(best[:, ::-1], axis=1)
    return backwards[:, ::-1]
