"""From bodies as they were received to their rows, by the parsers that took them."""

from __future__ import annotations

import re
from email.message import Message
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from referee.detections import parse_detections
from referee.detections.form_body import take_form
from referee.detections.rows import NONE_REFUSED, Refused

_FIELD = re.compile(rb'(?i)^content-disposition:[^\r\n]*[; ]name="?([^"\r\n;]*)', re.M)
_FILE = re.compile(rb"(?i)^content-disposition:[^\r\n]*[; ]filename", re.M)
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")


def rows_of(
    body: bytes, content_type: str, images: int, category_ids: NDArray[np.int64]
) -> tuple[NDArray[np.float64], Refused]:
    """The rows (n, 7) of an accepted body, and those refused. Raises RefereeError for one that is never accepted.

    A form that version 1 took whole has the same rows as by the protocol of 2015, which takes the good ones.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return take_form(_urlencoded(body, content_type), images, category_ids)
    if kind == "application/x-www-form-urlencoded":
        return take_form(body, images, category_ids)
    return parse_detections(body, content_type, images, category_ids), NONE_REFUSED


def _urlencoded(body: bytes, content_type: str) -> bytes:
    """The fields of a multipart form without its files, as the other kind of form."""
    message = Message()
    message["content-type"] = content_type
    boundary = (message.get_boundary() or "").encode()
    fields = []
    for part in re.split(rb"\r?\n--" + re.escape(boundary), b"\n" + body)[1:]:
        head, *content = _BLANK_LINE.split(part, 1)
        name = _FIELD.search(head)
        if name and content and not _FILE.search(head):
            fields.append((name[1].decode(errors="replace"), content[0].decode(errors="replace")))
    return urlencode(fields).encode()
