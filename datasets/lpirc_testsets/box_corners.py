"""Two forms of a box and the conversion between them.

Corners (xmin, ymin, xmax, ymax) are inclusive pixels, so width = xmax - xmin + 1; a COCO box is (x, y, w, h). Neither
form fixes whether the first pixel is 0 (COCO) or 1 (VOC): the numbers are never shifted.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def corners_from_coco(coco_boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn COCO boxes (M, 4) into inclusive corners (M, 4)."""
    corners = coco_boxes.astype(np.float64)
    corners[:, 2:] += coco_boxes[:, :2] - 1.0
    return corners


def coco_from_corners(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn inclusive corners (M, 4) into COCO boxes (M, 4)."""
    coco_boxes = corners.astype(np.float64)
    coco_boxes[:, 2:] -= corners[:, :2] - 1.0
    return coco_boxes


def outside(
    corners: NDArray[np.float64],
    sizes: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Return as (M,) bool which boxes (M, 4) exceed their images; `sizes` (M, 2) has each image's (width, height).

    Corners from 0 up to and including the width are inside: pixels counted from 0 end at width - 1, pixels counted from
    1 end at width.
    """
    beyond = np.concatenate((corners[:, :2] < 0, corners[:, 2:] > sizes), axis=1)
    return np.asarray(beyond.any(axis=1), dtype=np.bool_)


def leaving(
    corners: NDArray[np.float64],
    sizes: NDArray[np.float64],
    images: NDArray[np.int64],
) -> Iterator[tuple[int, str]]:
    """Yield the index of each box (M, 4) that exceeds its image, and the subject of a sentence on it.

    `sizes` (M, 2) has each image's (width, height), `images` (M,) its number.
    """
    wrong = np.flatnonzero(outside(corners, sizes))
    if not wrong.size:
        return
    order = np.argsort(images, kind="stable")
    of_image = images[order]
    numbers = np.empty(len(images), dtype=np.int64)
    numbers[order] = np.arange(1, len(images) + 1) - np.searchsorted(of_image, of_image)
    for index in wrong.tolist():
        box = f"box {corners[index].tolist()} (left, top, right, bottom)"
        yield index, f"{box}, number {numbers[index]} of its image, leaves image"
