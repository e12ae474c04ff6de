"""The rows of an accepted body of a bundle, by whichever protocol it came."""

from __future__ import annotations

import re
from email.message import Message
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections import parse_detections
from lpirc_score.detections.form_body import take_form
from lpirc_score.detections.parsed_rows import NONE_REFUSED, Refused

_FIELD = re.compile(rb'(?i)^content-disposition:[^\r\n]*[; ]name="?([^"\r\n;]*)', re.M)
_FILE = re.compile(rb"(?i)^content-disposition:[^\r\n]*[; ]filename", re.M)
_FOLD = re.compile(rb"\r?\n[ \t]+")
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")


def rows_of(
    body: bytes, content_type: str, images: int, category_ids: NDArray[np.int64]
) -> tuple[NDArray[np.float64], Refused]:
    """Return the rows (n, 7) of an accepted body, and the refused rows. Raises RefereeError for an unacceptable body.

    A form is read by the protocol of 2015, which accepts its good rows. HTTP version 1 accepts a form only if all rows
    are good, so the result is the same.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return take_form(_urlencoded(body, content_type), images, category_ids)
    if kind == "application/x-www-form-urlencoded":
        return take_form(body, images, category_ids)
    return parse_detections(body, content_type, images, category_ids), NONE_REFUSED


def _urlencoded(body: bytes, content_type: str) -> bytes:
    """Return the fields of a multipart form, without its files, as a urlencoded form."""
    message = Message()
    message["content-type"] = content_type
    boundary = (message.get_boundary() or "").encode()
    fields = []
    for part in re.split(rb"\r?\n--" + re.escape(boundary), b"\n" + body)[1:]:
        head, *content = _BLANK_LINE.split(part, 1)
        head = _FOLD.sub(b" ", head)
        name = _FIELD.search(head)
        if name and content and not _FILE.search(head):
            fields.append(
                (name[1].decode(errors="replace"), content[0].decode(errors="replace"))
            )
    return urlencode(fields).encode()
