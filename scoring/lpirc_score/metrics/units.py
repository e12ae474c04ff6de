"""Finds boxes that are in another unit than pixels, or of another form, by where they lie in their images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.detection_columns import Detections
from lpirc_testsets.ground_truth import GroundTruth
from lpirc_testsets.values import shown

Flags = NDArray[np.bool_]
PIXELS = "pixels of the image"
SHARES = "shares of the image, from 0 to 1"
MOST_LOOKED_AT = 100_000
TOLD: Final[WeakSet[Detections]] = WeakSet()
"""Detections of which the warnings were given when they were read."""


@dataclass(frozen=True, eq=False)
class _Edges:
    """The edges of n boxes, and the `width` and `height` of their images, infinite where these are not known."""

    left: NDArray[np.float64]
    top: NDArray[np.float64]
    right: NDArray[np.float64]
    bottom: NDArray[np.float64]
    width: NDArray[np.float64]
    height: NDArray[np.float64]

    @property
    def outside(self) -> Flags:
        """Which boxes have no point in their image."""
        beyond = (self.left > self.width) | (self.top > self.height)
        return beyond | (self.right < 0) | (self.bottom < 0)

    @property
    def centred_outside(self) -> Flags:
        """Which boxes have their centre outside their image."""
        x = (self.left + self.right) / 2
        y = (self.top + self.bottom) / 2
        return (x > self.width) | (y > self.height) | (x < 0) | (y < 0)


def unit_warnings(
    place: object,
    found: Detections,
    ground_truth: GroundTruth,
    unit: str = PIXELS,
) -> tuple[str, ...]:
    """Return a sentence for a sign of another unit than `unit`; sizes of images that are not known give none.

    `place` says where the boxes are from, such as the path of their file.

    Of many boxes only some are looked at, at even distances: a whole file in another unit shows in them as well.
    """
    step = len(found) // MOST_LOOKED_AT + 1
    found = _every(found, step)
    count = len(found)
    if not count:
        return ()
    where = f"{place}: of one box in {step}" if step > 1 else str(place)
    edges = _edges(found, ground_truth)
    if unit == PIXELS and are_shares(found, ground_truth):
        sentence = f"all boxes ({count}) lie within 0..1, as shares of an image do; write {unit}"
        return (f"{where}: {sentence}",)
    outside = edges.outside
    if number := int(np.count_nonzero(outside)):
        first = shown(_name_of(int(found.image[outside.argmax()]), ground_truth))
        of = f"{number} of {count} boxes lie"
        if number == count:
            of = f"all boxes ({count}) lie"
        sentence = (
            f"{of} wholly outside their image, the first in image {first}; write {unit}"
        )
        return (f"{where}: {sentence}",)
    if found.coco_boxes is not None and _are_corners(found.coco_boxes, edges):
        sentence = (
            "boxes leave their images, and each bbox is at least as wide as its x and as high as its y: "
            "bbox is x, y, width, height, and these look like corners"
        )
        return (f"{where}: {sentence}",)
    return ()


def are_shares(found: Detections, ground_truth: GroundTruth) -> bool:
    """Return True if there are boxes, all within 0..1, while objects are larger."""
    boxes = found.boxes if found.coco_boxes is None else found.coco_boxes
    if not len(boxes) or boxes.min() < 0 or ground_truth.boxes.max(initial=0) <= 1:
        return False
    if found.coco_boxes is not None:
        boxes = boxes[:, :2] + boxes[:, 2:]
    return bool(boxes.max() <= 1)


def are_centred_outside(found: Detections, ground_truth: GroundTruth) -> bool:
    """Return True if there are boxes, and all have their centre outside their image."""
    edges = _edges(found, ground_truth)
    return len(found) > 0 and bool(edges.centred_outside.all())


def _every(found: Detections, step: int) -> Detections:
    if step == 1:
        return found
    coco_boxes = None if found.coco_boxes is None else found.coco_boxes[::step]
    return Detections(
        found.image[::step],
        found.category[::step],
        found.confidence[::step],
        found.boxes[::step],
        coco_boxes,
    )


def _are_corners(boxes: NDArray[np.float64], edges: _Edges) -> bool:
    x, y, width, height = boxes.T
    are_ordered = (width >= x).all() and (height >= y).all()
    leave = (edges.right > edges.width + 1) | (edges.bottom > edges.height + 1)
    return bool(are_ordered and leave.any())


def _edges(found: Detections, ground_truth: GroundTruth) -> _Edges:
    left, top, right, bottom = found.boxes.T
    if found.coco_boxes is not None:
        left, top, width, height = found.coco_boxes.T
        right = left + width
        bottom = top + height
    unknown = (np.inf, np.inf)
    ids = ground_truth.image_ids
    sizes = [ground_truth.sizes.get(id_, unknown) for id_ in ids.tolist()]
    limits = np.array([*sizes, unknown], np.float64)
    places = np.searchsorted(ids, found.image)
    known = np.append(ids, -1)[places] == found.image
    places[~known] = len(ids)
    return _Edges(left, top, right, bottom, *limits[places].T)


def _name_of(image: int, ground_truth: GroundTruth) -> object:
    place = int(np.searchsorted(ground_truth.image_ids, image))
    return ground_truth.image_names[place] or image
