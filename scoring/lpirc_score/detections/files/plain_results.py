"""The fast path for COCO results: reads entries of numbers in pieces (docs/decisions/0018-reading-files.md).

It accepts only what `coco_results` accepts too, as the same numbers to the last bit. For any other file it returns
None; `coco_results` then reads the file entry by entry and names the problems.
"""

from __future__ import annotations

import re
from array import array
from codecs import BOM_UTF8
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np

from lpirc_score.metrics.detection_columns import Detections
from lpirc_testsets.box_corners import corners_from_coco
from lpirc_testsets.values import has_long_number

PIECE_BYTES = 2**15
"""Bytes of a piece; small enough that creating the objects of its entries does not start the garbage collector."""
LONGEST_ENTRY_BYTES = 2**18

# The last comma between two objects. If it is inside an entry, the piece before it is not valid JSON.
_CUT = re.compile(rb"(?s:.*)\}[ \t\r\n]*(,)[ \t\r\n]*\{")


class _Entry(msgspec.Struct, gc=False):
    """One entry. Other fields are skipped: they must be valid JSON, but take no memory."""

    image_id: int
    category_id: int
    bbox: tuple[float, float, float, float]
    score: float


_decoder = msgspec.json.Decoder(list[_Entry])

_NOT_PLAIN = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, OSError)


def read_plain_results(path: Path) -> Detections | None:
    """Read a file of COCO results, or return None if a field is not a number where one belongs.

    Ids and values are not checked.
    """
    image = array("q")
    category = array("q")
    confidence = array("d")
    boxes = array("d")
    try:
        with path.open("rb") as file:
            for piece in _pieces(file):
                entries = _entries(piece)
                # Extending an array by a list takes half the time of an iterator.
                image.extend(array("q", [one.image_id for one in entries]))
                category.extend(array("q", [one.category_id for one in entries]))
                confidence.extend(array("d", [one.score for one in entries]))
                boxes.extend(
                    array("d", [*chain.from_iterable(one.bbox for one in entries)])
                )
    except _NOT_PLAIN:
        return None
    # Share the memory of the arrays: a copy would double it.
    coco_boxes = np.asarray(boxes).reshape(-1, 4)
    with np.errstate(over="ignore"):
        corners = corners_from_coco(coco_boxes)
    return Detections(
        np.asarray(image),
        np.asarray(category),
        np.asarray(confidence),
        corners,
        coco_boxes,
    )


def _entries(piece: bytes) -> list[_Entry]:
    """Decode a piece. Raises one of the errors in `_NOT_PLAIN`."""
    if not piece.isascii():
        piece.decode()  # what is skipped must be UTF-8, too
    if has_long_number(piece):
        raise ValueError("the file may contain a number that is too long")
    return _decoder.decode(piece)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """Split a JSON array of objects into smaller arrays. They are all valid JSON if and only if the whole array is.

    Raises ValueError if an entry is so long that searching for its end repeatedly would be too slow.
    """
    opening = b""
    rest = file.read(PIECE_BYTES).removeprefix(BOM_UTF8)
    while block := file.read(PIECE_BYTES):
        rest += block
        if cut := _CUT.match(rest):
            at = cut.start(1)
            yield opening + rest[:at] + b"]"
            opening = b"["
            rest = rest[at + 1 :]
        elif len(rest) > LONGEST_ENTRY_BYTES:
            raise ValueError("an entry is too long")
    yield opening + rest
