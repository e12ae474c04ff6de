"""Reads label maps: PNG files with a number for each pixel, in grey or as indices of a palette."""

from __future__ import annotations

import io
import struct

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

PNG_START = b"\x89PNG\r\n\x1a\n"
HEADER = struct.Struct(">4xIIBB")  # after `IHDR`: width, height, bits, colour type
HEADER_END = len(PNG_START) + 4 + HEADER.size
GREY = 0
PALETTE = 3
KINDS = {2: "RGB", 4: "grey with alpha", 6: "RGB with alpha"}
WHOLE_BITS = 8  # Pillow stretches grey of 2 and 4 bits to 0 to 255

Labels = NDArray[np.int64]


def read_mask(data: bytes, size: tuple[int, int]) -> Labels:
    """Return the numbers (height, width) in a PNG for an image of `size` (width, height).

    The size is compared before anything is unpacked, so a PNG that would fill the memory is refused. Raises ValueError
    with a clause that says what is wrong.
    """
    width, height, bits, kind = _header(data)
    if (width, height) != size:
        raise ValueError(
            f"is {width} x {height} pixels, its image {size[0]} x {size[1]}"
        )
    if kind not in (GREY, PALETTE):
        raise ValueError(
            f"is a colour PNG ({KINDS.get(kind, f'colour type {kind}')}), which has no number for each pixel: "
            "save label maps in grey or with a palette"
        )
    try:
        with Pillow.open(io.BytesIO(data), formats=["PNG"]) as picture:
            numbers = np.asarray(picture).astype(np.int64)
    except (OSError, SyntaxError, ValueError, Pillow.DecompressionBombError) as error:
        raise ValueError(f"cannot be decoded: {error}") from error
    if kind == GREY and 1 < bits < WHOLE_BITS:
        numbers //= 255 // (2**bits - 1)
    return numbers


def _header(data: bytes) -> tuple[int, int, int, int]:
    """Return width, height, bits and colour type."""
    if not data.startswith(PNG_START):
        raise ValueError("is not a PNG")
    if len(data) < HEADER_END:
        raise ValueError("is a PNG that breaks off in its header")
    width, height, bits, kind = HEADER.unpack_from(data, len(PNG_START) + 4)
    return width, height, bits, kind
