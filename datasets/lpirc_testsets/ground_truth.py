"""Ground truth as columns: the result of every reader and the input of the scorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets.box_corners import coco_from_corners
from lpirc_testsets.corner_rows import names_by_id, table_of_rows

Size = tuple[int, int]
"""Width and height in pixels."""

Row = tuple[int, int, float, float, float, float, bool]
"""An object: image, category, xmin, ymin, xmax, ymax, difficult."""


@dataclass(frozen=True)
class NamedBox:
    """An object that gives its category by name, with corners xmin, ymin, xmax, ymax in inclusive pixels."""

    name: str
    corners: tuple[float, float, float, float]
    difficult: bool = False
    crowd: bool = False


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """Objects of a set of images, as parallel numpy columns.

    `image_ids` (N,) int64 ascend and contain every image of the set, also those without objects; `image_names` (N) are
    file names, or "" if the source has none. `category_ids` (K,) int64 ascend, with their `category_names` (K).

    The M objects are in the order of the source. `image` and `category` (M,) are int64 ids; `boxes` (M, 4) float64
    xmin, ymin, xmax, ymax in inclusive pixels (width = xmax - xmin + 1); `difficult` and `crowd` (M,) bool; `area` (M,)
    float64 square pixels as stated by the source; `coco_boxes` (M, 4) float64 x, y, w, h unchanged.

    `sizes` has the (width, height) in pixels, by id, of the images of which the source states them.
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
    sizes: Mapping[int, Size] = field(default_factory=dict)

    def of_objects(self, kept: NDArray[np.bool_]) -> GroundTruth:
        """Return the same images and categories with only the marked objects (M,)."""
        columns = (
            "image",
            "category",
            "boxes",
            "difficult",
            "crowd",
            "area",
            "coco_boxes",
        )
        return replace(self, **{name: getattr(self, name)[kept] for name in columns})

    @classmethod
    def of_corners(
        cls,
        images: Mapping[int, str],
        categories: Mapping[int, str],
        rows: Sequence[Row],
        sizes: Mapping[int, Size] | None = None,
    ) -> GroundTruth:
        """Build ground truth from names by id, and one row for each object; its area is that of its box.

        Raises TestSetError `bad-rows` for ids or names that are none, and for a row that is not seven finite numbers,
        has an unknown image or category, or an inverted box.
        """
        images = names_by_id(images, "images")
        categories = names_by_id(categories, "categories")
        table = table_of_rows(rows, [*images], [*categories])
        boxes = table[:, 2:6].copy()
        coco_boxes = coco_from_corners(boxes)
        return cls(
            image_ids=np.array(list(images), np.int64),
            image_names=tuple(images.values()),
            category_ids=np.array(list(categories), np.int64),
            category_names=tuple(categories.values()),
            image=table[:, 0].astype(np.int64),
            category=table[:, 1].astype(np.int64),
            boxes=boxes,
            difficult=table[:, 6].astype(np.bool_),
            crowd=np.zeros(len(table), np.bool_),
            area=coco_boxes[:, 2] * coco_boxes[:, 3],
            coco_boxes=coco_boxes,
            sizes=sizes or {},
        )
