"""The fast way to rows: a JSON document of nothing but numbers and brackets, read without a look at each value.

Text and forms are turned into such a document, since orjson reads its numbers several times faster than `float`, numpy
or the standard library do, to the same doubles (docs/decisions/0005-how-bodies-are-read.md).
"""

from __future__ import annotations

import struct
from itertools import chain

import numpy as np
import orjson
from numpy.typing import NDArray

NUMBER_CHARACTERS = b"0123456789+-.eE"


def plain_array(document: bytes, length: int | None = 7) -> NDArray[np.float64] | None:
    """A JSON array of equally long arrays of numbers: float64 (n, `length`), or None for anything else.

    The document must hold nothing but numbers' characters, commas, brackets and blanks: left over would be strings,
    true, false and null, all of which numpy would turn into numbers.
    """
    try:
        rows = orjson.loads(document)
        lengths = set(map(len, rows))
        if len(lengths) != 1 or lengths - {length or max(lengths)}:
            return None
        return _packed([*chain.from_iterable(rows)], (len(rows), *lengths))
    except (ValueError, TypeError, OverflowError, struct.error):
        return None


def flat_array(numbers: bytes, rows: int, length: int = 7) -> NDArray[np.float64] | None:
    """Numbers with a comma between them as float64 (`rows`, `length`); None for anything else, or another count.

    Faster than `plain_array`, for those who know that every row has as many numbers, and that there is nothing else in
    the text.
    """
    try:
        values = orjson.loads(b"[" + numbers + b"]")
        return _packed(values, (rows, length)) if len(values) == rows * length else None
    except (ValueError, OverflowError, struct.error):
        return None


def _packed(values: list[float], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The numbers as an array, in half the time that numpy takes; it cannot be written to."""
    return np.frombuffer(struct.pack(f"={len(values)}d", *values)).reshape(shape)
