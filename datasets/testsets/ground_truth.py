"""Ground truth as columns: every reader returns it and the scorer takes it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """Objects of a set of images, as parallel numpy columns.

    `image_ids` (N,) int64 ascending, every image of the set, also those without objects; `image_names` (N) file names,
    or "" if the source has none. `category_ids` (K,) int64 ascending and `category_names` (K) likewise.

    The M objects, in the order of the source: `image` and `category` (M,) int64 ids; `boxes` (M, 4) float64
    xmin, ymin, xmax, ymax in inclusive pixels (width = xmax - xmin + 1); `difficult` and `crowd` (M,) bool;
    `area` (M,) float64 square pixels as the source states it; `coco_boxes` (M, 4) float64 x, y, w, h
    untouched.
    """

    image_ids: NDArray[np.int64]
    image_names: tuple[str, ...]
    category_ids: NDArray[np.int64]
    category_names: tuple[str, ...]
    image: NDArray[np.int64]
    category: NDArray[np.int64]
    boxes: NDArray[np.float64]
    difficult: NDArray[np.bool_]
    crowd: NDArray[np.bool_]
    area: NDArray[np.float64]
    coco_boxes: NDArray[np.float64]

    def of_objects(self, kept: NDArray[np.bool_]) -> GroundTruth:
        """The same images and categories with only the marked objects (M,)."""
        columns = ("image", "category", "boxes", "difficult", "crowd", "area", "coco_boxes")
        return replace(self, **{name: getattr(self, name)[kept] for name in columns})
