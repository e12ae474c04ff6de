"""Matches by the COCO metric: groups, candidate pairs, and what finds an object in each range of areas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.coco_ranking import (
    MOST,
    Found,
    assigned_at_each_iou,
    assigned_otherwise,
)
from lpirc_score.metrics.coco_shapes import BoxShapes, ShapesOf
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.groups import Listing, group_objects, list_detections
from lpirc_score.metrics.matching import Pairs, in_turn
from lpirc_score.metrics.metric_kinds import Blacklist
from lpirc_score.metrics.ordering import by_digits
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

AREAS = {
    "all": (0.0, 1e5**2),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e5**2),
}
"""Ranges of areas in square pixels; both limits are included."""

ALL = 0
"""The index of the range of all areas."""

_AREA_BITS = [np.uint8(1 << place) for place in range(len(AREAS))]


@dataclass(frozen=True, eq=False)
class Batch:
    """Some categories: `members` (n,) are their detections by rank, category k from `bounds[k]` to `bounds[k + 1] - 1`.

    `inside` marks the detections in each area range; `within` is the rank within the same image and category; `pairs`
    are in the order of `in_turn`.
    """

    members: Ints
    bounds: Ints
    pairs: Pairs
    inside: NDArray[np.bool_]
    within: NDArray[np.uint8]


class CocoMatching:
    """The work shared by all ranges of areas: groups, candidate pairs, and objects `ignored` by range (areas, G)."""

    def __init__(
        self,
        ground_truth: GroundTruth,
        detections: Detections,
        banned: Blacklist,
        shapes_of: ShapesOf = BoxShapes,
    ) -> None:
        every = np.ones(len(ground_truth.image), np.bool_)
        groups = group_objects(ground_truth, every, banned)
        self.groups = groups
        self._detections = detections
        chosen = groups.objects
        self.crowd = ground_truth.crowd[chosen]
        is_inside = _inside(ground_truth.area[chosen])
        self.ignored = self.crowd | ~is_inside
        self._shapes = shapes_of(ground_truth, detections, chosen)
        self._inside_bits = _bits_of(_inside(self._shapes.areas()))
        self.listing = list_detections(detections, groups)

    def batch(
        self,
        first: int,
        last: int,
    ) -> Batch:
        """Return the batch of the categories `first` .. `last - 1`."""
        listing = self.listing
        detections = self._detections
        members, ranks = listing.ranked(
            first, last, detections.confidence, ties_by_image=True
        )
        within = _within(listing, first, last, ranks)
        is_listed = within < MOST[-1]
        bits = self._inside_bits.take(members)
        inside = np.array([bits & _AREA_BITS[area] != 0 for area in range(len(AREAS))])
        inside &= is_listed

        found = self._shapes.pairs(
            listing,
            self.groups,
            first,
            last,
            is_listed.take(ranks),
        )
        pairs = in_turn(found, ranks, last_first=True)
        pairs = pairs.take(is_listed.take(pairs.detection))
        starts = listing.starts[first : last + 1]
        bounds = starts - starts[0]
        return Batch(
            members,
            bounds,
            pairs,
            inside,
            within,
        )

    def assigned(self, batch: Batch) -> Iterator[list[Found]]:
        """Yield for each range of areas what finds an object at each IoU."""
        ignored = self.ignored
        known = assigned_at_each_iou(batch.pairs, ignored[ALL], self.crowd)
        yield known
        sizes = np.diff(self.groups.starts)
        group = np.repeat(np.arange(len(sizes)), sizes)
        for area in range(ALL + 1, len(ignored)):
            yield assigned_otherwise(
                known,
                batch.pairs,
                ignored[ALL],
                ignored[area],
                self.crowd,
                group,
            )


def _within(
    listing: Listing,
    first: int,
    last: int,
    ranks: Ints,
) -> NDArray[np.uint8]:
    """Number the detections by rank within their image and category, from 0 to the largest of MOST at most."""
    opens = listing.opens[listing.starts[first] : listing.starts[last]]
    begins = np.flatnonzero(opens)
    sizes = np.diff(begins, append=len(ranks))
    by_group = ranks
    # Detectors list what they find in an image by confidence, and then the ranks ascend.
    ascend = opens[1:] | (ranks[1:] > ranks[:-1])
    if not ascend.all():
        group = np.empty(len(ranks), np.int64)
        group[ranks] = np.repeat(np.arange(len(begins)), sizes)
        by_group = by_digits(group, len(begins).bit_length())
    place = np.arange(len(ranks)) - np.repeat(begins, sizes)
    within = np.empty(len(ranks), np.uint8)
    within[by_group] = np.minimum(place, MOST[-1])
    return within


def _bits_of(inside: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return marks (ranges, N) as the bits of one number for each column (N,)."""
    bits = np.zeros(inside.shape[1], np.uint8)
    for bit, row in zip(_AREA_BITS, inside, strict=True):
        bits |= row * bit
    return bits


def _inside(area: Floats) -> NDArray[np.bool_]:
    """Return which areas (M,) lie inside each of AREAS (ranges, M)."""
    rows = []
    for least, most in AREAS.values():
        is_outside = (area < least) | (area > most)
        rows.append(~is_outside)
    return np.array(rows)
