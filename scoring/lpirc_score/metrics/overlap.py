"""Overlap of boxes, given as inclusive corners or as corner and size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Edges:
    """Boxes (M,) in the form that evaluators compute with: the `near` and `far` edges on each axis, and the area.

    A side is far - near + `extra`. Every operation is done in the order of the official evaluators, so an overlap that
    is exactly at a threshold for them is so here.
    """

    near: tuple[Floats, Floats]
    far: tuple[Floats, Floats]
    area: Floats
    extra: float

    @classmethod
    def of_corners(cls, boxes: Floats) -> Edges:
        """Make edges of boxes (M, 4) of inclusive corners, as the official ILSVRC evaluator does."""
        left, top, right, bottom = np.ascontiguousarray(boxes.T)
        width = right - left + 1
        height = bottom - top + 1
        return cls((left, top), (right, bottom), width * height, 1.0)

    @classmethod
    def of_coco(cls, boxes: Floats) -> Edges:
        """Make edges of boxes (M, 4) x, y, w, h, as pycocotools does (`bbIou` in maskApi.c)."""
        left, top, width, height = np.ascontiguousarray(boxes.T)
        right = width + left
        bottom = height + top
        return cls((left, top), (right, bottom), width * height, 0.0)

    def least_sides(self, iou: Floats) -> tuple[Floats, Floats]:
        """Return lower bounds (M,), above 0, for width and height of an intersection whose overlap is `iou` (M,).

        An overlap is at most the shared part of the width or of the height; the bounds have a margin for rounding.
        """
        share = np.where(self.area > 1e-200, iou * (1 - 1e-6), 0.0)

        def least(axis: int) -> Floats:
            near = self.near[axis]
            side = self.far[axis] - near + self.extra
            needed: Floats = side * share - np.abs(near) * 1e-9
            return np.maximum(needed, 5e-324)

        return least(0), least(1)


def shared_over_union(
    width: Floats,
    height: Floats,
    detected_area: Floats,
    object_area: Floats,
) -> Floats:
    """Return the intersection over union (M,), from the sides of the intersection, both above 0, and the areas."""
    shared = width * height
    overlap: Floats = shared / (detected_area + object_area - shared)
    return overlap


def overlaps(detected: Floats, objects: Floats) -> Floats:
    """Return the intersection over union (M,) of boxes (M, 4) of inclusive corners, pair by pair.

    It is 0 unless both sides of the intersection are above 0.
    """
    # Corners near 1e308 overlap nothing.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mine = Edges.of_corners(detected)
        theirs = Edges.of_corners(objects)

        def shared(axis: int) -> Floats:
            far = np.minimum(mine.far[axis], theirs.far[axis])
            near = np.maximum(mine.near[axis], theirs.near[axis])
            side: Floats = far - near + 1
            return side

        width = shared(0)
        height = shared(1)
        overlap = shared_over_union(width, height, mine.area, theirs.area)
    return np.where((width > 0) & (height > 0), overlap, 0.0)
