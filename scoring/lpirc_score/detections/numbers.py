"""The fast path for numbers: reads text of only numbers and commas without inspecting each value.

orjson reads numbers several times faster than `float`, numpy or the standard library, and returns the same doubles
(docs/decisions/0005-how-bodies-are-read.md).
"""

from __future__ import annotations

import struct

import numpy as np
import orjson
from numpy.typing import NDArray

NUMBER_CHARACTERS = b"0123456789+-.eE"

PIECE_BYTES = 2**16
"""Approximate size of the text read at a time, so that other threads run in between and memory stays small."""


def flat_array(numbers: bytes, shape: tuple[int, int]) -> NDArray[np.float64] | None:
    """Read comma-separated JSON numbers into a read-only float64 array of that shape.

    Returns None for any other text or a different count. The text must hold only commas, blanks, and the characters of
    numbers: strings, true, false and null would be taken for numbers.
    """
    packed = []
    at = 0
    try:
        while at < len(numbers):
            end = numbers.find(b",", at + PIECE_BYTES)
            end = len(numbers) if end < 0 else end
            values = orjson.loads(b"[" + numbers[at:end] + b"]")
            packed.append(
                struct.pack(f"={len(values)}d", *values)
            )  # half the time that numpy takes
            at = end + 1
    except (ValueError, OverflowError, struct.error):
        return None
    array = np.frombuffer(packed[0] if len(packed) == 1 else b"".join(packed))
    if len(array) == shape[0] * shape[1]:
        return array.reshape(shape)
    return None
