"""Stable orders by sorting one digit of 16 bits after the other, the lowest first.

numpy sorts integers of at most 16 bits by counting (a radix sort), several times faster than wider ones or doubles.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Places = NDArray[np.signedinteger]
"""Positions as int32, or as int64 if there are more than 2**31 - 1."""

Whole = TypeVar("Whole", np.int64, np.signedinteger)

_DIGIT_BITS = 16
_MOST_INT32 = 2**31 - 1
WIDEST_BITS = 48
"""Wider integers are compared as a whole."""

_LEADING_BITS = 32
"""Enough to order most confidences; only if they are not, all bits are sorted."""

_SIGN = np.uint64(1 << 63)


def by_digits(keys: NDArray[np.signedinteger | np.uint64], bits: int) -> Places:
    """Return the stable ascending order (M,) of integers (M,) from 0 to 2**`bits` - 1."""
    # Half the memory of int64: the order of millions is the largest array of an evaluation.
    kept = np.int32 if len(keys) <= _MOST_INT32 else np.int64
    order: Places = _digits(keys, 0, bits).argsort(kind="stable").astype(kept)
    for shift in range(_DIGIT_BITS, bits, _DIGIT_BITS):
        digits = _digits(keys, shift, bits)
        within = digits.take(order).argsort(kind="stable")
        order = order.take(within)
    return order


def _digits(
    keys: NDArray[np.signedinteger | np.uint64],
    shift: int,
    bits: int,
) -> NDArray[np.unsignedinteger]:
    kind = np.uint8 if bits - shift <= _DIGIT_BITS // 2 else np.uint16
    return (keys >> keys.dtype.type(shift)).astype(kind)


def descending(values: Floats) -> Places:
    """Return the stable order (M,) of finite values (M,), highest first."""
    keys = _ascending_bits(values)
    if not len(keys):
        return np.zeros(0, np.int64)
    keys -= keys.min()
    bits = int(keys.max()).bit_length()
    surplus = max(0, bits - _LEADING_BITS)
    order = by_digits(keys >> np.uint64(surplus), bits - surplus)
    if surplus:
        ordered = values.take(order)
        if (ordered[1:] > ordered[:-1]).any():
            return by_digits(keys, bits)
    return order


def _ascending_bits(values: Floats) -> NDArray[np.uint64]:
    """Return integers (M,) that ascend where the values descend, from the bits of the negated values."""
    negated = 0.0 - values  # 0.0 and -0.0 both give 0.0
    signed = negated.view(np.int64)
    is_negative = signed >> 63
    signed ^= is_negative & np.int64((1 << 63) - 1)
    return signed.view(np.uint64) ^ _SIGN


def ascending_codes(
    codes: NDArray[Whole],
    limit: int,
) -> tuple[Places, NDArray[Whole]]:
    """Return the stable order (M,) of integers (M,) in 0..limit - 1, and the integers in that order."""
    bits = max(limit - 1, 0).bit_length()
    if bits > WIDEST_BITS:
        wide = codes.argsort(kind="stable")
        return wide, codes.take(wide)
    order = by_digits(codes, bits)
    return order, codes.take(order)
