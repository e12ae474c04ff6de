"""The fast way to numbers: text of nothing but numbers and commas, read without a look at each value.

orjson reads numbers several times faster than `float`, numpy or the standard library do, to the same doubles
(docs/decisions/0005-how-bodies-are-read.md).
"""

from __future__ import annotations

import struct

import numpy as np
import orjson
from numpy.typing import NDArray

NUMBER_CHARACTERS = b"0123456789+-.eE"

PIECE_BYTES = 2**16
"""About so much text is read at a time: other threads run in between, and memory stays small."""


def flat_array(numbers: bytes, shape: tuple[int, int]) -> NDArray[np.float64] | None:
    """Read JSON numbers with a comma between them: float64 of that shape, which cannot be written to.

    None for anything else, or for another count. The text must hold only the characters of numbers, commas and blanks:
    strings, true, false and null would be taken for numbers.
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
