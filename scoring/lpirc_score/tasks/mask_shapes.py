"""Masks in the COCO engine: their overlaps and areas, by pycocotools, one image and category at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.coco_ranking import LEAST_OVERLAPS
from lpirc_score.metrics.coco_shapes import ShapesOf
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.groups import Groups, Listing
from lpirc_score.metrics.matching import Pairs
from lpirc_score.tasks.instance_masks import Mask, mask_program
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_MOST_AREAS = 255
"""pycocotools 2.0.11 writes the number of masks into a uint8 first, which NumPy 2 refuses for more."""


def mask_shapes(found: Sequence[Mask], objects: Sequence[Mask]) -> ShapesOf:
    """Return what makes shapes of the masks of all detections and of all objects."""

    def shapes(
        ground_truth: GroundTruth,
        _detections: Detections,
        chosen: Ints,
    ) -> MaskShapes:
        crowd = ground_truth.crowd[chosen].tolist()
        sorted_objects = [objects[at].coco for at in chosen.tolist()]
        return MaskShapes([mask.coco for mask in found], sorted_objects, crowd)

    return shapes


class MaskShapes:
    """Masks as pycocotools takes them: of the detections, and of the sorted objects (G,) of the groups."""

    def __init__(
        self,
        found: list[dict[str, Any]],
        objects: list[dict[str, Any]],
        crowd: list[bool],
    ) -> None:
        self._program = mask_program()
        self._found = found
        self._objects = objects
        self._crowd = crowd
        self._areas = np.zeros(len(found))
        for at in range(0, len(found), _MOST_AREAS):
            part = slice(at, at + _MOST_AREAS)
            self._areas[part] = self._program.area(found[part])

    def areas(self) -> Floats:
        """Return the numbers of pixels (N,) of all detections."""
        return self._areas

    def pairs(
        self,
        listing: Listing,
        groups: Groups,
        first: int,
        last: int,
        counts: Bools,
    ) -> Pairs:
        """Return the pairs of the detections that count."""
        nothing = np.empty(0, np.int64)
        found = [Pairs(nothing, nothing, np.empty(0))]
        found += self._of_groups(listing, groups, first, last, counts)
        parts = zip(*(vars(each).values() for each in found), strict=True)
        return Pairs(*map(np.concatenate, parts))

    def _of_groups(
        self,
        listing: Listing,
        groups: Groups,
        first: int,
        last: int,
        counts: Bools,
    ) -> Iterator[Pairs]:
        which = groups.of_categories(first, last)
        bounds = np.stack(
            [
                listing.low[which],
                listing.high[which],
                groups.starts[:-1][which],
                groups.starts[1:][which],
            ],
            axis=1,
        )
        is_met = bounds[:, 1] > bounds[:, 0]
        begin = int(listing.starts[first])
        for low, high, start, end in bounds[is_met].tolist():
            rows = np.arange(low, high)
            rows = rows[counts[low - begin : high - begin]]
            members = listing.order.take(rows).tolist()
            overlaps = self._program.iou(
                [self._found[at] for at in members],
                self._objects[start:end],
                self._crowd[start:end],
            )
            row, column = np.nonzero(overlaps >= LEAST_OVERLAPS[0])
            yield Pairs(rows.take(row) - begin, column + start, overlaps[row, column])
