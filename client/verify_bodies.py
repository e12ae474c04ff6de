"""The bodies that teams sent: from their bytes to rows of detections. From docs/bundle.md alone."""

from __future__ import annotations

import json
import math
import re
import struct
from email import message_from_bytes
from itertools import zip_longest
from typing import Any
from urllib.parse import parse_qsl

from verify_formats import need, sha256

Row = tuple[float, ...]
"""Image, category, confidence, xmin, ymin, xmax, ymax."""

Field = tuple[str, str]

NUMBER = re.compile(r"(?ai)\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*")
JPEG = re.compile(r"(?is)^(.*[/\\])?([^/\\]*)\.jpe?g\s*$")
FORM_FIELDS = ["image_name", "CLASS_ID", "confidence", "xmin", "ymin", "xmax", "ymax"]
URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
NOT_A_ROW = (math.nan,) * 7


def accepted_rows(
    post: dict[str, Any],
    body: bytes,
    images: int,
    categories: set[int],
) -> list[Row]:
    """The rows of a body that were taken. Raises Wrong if its line in posts says something else."""
    if post["kind"] == "rows":  # of an earlier version, which kept the accepted rows only
        rows = [*struct.iter_unpack("<7d", body)]
        good = _good(rows, images, categories)
        need(len(good) == len(rows), "it has rows that cannot be accepted")
        return good

    need(post["kind"] == "body", f"no body is of kind {post['kind']!r}")
    need(sha256(body) == post["sha256"], "it has another SHA-256")
    content_type = post["content_type"]
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type in (URLENCODED, MULTIPART):
        rows = _form_rows(body, content_type, media_type)
        good = _good(rows, images, categories)
    else:
        rows = _plain_rows(body, media_type)
        good = _good(rows, images, categories)
        is_whole = len(good) == len(rows) and all(map(_is_upright, rows))
        need(is_whole, "it has rows that cannot be accepted")

    refused = len(rows) - len(good)
    need(refused == post["refused"], f"{refused} rows are to be refused")
    return good


def _good(rows: list[Row], images: int, categories: set[int]) -> list[Row]:
    return [row for row in rows if _is_good(row, images, categories)]


def _is_good(row: Row, images: int, categories: set[int]) -> bool:
    if len(row) != 7 or not all(map(math.isfinite, row)):
        return False
    image = row[0]
    category = row[1]
    is_whole = image % 1 == 0
    return is_whole and 1 <= image <= images and category in categories


def _is_upright(row: Row) -> bool:
    _, _, _, xmin, ymin, xmax, ymax = row
    return xmin <= xmax and ymin <= ymax


# Bodies of rows


def _plain_rows(body: bytes, media_type: str) -> list[Row]:
    if media_type == "application/octet-stream":
        return [*struct.iter_unpack("<7f", body)]
    if media_type == "application/json":
        return _json_rows(body)
    is_text = media_type in ("text/plain", "text/csv")
    need(is_text, f"no body is of type {media_type!r}")
    return _text_rows(body)


def _json_rows(body: bytes) -> list[Row]:
    if not body.strip():
        return []
    rows = []
    for written in json.loads(body):
        are_numbers = all(type(value) in (int, float) for value in written)
        need(are_numbers, "it has other values than numbers")
        rows.append(tuple(map(float, written)))
    return rows


def _text_rows(body: bytes) -> list[Row]:
    need(b"_" not in body, "it has a number with _")
    rows = []
    for line in body.replace(b",", b" ").splitlines():
        words = line.split()
        if words:
            rows.append(tuple(map(float, words)))
    return rows


# Forms


def _form_rows(body: bytes, content_type: str, media_type: str) -> list[Row]:
    """The rows of a form, as many as its longest list; what is missing or no number is NaN."""
    fields = _fields(body, content_type, media_type)
    lists = [_values(fields, name) for name in FORM_FIELDS]
    others = [name for name, _ in fields if name != "token"]
    if not any(lists) and others:
        return [NOT_A_ROW]

    images = [JPEG.sub(r"\2", value) for value in lists[0]]
    shortest = min(map(len, lists))
    need(shortest == len(images), "a list of the form is shorter than that of the images")
    rows = zip_longest(images, *lists[1:], fillvalue="")
    return [tuple(map(_number, texts)) for texts in rows]


def _values(fields: list[Field], wanted: str) -> list[str]:
    return [value for name, value in fields if name == wanted]


def _fields(body: bytes, content_type: str, media_type: str) -> list[Field]:
    if media_type == MULTIPART:
        return _multipart_fields(body, content_type)
    text = body.decode(errors="backslashreplace")
    return parse_qsl(text, keep_blank_values=True, errors="backslashreplace")


def _multipart_fields(body: bytes, content_type: str) -> list[Field]:
    head = f"Content-Type: {content_type}\r\n\r\n"
    message: Any = message_from_bytes(head.encode() + body)
    fields = []
    for part in message.get_payload():
        if part.get_filename() is None:
            name = part.get_param("name", header="content-disposition")
            fields.append((name, part.get_payload()))
    return fields


def _number(text: str) -> float:
    return float(text) if NUMBER.fullmatch(text) else math.nan
