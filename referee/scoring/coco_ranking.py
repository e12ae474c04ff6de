"""Detections in the two orders of the COCO metric, that of matching and that of ranking, and the ranks in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from referee.scoring.columns import Detections
from referee.scoring.groups import BLACKLISTED, Groups
from referee.scoring.ordering import ascending_codes, descending
from testsets.boxes import coco_from_corners

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOST = (1, 10, 100)
"""At most that many detections per image and category."""

_FOUND, _IGNORED = 1, 2
_SPACING = float(np.spacing(1.0))


@dataclass(frozen=True, eq=False)
class CocoListing:
    """The detections (N,) that count, by category, image, confidence (highest first), arrival.

    `within` counts from 0 inside an image and category; `boxes` (N, 4) are x, y, w, h, `area` is w * h; `group`
    is that of the ground truth. `place` (N,) is the rank from 0 by category, confidence, image, arrival, and
    category k holds the places `starts[k]` .. `starts[k + 1] - 1`.
    """

    group: NDArray[np.integer]
    within: Ints
    boxes: Floats
    area: Floats
    place: Ints
    starts: Ints


def list_detections(detections: Detections, groups: Groups) -> CocoListing:
    """Sort detections, leave out the blacklisted and all but the first 100 of an image and category.

    Raises `RefereeError` `unknown-image` or `unknown-category`.
    """
    images, categories = len(groups.images.ids), len(groups.categories.ids)
    image = groups.images.places(detections.image)
    category = groups.categories.places(detections.category)
    group = groups.at(image, category)
    codes = category * images + image
    order = descending(detections.confidence)
    order = order[ascending_codes(codes[order], images * categories)]
    within = _within_runs(codes[order])
    kept = (within < MOST[-1]) & (group[order] != BLACKLISTED)
    order, within = order[kept], within[kept]
    with np.errstate(over="ignore", invalid="ignore"):
        boxes = _boxes(detections, order)
        area = boxes[:, 2] * boxes[:, 3]
    ranking = descending(detections.confidence[order])
    ranking = ranking[ascending_codes(category[order][ranking], categories)]
    place = np.empty(len(order), np.int64)
    place[ranking] = np.arange(len(order))
    starts = np.append(0, np.cumsum(np.bincount(category[order], minlength=categories)))
    return CocoListing(group[order], within, boxes, area, place, starts)


def _within_runs(codes: Ints) -> Ints:
    """Count from 0 in every run of equal codes (N,)."""
    here = np.arange(len(codes))
    begins = np.append(True, codes[1:] != codes[:-1])[: len(codes)]
    return here - np.maximum.accumulate(np.where(begins, here, 0))


def _boxes(detections: Detections, order: Ints) -> Floats:
    if detections.coco_boxes is not None:
        return detections.coco_boxes[order]
    return coco_from_corners(detections.boxes[order])


@dataclass(frozen=True, eq=False)
class Ranked:
    """The true positives (F,) by category and rank: `ranks` from 1 among the detections that count.

    Category k holds `bounds[k]` .. `bounds[k + 1] - 1`, and `sizes` (K,) detections of it count; `category` and
    `within` (the count from 0 in image and category) belong to the true positives.
    """

    ranks: Ints
    bounds: Ints
    sizes: Ints
    category: Ints
    within: Ints

    def true_positives(self, most: int) -> Ints:
        """Count them by category (K,), of the first `most` detections of an image and category."""
        return np.bincount(self.category[self.within < most], minlength=len(self.sizes))

    def precisions(self, category: int) -> Floats:
        """Return the envelope of a category: by true positive the best precision there or further down."""
        ranks = self.ranks[self.bounds[category] : self.bounds[category + 1]]
        precision = np.arange(1, len(ranks) + 1) / (ranks + _SPACING)
        return np.maximum.accumulate(precision[::-1])[::-1]


class Ranking:
    """The ranks in one range of areas; unmatched detections count only `inside` (N,) it.

    What counts without any match is summed up once; a set of matches then changes a few places.
    """

    def __init__(self, listing: CocoListing, inside: Bools) -> None:
        self._place = listing.place
        self._starts = listing.starts
        self._counts = np.empty(len(inside), np.bool_)
        self._counts[listing.place] = inside
        self._before = np.append(0, np.cumsum(self._counts))
        self._within = np.empty(len(inside), np.int64)
        self._within[listing.place] = listing.within

    def rank(self, matched: Ints, found: Bools) -> Ranked:
        """Rank by the `matched` (P,) detections, which either `found` (P,) an object or are ignored."""
        status = np.zeros(len(self._counts), np.int8)
        status[self._place[matched]] = np.where(found, _FOUND, _IGNORED)
        places = np.flatnonzero(status)
        is_true = status[places] == _FOUND
        changes = np.append(0, np.cumsum(is_true.astype(np.int64) - self._counts[places]))
        offsets = self._before[self._starts] + changes[np.searchsorted(places, self._starts)]
        true = places[is_true]
        bounds = np.searchsorted(true, self._starts)
        category = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        ranks = self._before[true + 1] + changes[1:][is_true] - offsets[category]
        return Ranked(ranks, bounds, np.diff(offsets), category, self._within[true])
