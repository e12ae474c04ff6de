"""Finds in a PDF whether a character was printed for which no font has a glyph: an empty box stands in its place.

Such a box is glyph 0 of a font. Chromium writes glyphs as hexadecimal strings of four digits each.
"""

from __future__ import annotations

import re
import zlib

STREAM = re.compile(rb"stream\r?\n(.*?)endstream", re.DOTALL)
ACTUAL_TEXT = re.compile(rb"/ActualText\s*<[0-9A-Fa-f]*>")
SHOWN = re.compile(rb"<([0-9A-Fa-f]+)>(?=[^<>]*\bT[jJ])")
GLYPH_DIGITS = 4
NO_GLYPH = b"0000"


def lacks_glyphs(pdf: bytes) -> bool:
    """Return True if a PDF that Chromium has written shows an empty box for some character."""
    return any(NO_GLYPH in _glyphs(stream[1]) for stream in STREAM.finditer(pdf))


def _glyphs(stream: bytes) -> set[bytes]:
    """Return all glyphs that a stream of a PDF shows; none if it is not a page."""
    try:
        page = zlib.decompress(stream)
    except zlib.error:
        page = stream
    if b"begincmap" in page or b"BT" not in page:
        return set()
    found = set()
    for shown in SHOWN.finditer(ACTUAL_TEXT.sub(b"", page)):
        digits = shown[1]
        starts = range(0, len(digits), GLYPH_DIGITS)
        found |= {digits[at : at + GLYPH_DIGITS] for at in starts}
    return found
