"""Masks of instances as COCO's compressed run lengths, and what pycocotools computes of them.

pycocotools does the work on masks, so overlaps are those of the official program to the last bit; it is imported when
the first mask is compared.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lpirc_score.errors import CodedError
from lpirc_testsets.run_lengths import compressed, decode

Pixels = NDArray[np.bool_]


class Mask(NamedTuple):
    """A mask of an image of that size: compressed run lengths."""

    height: int
    width: int
    counts: bytes

    @property
    def coco(self) -> dict[str, Any]:
        """The form that pycocotools takes."""
        return {"size": [self.height, self.width], "counts": self.counts}

    def pixels(self) -> Pixels:
        """Return which pixels (height, width) are inside."""
        return decode(self.counts.decode(), self.height, self.width)


class Instance(NamedTuple):
    """What a team answers: a mask with its category and the confidence in it."""

    category: int
    score: float
    mask: Mask


class TrueInstance(NamedTuple):
    """An object of the truth; `area` is in square pixels, as the set states it."""

    category: int
    mask: Mask
    area: float
    is_crowd: bool


@cache
def mask_program() -> ModuleType:
    """Return pycocotools' masks. Raises `CodedError` `pycocotools-missing`."""
    try:
        from pycocotools import _mask
    except ImportError as error:
        sentence = (
            "Instance masks are compared by pycocotools, which is not installed; "
            "install it with: pip install pycocotools."
        )
        raise CodedError("pycocotools-missing", sentence) from error
    found: ModuleType = _mask
    return found


def mask_of(segmentation: Any, size: tuple[int, int]) -> Mask:
    """Return the mask of a segmentation that `require_segmentation` has passed; `size` is width and height.

    Polygons are filled as COCO fills them, and united.
    """
    width, height = size
    if isinstance(segmentation, list):
        program = mask_program()
        parts = program.frPyObjects(segmentation, height, width)
        return Mask(height, width, program.merge(parts)["counts"])
    counts = segmentation["counts"]
    if not isinstance(counts, str):
        counts = compressed(np.array(counts, np.int64))
    return Mask(height, width, counts.encode())


def outline_px(segmentation: Any) -> float:
    """Return about how many pixels the edges of polygons pass, which is what filling them costs; 0 for run lengths."""
    if not isinstance(segmentation, list):
        return 0.0
    total = 0.0
    for polygon in segmentation:
        corners = np.array(polygon, np.float64).reshape(-1, 2)
        sides = np.abs(corners - np.roll(corners, 1, axis=0))
        total += float(sides.max(axis=1).sum()) + len(corners)
    return total
