"""What the COCO metric asks of the shapes that it compares: the overlaps of pairs, and the areas of detections.

`BoxShapes` are boxes. Masks are in `lpirc_score.tasks.mask_shapes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.coco_ranking import LEAST_OVERLAPS
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.groups import Groups, Listing
from lpirc_score.metrics.matching import Objects, Pairs, pairs_of
from lpirc_score.metrics.overlap import Edges
from lpirc_testsets.box_corners import coco_from_corners
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Shapes(Protocol):
    """The shapes of detections and of the sorted objects (G,) of the groups."""

    def areas(self) -> Floats:
        """Return the areas (N,) of all detections in square pixels."""
        ...

    def pairs(
        self,
        listing: Listing,
        groups: Groups,
        first: int,
        last: int,
        counts: Bools,
    ) -> Pairs:
        """Return the pairs of the categories `first` .. `last - 1` that reach LEAST_OVERLAPS[0], as `pairs_of` does.

        `counts` (n,) marks the detections, as listed, of which pairs are needed; others may have some.
        """
        ...


ShapesOf = Callable[[GroundTruth, Detections, Ints], Shapes]
"""Makes the shapes of all detections, and of the objects with these indices (G,)."""


class BoxShapes:
    """Boxes in COCO's form, x, y, w, h."""

    def __init__(
        self,
        ground_truth: GroundTruth,
        detections: Detections,
        chosen: Ints,
    ) -> None:
        self._detections = detections
        crowd = ground_truth.crowd[chosen]
        edges = Edges.of_coco(ground_truth.coco_boxes[chosen])
        least = np.full(len(crowd), LEAST_OVERLAPS[0])
        self._objects = Objects(edges, least, crowd)

    def areas(self) -> Floats:
        """Return the areas (N,) of all detections."""
        boxes = self._detections.coco_boxes
        if boxes is None:
            boxes = coco_from_corners(self._detections.boxes)
        with np.errstate(over="ignore", invalid="ignore"):
            area: Floats = boxes[:, 2] * boxes[:, 3]
        return area

    def pairs(
        self,
        listing: Listing,
        groups: Groups,
        first: int,
        last: int,
        _counts: Bools,
    ) -> Pairs:
        """Return the pairs of all detections."""
        return pairs_of(
            listing,
            groups,
            first,
            last,
            self._edges,
            self._objects,
        )

    def _edges(self, chosen: Ints) -> Edges:
        return Edges.of_coco(coco_boxes_of(self._detections, chosen))


def coco_boxes_of(source: Detections | GroundTruth, chosen: Ints) -> Floats:
    """Return the COCO boxes (n, 4) of some detections or objects."""
    if source.coco_boxes is not None:
        return source.coco_boxes.take(chosen, axis=0)
    return coco_from_corners(source.boxes.take(chosen, axis=0))
