"""The field `segmentation` of a COCO annotation: polygons, or run lengths with the size of their image.

    [[x1, y1, x2, y2, x3, y3, ...], ...]        polygons, united
    {"size": [height, width], "counts": "..."}  run lengths, compressed or as a list (`lpirc_testsets.run_lengths`)

An empty list, as many programs write it beside a box, and null are no segmentation.
"""

from __future__ import annotations

import math
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import orjson

from lpirc_testsets.polygons import filled, polygon_runs
from lpirc_testsets.run_lengths import compressed, encode, runs_of
from lpirc_testsets.values import shown

LEAST_NUMBERS = 6  # of a polygon: three vertices
FARTHEST = 1.5
"""How far a vertex may lie from the middle of the image, in widths and heights.

What lies outside is cut off when the polygon is filled, as COCO's program does; filling costs as much as it is long.
"""


def as_json(value: Any) -> bytes:
    """Return a segmentation as JSON, to be kept: a copy of its own size, since orjson's results hold some 8 kB each."""
    return bytes(memoryview(orjson.dumps(value)))


def require_segmentation(value: Any, size: tuple[int, int]) -> None:
    """Raise ValueError unless the value is a segmentation of an image of `size` (width, height)."""
    if isinstance(value, dict):
        _require_run_lengths(value, size)
    else:
        _require_polygons(value, size)


def counts_of(value: Any, size: tuple[int, int]) -> str:
    """Return the compressed counts of a segmentation. Raises ValueError as `require_segmentation` does."""
    require_segmentation(value, size)
    return counts_of_checked(value, size)


def counts_of_checked(value: Any, size: tuple[int, int]) -> str:
    """Return the compressed counts of a segmentation that `require_segmentation` has passed."""
    width, height = size
    if isinstance(value, dict):
        counts = value["counts"]
        is_text = isinstance(counts, str)
        return counts if is_text else compressed(np.array(counts, np.int64))
    program = _official()
    if program is not None:
        parts = program.frPyObjects(value, height, width)
        return str(program.merge(parts)["counts"], "ascii")
    return own_counts(value, size)


def own_counts(polygons: list[list[float]], size: tuple[int, int]) -> str:
    """Return the compressed counts of polygons, filled without pycocotools; the text is the same."""
    width, height = size
    if len(polygons) == 1:
        return compressed(polygon_runs(polygons[0], height, width))
    return encode(filled(polygons, height, width))


@cache
def _official() -> ModuleType | None:
    """Return COCO's own program if it is installed: it fills polygons ten times as fast."""
    try:
        return import_module("pycocotools._mask")
    except ImportError:
        return None


def _require_run_lengths(value: dict[str, Any], size: tuple[int, int]) -> None:
    width, height = size
    if value.get("size") != [height, width]:
        raise ValueError(
            f"segmentation: size is {shown(value.get('size'))}, "
            f"but the image has [height, width] {[height, width]}"
        )
    counts = value.get("counts")
    try:
        runs_of(counts, height, width)  # type: ignore[arg-type]  # it refuses others
    except ValueError as error:
        raise ValueError(f"segmentation: {error}") from error


def _require_polygons(value: Any, size: tuple[int, int]) -> None:
    if not isinstance(value, list) or not value:
        raise ValueError(
            f"segmentation {shown(value)} is neither polygons nor run lengths"
        )
    for number, polygon in enumerate(value, start=1):
        numbers = isinstance(polygon, list) and {type(one) for one in polygon}
        if not numbers or not numbers <= {int, float}:
            raise ValueError(
                f"segmentation: polygon {number} {shown(polygon)} is not a list of numbers"
            )
        if len(polygon) < LEAST_NUMBERS or len(polygon) % 2:
            raise ValueError(
                f"segmentation: polygon {number} has {len(polygon)} numbers, "
                "not two for each of at least three vertices"
            )
        if _is_near(polygon, size):
            continue
        vertices = np.array(polygon, np.float64).reshape(-1, 2)
        beyond = np.abs(vertices - np.array(size) / 2)
        is_near = (beyond <= np.array(size) * FARTHEST).all(axis=1)
        if not is_near.all():
            wrong = vertices[int(is_near.argmin())].tolist()
            raise ValueError(
                f"segmentation: vertex {wrong} of polygon {number} is neither in nor near "
                f"the image of {size[0]} x {size[1]} pixels"
            )


def _is_near(polygon: list[float], size: tuple[int, int]) -> bool:
    """Return True only if all vertices are in or near the image: faster than NumPy for as few numbers as most have."""
    if not math.isfinite(sum(polygon)):
        return False
    for axis in (0, 1):
        along = polygon[axis::2]
        reach = size[axis] * (FARTHEST - 0.5)
        if min(along) < -reach or max(along) > size[axis] + reach:
            return False
    return True
