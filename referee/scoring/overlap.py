"""Overlap of boxes whose corners are inclusive pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PIXEL_TOLERANCE = 10.0
"""ILSVRC DET forgives small objects this many pixels in width and in height (`eval_detection.m`)."""


def areas(boxes: Floats) -> Floats:
    """Areas (M,) in square pixels of boxes (M, 4): xmin, ymin, xmax, ymax, both corners inside."""
    area: Floats = (boxes[:, 2] - boxes[:, 0] + 1) * (boxes[:, 3] - boxes[:, 1] + 1)
    return area


def overlaps(detected: Floats, objects: Floats) -> Floats:
    """Return the intersection over union (M,) of boxes (M, 4), pair by pair.

    It is 0 unless both sides of the intersection are above 0. Every operation is done in the order of the
    official ILSVRC evaluator: an overlap that meets a threshold exactly meets it here too.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # corners near 1e308 overlap nothing
        return _overlaps(detected, objects)


def _overlaps(detected: Floats, objects: Floats) -> Floats:
    width = np.minimum(detected[:, 2], objects[:, 2]) - np.maximum(detected[:, 0], objects[:, 0]) + 1
    height = np.minimum(detected[:, 3], objects[:, 3]) - np.maximum(detected[:, 1], objects[:, 1]) + 1
    shared = width * height
    union = areas(detected) + areas(objects) - shared
    meet = (width > 0) & (height > 0)
    overlap: Floats = np.divide(shared, union, out=np.zeros(len(shared)), where=meet)
    return overlap


def object_thresholds(boxes: Floats, iou: float) -> Floats:
    """Return the overlap (M,) that each object of ILSVRC DET asks for: min(iou, wh / ((w + 10)(h + 10))).

    Source: the development kit's `eval_detection.m`; w and h are inclusive.
    """
    width = boxes[:, 2] - boxes[:, 0] + 1
    height = boxes[:, 3] - boxes[:, 1] + 1
    return np.minimum(iou, width * height / ((width + PIXEL_TOLERANCE) * (height + PIXEL_TOLERANCE)))


def coco_overlaps(detected: Floats, objects: Floats, crowd: NDArray[np.bool_]) -> Floats:
    """Return the overlap (M,) of COCO boxes x, y, w, h (M, 4) with objects, of which `crowd` (M,) are crowds.

    That is intersection over union, for a crowd intersection over the detection. Every operation is done in the
    order of pycocotools (`bbIou` in maskApi.c).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        width = _shared_side(detected, objects, 0)
        height = _shared_side(detected, objects, 1)
        shared = width * height
        own = detected[:, 2] * detected[:, 3]
        union = np.where(crowd, own, own + objects[:, 2] * objects[:, 3] - shared)
        meet = (width > 0) & (height > 0)
        overlap: Floats = np.divide(shared, union, out=np.zeros(len(shared)), where=meet)
    return overlap


def _shared_side(detected: Floats, objects: Floats, axis: int) -> Floats:
    far = np.minimum(detected[:, axis + 2] + detected[:, axis], objects[:, axis + 2] + objects[:, axis])
    shared: Floats = far - np.maximum(detected[:, axis], objects[:, axis])
    return shared
