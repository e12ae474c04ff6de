"""Fast orders: stable results from unstable or radix sorts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


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
