"""Reads a JSON array element by element: the whole array is never in memory, and other threads run in between."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_GAP = re.compile(r"[ \t\r\n]*")
_decode = json.JSONDecoder().raw_decode


def is_array(text: str) -> bool:
    """Return True if JSON text begins like an array."""
    return text.startswith("[", _after_gap(text, 0))


def elements(text: str) -> Iterator[object]:
    """Yield the elements of an array. Raises JSONDecodeError, ValueError or RecursionError as `json.loads` does."""
    at = _after_gap(text, text.index("[") + 1)
    mark = text[at : at + 1]
    while mark != "]":
        value, at = _decode(text, at)
        yield value
        at = _after_gap(text, at)
        mark = text[at : at + 1]
        if mark not in ("]", ","):
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
        at = _after_gap(text, at + (mark == ","))
    at = _after_gap(text, at + 1)
    if at < len(text):
        raise json.JSONDecodeError("Extra data", text, at)


def _after_gap(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    if gap:
        return gap.end()
    return at
