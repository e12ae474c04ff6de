"""Where the true positives stand among all detections of their category."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from referee.scoring.ordering import ascending_codes, descending

LARGEST_KEY = 1 << 62

Ints = NDArray[np.int64]
Order = NDArray[np.integer]


def by_category(
    image: NDArray[np.int32] | None, category: NDArray[np.int32], images: int, categories: int
) -> Order:
    """Order (M,) of detections by category place, then image place (None: it does not matter), then arrival."""
    if categories * images * len(category) < LARGEST_KEY:
        return _by_packed_key(image, category, images)
    if image is None or (image[1:] >= image[:-1]).all():
        return ascending_codes(category, categories)
    order = ascending_codes(image, images).astype(np.int32)  # half the memory while the second order is made
    return order[ascending_codes(category[order], categories)]


def _by_packed_key(image: NDArray[np.int32] | None, category: NDArray[np.int32], images: int) -> Order:
    """The same by one sort of whole numbers that hold category, image and arrival: one array, and no second pass."""
    key = category.astype(np.int64)
    key *= images
    if image is not None:
        key += image
    key *= len(key)
    key += np.arange(len(key), dtype=np.int32)
    key.sort()
    key %= max(len(key), 1)
    return key.astype(np.int32)


def true_positive_ranks(
    confidence: NDArray[np.float64], is_true: NDArray[np.bool_], order: Order, sizes: Ints
) -> Iterator[Ints]:
    """Ascending ranks from 1 of the true positives of each category in turn.

    `order` is that of `by_category`, `sizes` (K,) the detections that count in each category. The list of a
    category runs by confidence, highest first; equal confidences keep the given order.
    """
    ends = np.cumsum(sizes)
    for start, end in zip(ends - sizes, ends, strict=True):
        members = order[start:end]
        hits = is_true[members]
        if hits.any():
            yield np.flatnonzero(hits[descending(confidence[members])]) + 1
        else:
            yield np.empty(0, np.int64)
