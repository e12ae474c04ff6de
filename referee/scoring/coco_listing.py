"""Detections in the two orders of the COCO metric: that of matching and that of ranking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from referee.scoring.coco_ranges import MOST
from referee.scoring.columns import Detections
from referee.scoring.groups import BLACKLISTED, Groups
from referee.scoring.ordering import ascending_codes, descending
from testsets.boxes import coco_from_corners

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


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
