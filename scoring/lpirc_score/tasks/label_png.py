"""Reads a label map from a PNG that a stranger sent: one number for each pixel, in a grey or a palette image.

Everything is known before the pixels are unpacked: the size from IHDR must be that of the image, the compressed data
must unpack to exactly that many bytes, and no other chunk reaches the decoder. So a PNG costs what its image costs.

Source: PNG Specification (Third Edition), https://www.w3.org/TR/png-3/, sections 5 (chunks), 8 (Adam7), 11.2 (IHDR).
Functions raise ValueError with a clause that says what is wrong.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL.PngImagePlugin import PngImageFile

Labels = NDArray[np.uint8] | NDArray[np.uint16]

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_CHUNKS = 4096

_LENGTH = Struct(">I")
_HEADER = Struct(">IIBBBBB")
_KNOWN = (b"PLTE", b"IEND")
_GREY = 0
_PALETTE = 3
_ADAM7 = (
    # The first column and row of each pass, and the steps between columns and rows.
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
)
_REFUSED = {
    2: "has red, green and blue",
    4: "has grey with transparency",
    6: "has red, green, blue and transparency",
}


class Header(NamedTuple):
    """The content of IHDR."""

    width: int
    height: int
    bits: int
    colour: int
    compression: int
    filtering: int
    interlacing: int

    @property
    def unpacked_bytes(self) -> int:
        """The length of the pixel data before compression, with the byte before each row that names its filter."""
        if not self.interlacing:
            return self._rows(self.width, self.height)
        total = 0
        for left, top, across, down in _ADAM7:
            width = -((left - self.width) // across)
            height = -((top - self.height) // down)
            if width > 0 and height > 0:
                total += self._rows(width, height)
        return total

    def _rows(self, width: int, height: int) -> int:
        return height * (1 + (width * self.bits + 7) // 8)


def read_label_png(
    png: bytes,
    width: int,
    height: int,
) -> Labels:
    """Return the values (height, width) of a grey image of 8 or 16 bits, or the palette indices. Raises ValueError."""
    if not png.startswith(SIGNATURE):
        raise ValueError(_not_png(png))
    header, packed = _checked(png, width, height)
    _require_length(packed, header.unpacked_bytes)
    return _decoded(header, packed)


def _not_png(data: bytes) -> str:
    if not data:
        return "its PNG is empty"
    if data.startswith(b"\xff\xd8"):
        return "it is a JPEG, which changes values; send a PNG"
    return f"it is not a PNG, whose first bytes are 89 50 4E 47; its own are {data[:4].hex(' ').upper()}"


def _checked(
    png: bytes,
    width: int,
    height: int,
) -> tuple[Header, bytes]:
    """Return header and compressed pixels of a PNG of that size whose chunks are whole."""
    chunks = _chunks(png)
    kind, content = next(chunks)
    if kind != b"IHDR" or len(content) != _HEADER.size:
        raise ValueError("the PNG does not begin with IHDR")
    header = Header(*_HEADER.unpack(content))
    _require_size(header, width, height)
    packed = []
    for kind, content in chunks:
        if kind == b"IDAT":
            packed.append(content)
        elif kind in (b"acTL", b"fdAT"):
            raise ValueError("the PNG is animated; send one image")
        elif kind == b"IHDR" or (kind[:1].isupper() and kind not in _KNOWN):
            name = kind.decode("ascii", "replace")
            raise ValueError(f"the PNG has a chunk {name!r} that cannot be there")
    return header, b"".join(packed)


def _require_size(
    header: Header,
    width: int,
    height: int,
) -> None:
    if (header.width, header.height) != (width, height):
        raise ValueError(
            f"the label map is {header.width} x {header.height} pixels, the image {width} x {height}"
        )
    what = _REFUSED.get(header.colour)
    if what is not None:
        raise ValueError(
            f"the PNG {what}; a label map has one number for each pixel: save it as grey or with a palette"
        )
    depths = {_GREY: (8, 16), _PALETTE: (1, 2, 4, 8)}.get(header.colour, ())
    if header.bits not in depths:
        raise ValueError(
            f"the PNG has the bit depth {header.bits}; save it as grey of 8 or 16 bits, or with a palette"
        )
    if header.compression or header.filtering or header.interlacing > 1:
        raise ValueError(
            "the PNG has a compression, filter or interlace method that does not exist"
        )


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the type and the content of each chunk up to IEND."""
    at = len(SIGNATURE)
    view = memoryview(png)
    for _ in range(MOST_CHUNKS):
        if at + 12 > len(png):
            raise ValueError("the PNG breaks off before its end (IEND)")
        (length,) = _LENGTH.unpack_from(png, at)
        kind = png[at + 4 : at + 8]
        name = kind.decode("ascii", "replace")
        end = at + 12 + length
        if end > len(png):
            raise ValueError(f"the PNG breaks off within its chunk {name!r}")
        (stated,) = _LENGTH.unpack_from(png, end - 4)
        if zlib.crc32(view[at + 4 : end - 4]) != stated:
            raise ValueError(f"the PNG is damaged: its chunk {name!r} has a wrong CRC")
        yield kind, png[at + 8 : end - 4]
        if kind == b"IEND":
            return
        at = end
    raise ValueError(f"the PNG has more than {MOST_CHUNKS:,} chunks")


def _require_length(packed: bytes, expected: int) -> None:
    """Unpack at most one byte more than expected, to refuse what is shorter or longer."""
    unpacker = zlib.decompressobj()
    try:
        found = len(unpacker.decompress(packed, expected + 1))
    except zlib.error as error:
        raise ValueError("the PNG is damaged: its pixels cannot be unpacked") from error
    if found > expected:
        raise ValueError(
            f"the PNG unpacks to more than the {expected:,} bytes of its pixels"
        )
    if found < expected or not unpacker.eof:
        raise ValueError(
            f"the PNG unpacks to {found:,} of the {expected:,} bytes of its pixels"
        )


def _decoded(header: Header, packed: bytes) -> Labels:
    """Return the values, from a PNG of three chunks; 8 bits of grey are read as indices, which nothing scales."""
    colour = _GREY if header.bits == 16 else _PALETTE
    parts = [
        SIGNATURE,
        _chunk(b"IHDR", _HEADER.pack(*header._replace(colour=colour))),
        _chunk(b"IDAT", packed),
        _chunk(b"IEND", b""),
    ]
    try:
        image = PngImageFile(io.BytesIO(b"".join(parts)))
        image.load()
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError("the PNG is damaged: its pixels cannot be decoded") from error
    return np.asarray(image)


def _chunk(kind: bytes, content: bytes) -> bytes:
    sum_ = zlib.crc32(kind + content)
    return _LENGTH.pack(len(content)) + kind + content + _LENGTH.pack(sum_)
