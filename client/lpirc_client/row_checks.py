"""What a referee says of a detector's row: what it refuses (422), and what it warns of. A test compares both sides."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from lpirc_client.errors import ClientError
from lpirc_client.wire import Category

REFUSED, WARNED = "refused", "warned"


class Problem(NamedTuple):
    """A kind of mistake, the value that shows it, what was expected; `weight`: REFUSED or WARNED."""

    weight: str
    kind: str
    value: str
    expected: str


def problems_of(row: Any, categories: Sequence[Category], size: tuple[int, int]) -> Iterator[Problem]:
    """Look at a detector's row for an image of `size` (width, height); without `categories` any id is known."""
    ids = [one.id for one in categories]
    try:
        category, *numbers = row
        confidence, *box = map(float, numbers)
        xmin, ymin, xmax, ymax = box
        if isinstance(category, str):
            named = [f"{one.id}, the id of that name" for one in categories if one.name == category]
            yield Problem(REFUSED, "name for a category id", repr(category), (named or ["an id"])[0])
        elif not (category in ids if ids else float(category).is_integer()):
            yield Problem(REFUSED, "unknown category", repr(category), f"an id: {reprlib.repr(ids)[1:-1]}")
    except (TypeError, ValueError, OverflowError):
        wanted = "category id, confidence, xmin, ymin, xmax, ymax"
        yield Problem(REFUSED, "not six numbers", reprlib.repr(row), wanted)
        return
    if not all(map(math.isfinite, (confidence, *box))):
        yield Problem(REFUSED, "not finite", reprlib.repr(row), "finite numbers")
        return
    width, height = size
    shown, inside = ", ".join(f"{edge:g}" for edge in box), f"pixels of an image of {width} x {height}"
    if confidence > 1:
        yield Problem(WARNED, "confidence above 1", f"{confidence:g}", "0 to 1, not percent")
    if xmax < xmin or ymax < ymin:
        looks = ["swapped"] * (xmax < xmin and ymax < ymin)
        looks += ["x, y, w, h"] * (0 <= xmin <= width - xmax < width and 0 <= ymin <= height - ymax < height)
        kind = f"inverted box: {', or '.join(looks)}?" if looks else "inverted box"
        yield Problem(REFUSED, kind, shown, "xmin <= xmax and ymin <= ymax")
    elif min(box) >= 0 and max(box) <= 1:
        yield Problem(WARNED, "box within 0..1", shown, inside)
    elif xmin > width or ymin > height or xmax < 0 or ymax < 0:
        yield Problem(WARNED, "box outside its image", shown, inside)


def jpeg_size(name: str, jpeg: bytes) -> tuple[int, int]:
    """Return (width, height) from a JPEG's frame header (ITU T.81, B.2.2). Raises ClientError."""
    at = 2
    while jpeg[:2] == b"\xff\xd8" and at + 9 <= len(jpeg) and jpeg[at] == 0xFF:
        marker, length = jpeg[at + 1], int.from_bytes(jpeg[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(jpeg[at + 7 : at + 9], "big"), int.from_bytes(jpeg[at + 5 : at + 7], "big")
        at += 1 if marker == 0xFF else 2 + length  # fill bytes may precede a segment
    raise ClientError("bad-image", f"{name}: not a JPEG file")
