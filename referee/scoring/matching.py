"""Which detection finds which object: candidate pairs, and the greedy assignment of all groups at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from referee.scoring.columns import Detections
from referee.scoring.groups import Groups
from referee.scoring.ordering import descending
from referee.scoring.overlap import overlaps

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

UNMATCHED = -1

_PAIRS_AT_ONCE = 1 << 15


@dataclass(frozen=True, eq=False)
class Pairs:
    """Detections and objects of one group whose overlap meets the object's threshold: parallel columns (P,).

    `detection` indexes the submission, `object` the sorted objects of the groups. Ascending by detection,
    then by object.
    """

    detection: NDArray[np.int32]
    object: NDArray[np.int32]
    overlap: Floats

    def take(self, which: Ints | NDArray[np.bool_]) -> Pairs:
        """Return the pairs at these places, in their order."""
        return Pairs(self.detection[which], self.object[which], self.overlap[which])


def candidate_pairs(
    detections: Detections,
    first: int,
    group: NDArray[np.integer],
    groups: Groups,
    objects: Floats,
    thresholds: Floats,
) -> Iterator[Pairs]:
    """Return the pairs of the detections `first` .. `first + len(group) - 1`, whose groups are given.

    `objects` (G, 4) and `thresholds` (G,) belong to the sorted objects. Pairs are made in portions, so that a
    crowded image costs time, not memory.
    """
    hit = np.flatnonzero(group >= 0)
    starts = groups.starts[group[hit]]
    counts = groups.starts[group[hit] + 1] - starts
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, np.arange(0, total, _PAIRS_AT_ONCE), side="right")
    bounds = np.unique(np.append(cuts, len(hit)))
    for low, high in pairwise(bounds):
        size = counts[low:high]
        rows = np.repeat(hit[low:high] + first, size)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(size) - size, size)
        columns = np.repeat(starts[low:high], size) + within
        overlap = overlaps(detections.boxes[rows], objects[columns])
        passed = np.flatnonzero((overlap >= thresholds[columns]) & (overlap > 0))
        yield Pairs(rows[passed].astype(np.int32), columns[passed].astype(np.int32), overlap[passed])


def joined(portions: Sequence[Pairs]) -> Pairs:
    """All portions behind each other."""
    return Pairs(
        np.concatenate([np.empty(0, np.int32), *(portion.detection for portion in portions)]),
        np.concatenate([np.empty(0, np.int32), *(portion.object for portion in portions)]),
        np.concatenate([np.empty(0), *(portion.overlap for portion in portions)]),
    )


def in_turn(pairs: Pairs, confidence: Floats) -> Pairs:
    """Return the pairs in the order of decisions: by confidence, then arrival, then best overlap.

    Equal overlaps keep the order of the objects: the first wins.
    """
    pairs = pairs.take(descending(confidence[pairs.detection]))
    again = pairs.detection[1:] == pairs.detection[:-1]
    several = np.flatnonzero(np.append(again, False) | np.append(False, again))
    if len(several) == 0:
        return pairs
    place = np.cumsum(np.append(True, ~again))[several]
    order = np.arange(len(pairs.detection))
    order[several] = several[np.lexsort((-pairs.overlap[several], place))]
    return pairs.take(order)


def assign_greedily(pairs: Pairs, detections: int, objects: int) -> NDArray[np.int32]:
    """Return the object (detections,) that each detection takes, or UNMATCHED; `pairs` are `in_turn`.

    The rule of ILSVRC: in turn, a detection takes the best-overlapping object that is not yet taken. Instead
    of one detection after the other, every round settles all detections whose best free object no earlier
    detection wants: nobody before them can take it, so their turn would end the same way.
    """
    taken_by = np.full(detections, UNMATCHED, np.int32)
    first_claim = np.empty(objects, np.int32)
    free = np.ones(objects, np.bool_)
    while len(pairs.detection):
        places = np.arange(len(pairs.detection), dtype=np.int32)
        first_claim[pairs.object[::-1]] = places[::-1]  # the last write stays: the earliest claim
        is_best = np.append(True, pairs.detection[1:] != pairs.detection[:-1])
        settled = pairs.take(is_best & (first_claim[pairs.object] == places))
        taken_by[settled.detection] = settled.object
        free[settled.object] = False
        pairs = pairs.take(free[pairs.object] & (taken_by[pairs.detection] == UNMATCHED))
    return taken_by
