"""Assigns objects to detections: finds candidate pairs, then assigns greedily in all groups at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.groups import Groups, Listing
from lpirc_score.metrics.overlap import Edges, shared_over_union

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

UNMATCHED = -1
IGNORED = -2
"""The mark of a detection that is ignored and has no object; UNMATCHED is the mark of a false detection."""

_PAIRS_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class Pairs:
    """Detection-object pairs in one group whose overlap meets the object's threshold: parallel columns (P,).

    `detection` is an index into the listing's order or, once the pairs are `in_turn`, a rank. `object` is an index into
    the sorted objects of the groups.
    """

    detection: Ints
    object: Ints
    overlap: Floats

    def take(self, which: Ints | NDArray[np.bool_]) -> Pairs:
        """Return the pairs at these indices, in order."""
        at = which
        if which.dtype == np.bool_:
            at = np.flatnonzero(which)
        return Pairs(
            self.detection.take(at), self.object.take(at), self.overlap.take(at)
        )


@dataclass(frozen=True, eq=False)
class Objects:
    """The sorted objects (G,) of the groups: their edges and the overlap that each requires.

    For a `crowd` (G,) the overlap is the share of the detection that lies in the crowd.
    """

    edges: Edges
    thresholds: Floats
    crowd: NDArray[np.bool_]

    def least_sides(self) -> tuple[Floats, Floats]:
        """Return lower bounds (G,) for the width and the height of the intersection of a pair."""
        needed = np.where(self.crowd, 0.0, self.thresholds)
        return self.edges.least_sides(needed)


def pairs_of(
    listing: Listing,
    groups: Groups,
    first: int,
    last: int,
    edges: Callable[[Ints], Edges],
    objects: Objects,
) -> Pairs:
    """Return the pairs of the categories `first` .. `last - 1`; the pairs of each detection ascend by object.

    Indices of detections are relative to the first of these categories. `edges` returns the edges of detections (M,) of
    the submission. A crowded image costs time, not memory: pairs are made in portions of detections whose groups have
    the same number of objects.
    """
    which = groups.of_categories(first, last)
    low = listing.low[which]
    high = listing.high[which]
    begins = groups.starts[:-1][which]
    ends = groups.starts[1:][which]
    counts = ends - begins

    met = np.flatnonzero(high > low)
    by_count = np.argsort(counts.take(met), kind="stable")
    met = met.take(by_count)
    sizes = high.take(met) - low.take(met)
    counts = counts.take(met)

    least = objects.least_sides()
    nothing = np.empty(0, np.int64)
    found = [Pairs(nothing, nothing, np.empty(0))]
    for one, end in _portions(sizes, counts):
        part = met[one:end]
        size = sizes[one:end]
        count = int(counts[one])
        before = np.cumsum(size) - size
        places = np.repeat(low.take(part) - before, size)
        places += np.arange(len(places))
        begin = np.repeat(begins.take(part), size)
        step = max(1, _PAIRS_AT_ONCE // count)
        for at in range(0, len(places), step):
            rows = places[at : at + step]
            columns = np.arange(count)[:, None] + begin[at : at + step]
            with np.errstate(all="ignore"):  # corners near 1e308 overlap nothing
                members = listing.order.take(rows).astype(np.int64)
                at_rows = rows - listing.starts[first]
                pairs = _above(
                    at_rows,
                    edges(members),
                    columns,
                    objects,
                    least,
                )
                found.append(pairs)
    parts = zip(*(vars(each).values() for each in found), strict=True)
    return Pairs(*map(np.concatenate, parts))


def _portions(sizes: Ints, counts: Ints) -> Iterator[tuple[int, int]]:
    """Split the groups where the number of objects changes, and after every _PAIRS_AT_ONCE pairs."""
    pairs = np.cumsum(sizes * counts)
    done = pairs // _PAIRS_AT_ONCE
    is_other_count = counts[1:] != counts[:-1]
    is_other_part = done[1:] != done[:-1]
    cuts = np.flatnonzero(is_other_count | is_other_part) + 1
    if len(sizes):
        yield from pairwise([0, *cuts.tolist(), len(sizes)])


def _above(
    places: Ints,
    detected: Edges,
    columns: Ints,
    objects: Objects,
    least: tuple[Floats, Floats],
) -> Pairs:
    """Return the pairs of each detection (n,) with its objects (c, n) that reach the `least` overlap.

    Most candidates are rejected by comparing one axis.
    """
    edges = objects.edges
    far_x = edges.far[0].take(columns)
    near_x = edges.near[0].take(columns)
    width = np.minimum(detected.far[0], far_x)
    width -= np.maximum(detected.near[0], near_x)
    width += edges.extra
    is_wide = width >= least[0].take(columns)
    kept = np.flatnonzero(is_wide)
    row = kept % len(places)
    column = columns.ravel().take(kept)
    width = width.ravel().take(kept)

    far_y = edges.far[1].take(column)
    near_y = edges.near[1].take(column)
    height = np.minimum(detected.far[1].take(row), far_y)
    height -= np.maximum(detected.near[1].take(row), near_y)
    height += edges.extra
    is_high = height >= least[1].take(column)
    kept = np.flatnonzero(is_high)
    row = row.take(kept)
    column = column.take(kept)
    width = width.take(kept)
    height = height.take(kept)
    area = detected.area.take(row)
    overlap = shared_over_union(width, height, area, edges.area.take(column))

    crowds = np.flatnonzero(objects.crowd.take(column))
    shared = width[crowds] * height[crowds]
    overlap[crowds] = shared / area[crowds]
    is_enough = overlap >= objects.thresholds.take(column)
    kept = np.flatnonzero(is_enough & (overlap > 0))
    detections = places.take(row.take(kept))
    return Pairs(detections, column.take(kept), overlap.take(kept))


def in_turn(
    pairs: Pairs,
    ranks: Ints,
    last_first: bool = False,
) -> Pairs:
    """Return the pairs in decision order: by the ranks (n,) of their detections, then best overlap first.

    Equal overlaps keep the order of the objects, so that the first object wins; with `last_first` the last one wins.
    """
    rank = ranks.take(pairs.detection)
    bits = len(rank).bit_length()
    position = np.arange(len(rank))
    keys = np.sort((rank << bits) | position)
    turn = keys & ((1 << bits) - 1)
    rank = rank.take(turn)

    again = rank[1:] == rank[:-1]
    has_next = np.append(again, False)
    has_former = np.append(False, again)
    several = np.flatnonzero(has_next | has_former)
    if len(several):
        rivals = turn.take(several)
        by_overlap = -pairs.overlap.take(rivals)
        by_rank = rank.take(several)
        # The last key of lexsort is the primary one.
        sort_keys = [by_overlap, by_rank]
        if last_first:
            sort_keys.insert(0, -pairs.object.take(rivals))
        order = np.lexsort(sort_keys)
        turn[several] = rivals.take(order)
    return Pairs(rank, pairs.object.take(turn), pairs.overlap.take(turn))


def best_of_free(
    pairs: Pairs,
    detections: int,
    ignored: NDArray[np.bool_],
) -> Ints:
    """Return the object that each detection (detections,) finds by the rule of ILSVRC, or UNMATCHED.

    `pairs` are in the order of `in_turn`; only the length of `ignored` (G,) is used.
    """
    return assign_greedily(pairs, detections, np.zeros(len(ignored), np.bool_))


def assign_greedily(
    pairs: Pairs,
    detections: int,
    shared: NDArray[np.bool_],
) -> Ints:
    """Return the object (detections,) that each detection takes, or UNMATCHED; `pairs` are in decision order.

    By the rule of ILSVRC and COCO, detections in turn take the first of their objects that is free; a `shared` (G,)
    object stays free. Instead of one detection at a time, each round settles every detection that is the first to
    want its first free object. No earlier detection can take that object, so the result is the same.
    """
    taken_by = np.full(detections, UNMATCHED, np.int64)
    first_claim = np.empty(len(shared), np.int64)
    free = np.ones(len(shared), np.bool_)
    while len(pairs.detection):
        places = np.arange(len(pairs.detection))
        # Written in reverse, so that the earliest claim is the last write and stays.
        first_claim[pairs.object[::-1]] = places[::-1]
        is_earliest = first_claim.take(pairs.object) == places
        is_unrivalled = is_earliest | shared.take(pairs.object)
        settled = pairs.take(first_pairs(pairs) & is_unrivalled)

        taken_by[settled.detection] = settled.object
        free[settled.object] = shared.take(settled.object)
        is_waiting = taken_by.take(pairs.detection) == UNMATCHED
        pairs = pairs.take(free.take(pairs.object) & is_waiting)
    return taken_by


def first_pairs(pairs: Pairs) -> NDArray[np.bool_]:
    """Return which pairs (P,) are the first of their detection; the pairs must be `in_turn`."""
    is_best = np.ones(len(pairs.detection), np.bool_)
    np.not_equal(pairs.detection[1:], pairs.detection[:-1], out=is_best[1:])
    return is_best
