"""Warns about rows that a referee accepts, by the rules of its `detections.plausibility`; a test compares the two."""

from __future__ import annotations

from typing import Iterator, Sequence

from lpirc_client.errors import ClientError

FRACTIONS = "a box of fractions"


def doubts(
    row: Sequence[float], size: tuple[int, int]
) -> Iterator[tuple[str, str, str]]:
    """Yield the implausible values of a good row (category, confidence, box) for an image of `size` (width, height).

    Each is a name, the value, and what was expected.
    """
    _, confidence, xmin, ymin, xmax, ymax = row
    width, height = size
    box = ", ".join(f"{edge:g}" for edge in row[2:])
    pixels = f"pixels of an image of {width} x {height}"
    if confidence > 1:
        yield "the confidence", f"{confidence:g}", "0 to 1, not percent"
    if confidence < 0:
        yield "the confidence", f"{confidence:g}", "0 to 1"
    if min(xmin, ymin) >= 0 and max(xmax, ymax) <= 1:
        yield FRACTIONS, box, pixels
    elif xmin > width or ymin > height or xmax < 0 or ymax < 0:
        yield "a box outside its image", box, pixels


def jpeg_size(name: str, jpeg: bytes) -> tuple[int, int]:
    """Return (width, height) from a JPEG's frame header (ITU T.81, B.2.2). Raises ClientError."""
    at = 2
    while jpeg[:2] == b"\xff\xd8" and at + 9 <= len(jpeg) and jpeg[at] == 0xFF:
        marker = jpeg[at + 1]
        length = int.from_bytes(jpeg[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height = int.from_bytes(jpeg[at + 5 : at + 7], "big")
            width = int.from_bytes(jpeg[at + 7 : at + 9], "big")
            return width, height
        at += 1 if marker == 0xFF else 2 + length  # fill bytes may precede a segment
    raise ClientError("bad-image", f"{name}: not a JPEG file")
