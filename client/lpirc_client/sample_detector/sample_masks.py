"""The sample detector's masks: a label map for semantic segmentation, and run lengths for instances."""

from __future__ import annotations

import io
from typing import Any, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lpirc_client.sample_detector.detector import Seen, look
from lpirc_client.wire import Category

NO_CLASS = 0


def segment(jpeg: bytes, categories: Sequence[Category]) -> bytes:
    """Return the label map of an image as PNG: the ids of what is seen, elsewhere 0; the surest lies on top."""
    size, seen = look(jpeg, categories)
    largest = max((category.id for category in categories), default=0)
    labels = np.full(size, NO_CLASS, np.uint8 if largest < 256 else np.uint16)
    for one in sorted(seen, key=lambda each: each.confidence):
        labels[_inside(one, size)] = one.category
    out = io.BytesIO()
    Image.fromarray(labels).save(out, "PNG", compress_level=1)
    return out.getvalue()


def instances(jpeg: bytes, categories: Sequence[Category]) -> list[dict[str, Any]]:
    """Return what is seen as COCO's results, without the image: category, score, run lengths."""
    size, seen = look(jpeg, categories)
    return [
        {
            "category_id": one.category,
            "score": one.confidence,
            "segmentation": {"size": list(size), "counts": _counts(_inside(one, size))},
        }
        for one in seen
    ]


def _inside(one: Seen, size: tuple[int, int]) -> NDArray[np.bool_]:
    """Return which pixels (height, width) of the image belong to what is seen."""
    mask = np.zeros(size, np.bool_)
    region = one.region
    rows = slice(region.ymin, region.ymax + 1)
    mask[rows, region.xmin : region.xmax + 1] = region.mask
    return mask


def _counts(mask: NDArray[np.bool_]) -> list[int]:
    """Return the run lengths of a mask, column by column; the first run is outside."""
    pixels = mask.T.ravel()
    changes = np.flatnonzero(pixels[1:] != pixels[:-1]) + 1
    edges = [0, *changes.tolist(), pixels.size]
    if pixels[0]:
        edges.insert(0, 0)
    return np.diff(edges).tolist()
