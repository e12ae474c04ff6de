"""Turns the bodies that teams sent into rows of detections. Written from docs/bundle.md alone."""

from __future__ import annotations

import json
import math
import re
import struct
from email import message_from_bytes
from itertools import zip_longest
from typing import Any
from urllib.parse import unquote_plus

from verify_formats import need, sha256

Row = tuple[float, ...]
"""Image, category, confidence, xmin, ymin, xmax, ymax."""

Field = tuple[str, str]

NUMBER = re.compile(r"(?ai)\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*")
BETWEEN_NUMBERS = re.compile(r"\s*,\s*|\s+")
JPEG = re.compile(r"(?is)^(.*[/\\])?([^/\\]*)\.jpe?g\s*$")
FORM_FIELDS = [
    "image_name",
    "CLASS_ID",
    "confidence",
    "xmin",
    "ymin",
    "xmax",
    "ymax",
]
URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
NOT_A_ROW = (math.nan,) * 7


def accepted_rows(
    post: dict[str, Any],
    body: bytes,
    images: int,
    categories: set[int],
) -> list[Row]:
    """Return the rows of a body that the referee accepted. Raises Wrong if its line in posts.jsonl.gz differs."""
    kind = post["kind"]
    if kind == "rows":  # of an earlier version, which kept the accepted rows only
        rows = [*struct.iter_unpack("<7d", body)]
        good = _good(rows, images, categories)
        need(len(good) == len(rows), "it has rows that cannot be accepted")
        return good

    need(kind == "body", f"its kind is {kind!r}, but must be 'body' or 'rows'")
    is_own = sha256(body) == post["sha256"]
    need(is_own, "its SHA-256 differs from the one in its line of posts.jsonl.gz")
    content_type = post["content_type"]
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type in (URLENCODED, MULTIPART):
        rows = _form_rows(body, content_type, media_type)
        good = _good(rows, images, categories)
    else:
        rows = _plain_rows(body, media_type)
        good = _good(rows, images, categories)
        good = [row for row in good if _is_upright(row)]
        need(len(good) == len(rows), "it has rows that cannot be accepted")

    refused = len(rows) - len(good)
    need(
        refused == post["refused"],
        f"{refused} of its rows must be refused, but its line states {post['refused']}",
    )
    return good


def _good(
    rows: list[Row],
    images: int,
    categories: set[int],
) -> list[Row]:
    """Return the valid rows; `_is_good` states the rules."""
    return [row for row in rows if _is_good(row, images, categories)]


def _is_good(
    row: Row,
    images: int,
    categories: set[int],
) -> bool:
    """Return True if a row has seven finite numbers, and its image and its category exist."""
    is_finite = all(map(math.isfinite, row))
    if len(row) != 7 or not is_finite:
        return False
    image = row[0]
    category = row[1]
    if image % 1 != 0:
        return False
    is_known_image = 1 <= image <= images
    is_known_category = category in categories
    return is_known_image and is_known_category


def _is_upright(row: Row) -> bool:
    """Return True if xmin <= xmax and ymin <= ymax in a row."""
    _, _, _, xmin, ymin, xmax, ymax = row
    return xmin <= xmax and ymin <= ymax


# Bodies of rows


def _plain_rows(body: bytes, media_type: str) -> list[Row]:
    """Return the rows of a body that is not a form. Raises Wrong."""
    if media_type == "application/octet-stream":
        rows = [*struct.iter_unpack("<7f", body)]
        largest = max((max(row[:2]) for row in rows), default=0)
        need(largest < 2**24, "it has an id that float32 may have rounded")
        return rows
    if media_type == "application/json":
        return _json_rows(body)
    is_text = media_type in ("text/plain", "text/csv")
    need(
        is_text,
        f"its media type is {media_type!r}, which the referee accepts for no body",
    )
    return _text_rows(body)


def _json_rows(body: bytes) -> list[Row]:
    """Return the rows of a JSON array of arrays of numbers. Raises Wrong."""
    if not body.strip():
        return []
    document = json.loads(body.decode())
    need(type(document) is list, "it is not an array")
    rows = []
    for written in document:
        kinds = {type(value) for value in written}
        are_numbers = kinds <= {int, float}
        need(are_numbers, "it has values that are not numbers")
        row = tuple(map(float, written))
        rows.append(row)
    return rows


def _text_rows(body: bytes) -> list[Row]:
    """Return the rows of a text body: one row per line, values separated by blanks or commas. Raises Wrong."""
    need(b"_" not in body, "it has a number that contains _")
    rows = []
    for line in body.splitlines():
        text = line.decode(errors="backslashreplace").strip()
        if not text:
            continue
        numbers = BETWEEN_NUMBERS.split(text)
        need("".join(numbers).isascii(), "it has characters that are not ASCII")
        rows.append(tuple(map(float, numbers)))
    return rows


# Forms


def _form_rows(
    body: bytes,
    content_type: str,
    media_type: str,
) -> list[Row]:
    """Return the rows of a form, one for each value of its longest list; a missing or invalid value becomes NaN."""
    fields = _fields(body, content_type, media_type)
    names = {name for name, _ in fields}
    has_lists = not names.isdisjoint(FORM_FIELDS)
    has_others = not names.issubset({"token"})
    if has_others and not has_lists:
        return [NOT_A_ROW]

    lists = [_values(fields, name) for name in FORM_FIELDS]
    images = lists[0]
    shortest = min(map(len, lists))
    is_whole = shortest == len(images)
    need(is_whole, "a field of the form has fewer values than image_name")
    lists[0] = [JPEG.sub(r"\2", value) for value in images]
    rows = zip_longest(*lists, fillvalue="")
    return [tuple(map(_number, texts)) for texts in rows]


def _values(fields: list[Field], wanted: str) -> list[str]:
    """Return the values of one form field, in the order of the form."""
    return [value for name, value in fields if name == wanted]


def _fields(
    body: bytes,
    content_type: str,
    media_type: str,
) -> list[Field]:
    """Return the (name, value) pairs of a form, in the order of the form."""
    if media_type == MULTIPART:
        return _multipart_fields(body, content_type)
    fields = []
    for written in body.decode(errors="backslashreplace").split("&"):
        name, equals, value = written.partition("=")
        if not equals:
            name = ""  # it has no value, so it is in no list
        if written:
            fields.append((_unescaped(name), _unescaped(value)))
    return fields


def _unescaped(text: str) -> str:
    """Return a form's name or value with its percent escapes decoded."""
    return unquote_plus(text, errors="backslashreplace")


def _multipart_fields(body: bytes, content_type: str) -> list[Field]:
    """Return the (name, value) pairs of a multipart form in the order of the form, without uploaded files."""
    head = f"Content-Type: {content_type}\r\n\r\n"
    message: Any = message_from_bytes(head.encode() + body)
    fields = []
    for part in message.get_payload():
        if part.get_filename() is not None:
            continue  # a file
        name = part.get_param("name", header="content-disposition")
        value = part.get_payload()
        fields.append((name, value))
    return fields


def _number(text: str) -> float:
    """Return the text as a number, or NaN if it is not one."""
    if not NUMBER.fullmatch(text):
        return math.nan
    return float(text)
