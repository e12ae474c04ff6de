"""What a refused body of detections seems to be instead, for the end of its sentence.

It is looked at only after a refusal, so it costs an accepted body nothing.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections.form_body import FIELDS

JSON = "application/json"
PACKED = "application/octet-stream"
FORM = "application/x-www-form-urlencoded"
COLUMNS = 7
LOOKED_AT = 2**16
"""Bytes of a body that are looked at; the mistake is made in each row."""

LONGEST_SHOWN = 80

FIELD = re.compile(rb"(?:^|&)([^=&]+)=")
FIELD_NAMES = b", ".join(FIELDS).decode()
NUMBER = re.compile(rb"[-+.\d][-+.\deE]*")
BETWEEN = bytes.maketrans(b",;", b"  ")
LONGEST_LINE = 400
"""Bytes of a first line that are looked at: seven numbers with every digit that they can have."""
FLAT = re.compile(rb"\[\s*[-+.\deE]+\s*[,\]]")
STARTS = (
    (b"\x1f\x8b", "It is compressed by gzip; send it uncompressed."),
    (
        b"\x93NUMPY",
        "It is a file of numpy.save; send the bytes of the array alone: rows.astype('<f4').tobytes().",
    ),
    (b"\xff\xfe", "It seems to be UTF-16; send UTF-8."),
    (b"\xfe\xff", "It seems to be UTF-16; send UTF-8."),
    (b"\xef\xbb\xbf", "It begins with a byte order mark; send UTF-8 without one."),
)
OTHER_NUMBERS = (
    (">f4", "big-endian float32"),
    ("<f8", "float64"),
    ("<i4", "int32"),
    ("<f2", "float16"),
)
LITTLE = "a packed row is seven little-endian float32"


def seeming(
    body: bytes, kind: str, images: int, category_ids: NDArray[np.int64]
) -> str:
    """Return a sentence on what the refused body seems to be, or "" if nothing is plausible.

    `kind` is its content type; images are 1..`images`, `category_ids` (K,) those of the contest.
    """
    for start, sentence in STARTS:
        if body.startswith(start):
            return sentence
    text = body[:LOOKED_AT].lstrip()
    if kind == PACKED:
        return _packed(body, text, images, category_ids)
    if b"\0" in text:
        return f"It seems to be packed numbers; send those as Content-Type: {PACKED}."
    if kind == JSON:
        return _json(text)
    if text[:1] in (b"[", b"{"):
        return f"It seems to be JSON; send it as Content-Type: {JSON}."
    if kind == FORM:
        return _text_as(text) or _other_fields(text)
    if _first_line(text).count(b";") > 2:
        return "Separate numbers by commas or blanks, and write decimal points."
    return ""


def _json(text: bytes) -> str:
    if FLAT.match(text):
        return "Send a list of rows, also of a single one: [[...]]."
    return _text_as(text)


def _first_line(text: bytes) -> bytes:
    return text[:LONGEST_LINE].partition(b"\n")[0]


def _is_row(line: bytes) -> bool:
    """Tell whether a line is seven numbers; no pattern of blanks, whose time grows with the square of their number."""
    words = line.translate(BETWEEN).split()
    return len(words) == COLUMNS and all(NUMBER.fullmatch(word) for word in words)


def _text_as(text: bytes) -> str:
    if _is_row(_first_line(text)):
        return "It seems to be rows of text; send those as Content-Type: text/plain."
    return ""


def _other_fields(text: bytes) -> str:
    """Return which fields of a form have names that are not read, such as image[] or class."""
    names = dict.fromkeys(FIELD.findall(text))
    others = [name for name in names if name not in (*FIELDS, b"token")]
    if not others:
        return ""
    shown = b", ".join(others[:COLUMNS]).decode(errors="replace")[:LONGEST_SHOWN]
    return f"The form has {shown!r}, which is not read: names are {FIELD_NAMES}."


def _packed(
    body: bytes, text: bytes, images: int, category_ids: NDArray[np.int64]
) -> str:
    if text[:1] in (b"[", b"{") and text.isascii():
        return f"It seems to be JSON; send it as Content-Type: {JSON}."
    if text_hint := _text_as(text):
        return text_hint
    with np.errstate(invalid="ignore"):  # what is read may be anything but numbers
        return _other_order(body, images, category_ids)


def _other_order(body: bytes, images: int, category_ids: NDArray[np.int64]) -> str:
    for kind, name in OTHER_NUMBERS:
        row = COLUMNS * np.dtype(kind).itemsize
        if len(body) % row == 0:
            rows = np.frombuffer(body, kind).reshape(-1, COLUMNS).astype(np.float64)
            if _are_plausible(rows, images, category_ids):
                return (
                    f"Read as {name} it has good images and categories, but {LITTLE}."
                )
    if len(body) % (4 * COLUMNS) == 0:
        columns = np.frombuffer(body, "<f4").reshape(COLUMNS, -1).T.astype(np.float64)
        if _are_plausible(columns, images, category_ids):
            return "It seems to hold one column after the other; send row after row."
    return ""


def _are_plausible(
    rows: NDArray[np.float64], images: int, category_ids: NDArray[np.int64]
) -> bool:
    """Return True if each row (n, 7) has a whole image 1..`images` and a category's id."""
    image = rows[:, 0]
    good_image = (image >= 1) & (image <= images) & (np.floor(image) == image)
    good_category = np.isin(rows[:, 1], category_ids)
    return len(rows) > 0 and bool((good_image & good_category).all())
