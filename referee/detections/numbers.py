"""The fast way to rows: a JSON document of nothing but numbers and brackets, read without a look at each value.

Text and forms are turned into such a document, since orjson reads its numbers several times faster than `float`, numpy
or the standard library do, to the same doubles (docs/decisions/0005-how-bodies-are-read.md).
"""

from __future__ import annotations

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
        values = np.array(orjson.loads(document), np.float64)
    except (ValueError, OverflowError):
        return None
    return values if values.ndim == 2 and values.shape[1] == (length or values.shape[1]) else None
