"""Fast orders: stable results from unstable or radix sorts, and the ranks of true positives in them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Order = NDArray[np.integer]

LARGEST_KEY = 1 << 62


def descending(values: NDArray[np.float64]) -> Ints:
    """Return the stable order (M,) that puts finite values (M,) highest first.

    numpy's stable sort of doubles costs several times its vectorised unstable one, so runs of equal values
    are put back into their first order afterwards, by sorting (run, place) packed into one integer.
    """
    order = np.argsort(-values)
    ordered = values[order]
    steps = ordered[1:] != ordered[:-1]
    del ordered  # the arrays of this function are the peak of an evaluation's memory
    if steps.all():
        return order
    packed = np.zeros(len(values), np.int64)
    np.cumsum(steps, out=packed[1:])
    packed *= len(values)
    packed += order
    packed.sort()
    packed %= len(values)
    return packed


def ascending_codes(codes: NDArray[np.integer], limit: int) -> Ints:
    """Return the stable order (M,) of whole numbers (M,) in 0..limit - 1, by radix passes of 16 bits."""
    order = np.argsort(_digit(codes, 0), kind="stable")
    for shift in range(16, max(limit - 1, 0).bit_length(), 16):
        order = order[np.argsort(_digit(codes[order], shift), kind="stable")]
    return order


def _digit(codes: NDArray[np.integer], shift: int) -> NDArray[np.uint16]:
    return (codes >> shift).astype(np.uint16)


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
    """Yield, for each category, the ascending ranks from 1 of its true positives.

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
