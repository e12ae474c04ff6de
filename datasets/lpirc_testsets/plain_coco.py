"""The fast path for objects of COCO JSON: reads objects that have numbers in all numeric fields.

It accepts only what `coco_reader` accepts too, as the same numbers to the last bit; `coco_reader` reads anything else
object by object, and names the problems. Fields that are not needed, such as `segmentation`, are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from lpirc_testsets.values import LARGEST_NUMBER, has_long_number, json_value


class _Annotation(msgspec.Struct, gc=False):
    image_id: int
    category_id: int
    bbox: tuple[float, float, float, float]
    id: int | None = None
    area: float | None = None
    iscrowd: int = 0
    difficult: int = 0


class _Document(msgspec.Struct):
    images: msgspec.Raw
    categories: msgspec.Raw
    annotations: list[_Annotation]


_decoder = msgspec.json.Decoder(_Document)


@dataclass(frozen=True, eq=False)
class PlainCoco:
    """The objects of a COCO file as columns; `lists` are its `images` and `categories`, unchecked.

    `image` and `category` (M,) are int64; `measures` (M, 7) is float64: x, y, w, h, area, crowd, difficult.
    """

    lists: dict[str, list[Any]]
    image: NDArray[np.int64]
    category: NDArray[np.int64]
    measures: NDArray[np.float64]

    def is_good(
        self,
        image_ids: Iterable[int],
        category_ids: Iterable[int],
    ) -> bool:
        """Return True if all objects have one of these images and categories, and all numbers are within limits."""
        x_and_y, sizes, area, flags = np.split(self.measures, (2, 4, 5), axis=1)
        return bool(
            np.isin(self.image, np.array([*image_ids], np.int64)).all()
            and np.isin(self.category, np.array([*category_ids], np.int64)).all()
            and (np.abs(x_and_y) <= LARGEST_NUMBER).all()
            and ((sizes >= 0) & (sizes <= LARGEST_NUMBER)).all()
            and ((area >= 0) & (area <= LARGEST_NUMBER**2)).all()
            and ((flags == 0) | (flags == 1)).all()
        )


def read_plain_coco(text: str) -> PlainCoco | None:
    """Read COCO JSON; return None unless every object is plain and the ids of objects, if present, are unique."""
    if has_long_number(text):
        return None
    try:
        document = _decoder.decode(text)
        images, categories = (
            json_value(str(part, "utf-8"))
            for part in (document.images, document.categories)
        )
        objects = document.annotations
        image = np.array([one.image_id for one in objects], np.int64)
        category = np.array([one.category_id for one in objects], np.int64)
        measures = _measures(objects)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        return None
    ids = [one.id for one in objects if one.id is not None]
    if (
        not isinstance(images, list)
        or not isinstance(categories, list)
        or len(set(ids)) < len(ids)
    ):
        return None
    return PlainCoco(
        {"images": images, "categories": categories}, image, category, measures
    )


def _measures(objects: list[_Annotation]) -> NDArray[np.float64]:
    boxes = np.array(
        [*chain.from_iterable([one.bbox for one in objects])], np.float64
    ).reshape(-1, 4)
    area = np.array(
        [one.area for one in objects], np.float64
    )  # NaN where it is missing
    with np.errstate(over="ignore"):
        area = np.where(np.isnan(area), boxes[:, 2] * boxes[:, 3], area)
    crowd = np.array([one.iscrowd for one in objects], np.float64)
    difficult = np.array([one.difficult for one in objects], np.float64)
    return np.column_stack([boxes, area, crowd, difficult])
