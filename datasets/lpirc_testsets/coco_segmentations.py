"""Reads the field `segmentation` of each annotation in COCO JSON, as JSON of its own.

The columns of `coco_reader` do not have it: as text it takes a tenth of the memory of Python's lists.
"""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from lpirc_testsets.segmentations import as_json
from lpirc_testsets.values import has_long_number, json_value

NONE = (b"", b"null", b"[]")


class _Annotation(msgspec.Struct, gc=False):
    segmentation: msgspec.Raw = msgspec.Raw()


class _Document(msgspec.Struct):
    annotations: list[_Annotation]


_decoder = msgspec.json.Decoder(_Document)


def read_segmentations(text: str) -> list[bytes | None]:
    """Return the segmentation of each annotation, in order; None for a missing or empty one.

    `text` is a COCO file that `coco_reader` can read. The value itself is not checked.
    """
    if not has_long_number(text):
        try:
            found = _decoder.decode(text).annotations
            return [_plain(bytes(one.segmentation)) for one in found]
        except (msgspec.MsgspecError, orjson.JSONDecodeError, RecursionError):
            pass  # NaN, or an entry that is no object
    document: Any = json_value(text)
    return [_of_entry(entry) for entry in document["annotations"]]


def _plain(raw: bytes) -> bytes | None:
    """Return JSON without spaces."""
    if not raw:
        return None
    plain = as_json(orjson.loads(raw))
    return None if plain in NONE else plain


def _of_entry(entry: Any) -> bytes | None:
    value = entry.get("segmentation") if isinstance(entry, dict) else None
    try:
        plain = as_json(value)
    except (TypeError, ValueError):  # an integer of more than 64 bits, half a surrogate
        plain = b'"unreadable"'
    return None if plain in NONE else plain
