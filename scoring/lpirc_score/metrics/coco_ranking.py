"""Matches and ranks by the COCO metric: in one range of areas, for each of ten IoU thresholds.

A detection takes the best free object that passes the threshold. It takes an object that is ignored in the range only
if no other is left. This is the greedy assignment of `matching` with the ignored objects of each detection last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.matching import UNMATCHED, Pairs, assign_greedily

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


def rank(
    pairs: Pairs,
    ignored: Bools,
    crowd: Bools,
    inside: Bools,
    within: NDArray[np.uint8],
    bounds: Ints,
    objects: Ints,
) -> AreaResult:
    """Match and rank the detections (N,) of some categories: category k is `bounds[k]` .. `bounds[k + 1] - 1`.

    `pairs` are in the order of `in_turn`. Objects that are `ignored` (G,) in the range need not be found; a `crowd`
    (G,) can be found repeatedly. A detection without an object is false if it is `inside` (N,) the range, else ignored.
    `within` (N,) is the rank of a detection within its image and category.
    """
    needed = _needed(objects)
    # The number of counted detections before each one.
    counted = np.zeros(len(inside) + 1, np.int32)
    precision = []
    found = []
    listed = []
    for counts, true in matched_at_each_iou(pairs, ignored, crowd, inside):
        np.cumsum(counts, out=counted[1:])
        category = np.searchsorted(bounds, true, side="right") - 1
        place = within.take(true)
        by_most = []
        for most in MOST:
            is_listed = place < most
            counts_true = np.bincount(category[is_listed], minlength=len(objects))
            by_most.append(counts_true)
        found.append(by_most)

        at_bounds = counted.take(bounds)
        ranks = counted.take(true + 1) - at_bounds.take(category)
        precision.append(_precisions(ranks, by_most[-1], needed))
        listed.append(np.diff(at_bounds))
    by_recall = np.array(precision)
    by_recall[:, objects == 0] = np.nan
    return AreaResult(objects, by_recall, np.swapaxes(found, 0, 1), listed[0])


def matched_at_each_iou(
    pairs: Pairs,
    ignored: Bools,
    crowd: Bools,
    inside: Bools,
) -> Iterator[tuple[Bools, Ints]]:
    """Yield for each IoU which detections count (N,), and the indices of the true ones (T,). Input as for `rank`."""
    # By detection, with ignored objects last.
    keys = 2 * pairs.detection + ignored.take(pairs.object)
    pairs = pairs.take(np.argsort(keys, kind="stable"))
    for least in LEAST_OVERLAPS:
        pairs = pairs.take(pairs.overlap >= least)
        taken = assign_greedily(pairs, len(inside), crowd)
        matched = np.flatnonzero(taken != UNMATCHED)
        is_true = ~ignored.take(taken.take(matched))
        counts = inside.copy()
        counts[matched] = is_true
        yield counts, matched[is_true]


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
    """Return the best precision (K, R) at each of RECALLS or a higher recall.

    `ranks` are those of all true positives, and `found` (K,) is their number by category.
    """
    ends = np.cumsum(found)
    starts = ends - found
    place = np.arange(1, len(ranks) + 1)
    nth = place - np.repeat(starts, found)
    precision = nth / (ranks + SPACING)
    best = np.append(precision, 0.0)
    for low, high in zip(starts.tolist(), ends.tolist(), strict=True):
        backwards = best[low:high][::-1]
        np.maximum.accumulate(backwards, out=backwards)
    places = starts[:, None] + needed
    reached = best.take(places, mode="clip")
    is_reached = needed < found[:, None]
    return np.where(is_reached, reached, 0.0)
