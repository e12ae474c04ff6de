"""Which detection finds which object: candidate pairs, and the greedy assignment of all groups at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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

FALSE, TRUE, IGNORED = 0, 1, 2
"""The outcomes of a detection."""

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

    `objects` (G, 4) and `thresholds` (G,) belong to the sorted objects; corners are inclusive.
    """

    def overlap(rows: Ints, columns: Ints) -> Floats:
        return overlaps(detections.boxes[rows], objects[columns])

    return pairs_above(group, first, groups, overlap, thresholds)


def pairs_above(
    group: NDArray[np.integer],
    first: int,
    groups: Groups,
    overlap: Callable[[Ints, Ints], Floats],
    thresholds: Floats,
) -> Iterator[Pairs]:
    """Return the pairs, as `candidate_pairs` does, by any kind of overlap.

    `overlap` gives that of detections (P,) and sorted objects (P,), by index; `thresholds` (G,) belong to the
    sorted objects. Pairs are made in portions: a crowded image costs time, not memory.
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
        shared = overlap(rows, columns)
        passed = np.flatnonzero((shared >= thresholds[columns]) & (shared > 0))
        yield Pairs(rows[passed].astype(np.int32), columns[passed].astype(np.int32), shared[passed])


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
    turn = descending(confidence[pairs.detection])
    detection = pairs.detection[turn]
    again = detection[1:] == detection[:-1]
    several = np.flatnonzero(np.append(again, False) | np.append(False, again))
    if len(several):
        place = np.cumsum(np.append(True, ~again), dtype=np.int32)[several]
        rivals = turn[several]
        turn[several] = rivals[np.lexsort((-pairs.overlap[rivals], place))]
    return pairs.take(turn)


def best_of_free(pairs: Pairs, detections: int, ignored: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Return the outcome of each detection (detections,) by the rule of ILSVRC; none is IGNORED.

    `pairs` are `in_turn`; of `ignored` (G,) only the length counts.
    """
    found = assign_greedily(pairs, detections, len(ignored)) != UNMATCHED
    return np.where(found, np.int8(TRUE), np.int8(FALSE))


def best_of_all(pairs: Pairs, detections: int, ignored: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Return the outcome of each detection (detections,) by the rule of VOC; `pairs` are `in_turn`.

    A detection wants the object that it overlaps best, taken or not. If that is `ignored` (G,), so is the
    detection; else the first that wants an object finds it, and all others are false.
    """
    outcome = np.full(detections, FALSE, np.int8)
    wanted = pairs.take(_is_best(pairs))
    outcome[wanted.detection[ignored[wanted.object]]] = IGNORED
    wanted = wanted.take(~ignored[wanted.object])
    _, first = np.unique(wanted.object, return_index=True)
    outcome[wanted.detection[first]] = TRUE
    return outcome


def assign_greedily(
    pairs: Pairs, detections: int, objects: int, crowd: NDArray[np.bool_] | None = None
) -> NDArray[np.int32]:
    """Return the object (detections,) that each detection takes, or UNMATCHED; `pairs` are `in_turn`.

    A `crowd` (objects,) may be taken again and again.

    The rule of ILSVRC: in turn, a detection takes the best-overlapping object that is not yet taken. Instead
    of one detection after the other, every round settles all detections whose best free object no earlier
    detection wants: no earlier detection can take it, so taking turns would end the same way.
    """
    taken_by = np.full(detections, UNMATCHED, np.int32)
    first_claim = np.empty(objects, np.int32)
    free = np.ones(objects, np.bool_)
    while len(pairs.detection):
        places = np.arange(len(pairs.detection), dtype=np.int32)
        first_claim[pairs.object[::-1]] = places[::-1]  # the last write stays: the earliest claim
        unrivalled = first_claim[pairs.object] == places
        if crowd is not None:
            unrivalled |= crowd[pairs.object]
        settled = pairs.take(_is_best(pairs) & unrivalled)
        taken_by[settled.detection] = settled.object
        free[settled.object] = False if crowd is None else crowd[settled.object]
        pairs = pairs.take(free[pairs.object] & (taken_by[pairs.detection] == UNMATCHED))
    return taken_by


def _is_best(pairs: Pairs) -> NDArray[np.bool_]:
    """Which pairs are the first of their detection, of pairs that are `in_turn`."""
    is_best = np.ones(len(pairs.detection), np.bool_)
    np.not_equal(pairs.detection[1:], pairs.detection[:-1], out=is_best[1:])
    return is_best
