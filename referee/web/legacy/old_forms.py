"""Bodies and form fields of the original protocol: what its clients send and understand (docs/legacy.md)."""

from __future__ import annotations

import re
from io import BytesIO
from urllib.parse import unquote_plus, urlencode

from flask import Response, request
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import MultiPartParser

from lpirc_score.detections.form_body import FIELDS
from lpirc_testsets.values import shown
from referee.errors import RefereeError
from referee.web.contestant.single_image import LONGEST_NUMBER
from referee.web.http_answers import Answer, through_flask
from referee.web.request_bodies import LARGEST_DOCUMENT_BYTES, read_body
from referee.web.web_request import present_request

MOST_FIELDS = 10_000
"""Maximum number of fields in a multipart form: about 1,400 rows, which take a third of a second of processor time."""
FEW_FIELDS = 100
"""Maximum number of fields in a multipart form that is not authenticated."""
TOKEN_PART = re.compile(
    rb'; *name="?token"?(?:\r?\n[^\r\n]{1,200}){0,4}\r?\n\r?\n([^\r\n]*)\r?\n'
)
MISSING_LOGIN = "Missing username or password\n"
INVALID_LOGIN = "Invalid username or password\n"
NO_METER = "Powermeter not connected\n"
VALID_TOKEN = "Valid Token\n"  # noqa: S105 - an answer
INVALID_TOKEN = "Invalid Token\n"  # noqa: S105 - an answer
INVALID_USER = "Invalid User"
INVALID_INDEX = "Invalid Image index\n"
OUT_OF_RANGE = "Image index out of range\n"
NO_IMAGE = "Image not found\n"
STORED = "Result stored in the server database\n"
LENGTH_MISMATCH = "Result field length mismatch\n"
DISPLAYED = "Display success\n"
NO_DISPLAY = "Display failed to start\n"
LOGGED_OUT = "Logout success\n"
HELP = """\
LPIRC referee: the routes of 2015 to 2019. Fields go into the form body.
New clients use HTTP version 1, which /v1/openapi.json describes.

/help          the list of routes; no login
/login         username, password: the token (also /get_token)
/verify        token
/no_of_images  token; POST: how many images there are
/image         token, image_name = 1, 2, ...: the JPEG
/zipimages     token, image_name = 1, 101, 201, ...: up to 100 JPEGs
/image_camera  token, image_name: shows the image on the contest's screen
/result        token, and lists of equal length image_name, CLASS_ID, confidence,
               xmin, ymin, xmax, ymax; POST
/logout        token: ends the run and stops the power meter
"""


class Refusal(Exception):
    """A refusal of the original protocol: its status and body. `reason` is the sentence that a header gives."""

    def __init__(self, status: int, body: str, reason: str = "") -> None:
        super().__init__(body)
        self.status = status
        self.body = body
        self.reason = reason


class Form:
    """A urlencoded form. Its media type is ignored, because some clients send none."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def field(self, name: str) -> str | None:
        """Return the first value of that name, or None.

        Bytes that are not UTF-8 are replaced, so the value matches nothing.
        """
        start = self._start(f"{name}=".encode())
        if start is None:
            return None
        value = self.body[start : start + LARGEST_DOCUMENT_BYTES].partition(b"&")[0]
        return unquote_plus(value.decode("utf-8", "replace"), errors="replace")

    def _start(self, key: bytes) -> int | None:
        """Return where the value of a key begins, or None.

        Escaped keys are looked for only in the first LARGEST_DOCUMENT_BYTES, where a form of a few fields is.
        """
        if self.body.startswith(key):
            return len(key)
        place = self.body.find(b"&" + key)
        if place >= 0:
            return place + 1 + len(key)
        escaped = re.compile(
            b"(?:^|&)" + b"".join(map(_as_it_is_or_escaped, key[:-1])) + b"="
        )
        found = escaped.search(self.body[:LARGEST_DOCUMENT_BYTES])
        return None if found is None else found.end()


def _as_it_is_or_escaped(character: int) -> bytes:
    return b"(?:%s|%%(?i:%02x))" % (re.escape(bytes([character])), character)


def read_form() -> Form:
    """Return the request's form, empty if there is no body, as in a plain GET.

    Raises the errors of read_body and form_of.
    """
    body = read_body(present_request(), LARGEST_DOCUMENT_BYTES) if has_body() else b""
    return form_of(body, multipart_boundary(), FEW_FIELDS)


def form_of(body: bytes, boundary: bytes, most_fields: int = MOST_FIELDS) -> Form:
    """Return the form in a body: multipart, or urlencoded if there is no boundary.

    Raises RefereeError `bad-request`, `too-large`. It does not use Flask's request, since one
    thread reads the bodies of several requests of a run.
    """
    if not boundary:
        return Form(body)
    parser = MultiPartParser(lambda *_, **__: BytesIO(), max_form_parts=most_fields)
    try:
        fields, _ = parser.parse(BytesIO(body), boundary, len(body))
    except ValueError:
        raise RefereeError(
            "bad-request", "The multipart form is malformed: nothing was stored."
        ) from None
    except RequestEntityTooLarge:
        sentence = f"A multipart form has at most {most_fields} fields here; send several forms."
        raise RefereeError("too-large", sentence) from None
    return Form(urlencode([*fields.items(multi=True)]).encode())


def token_of(body: bytes) -> str | None:
    """Return the token in a body, or None. The first 64 KiB of a multipart form are searched, without parsing it."""
    if not multipart_boundary():
        return Form(body).field("token")
    found = TOKEN_PART.search(body[:LARGEST_DOCUMENT_BYTES])
    return found[1].decode(errors="replace") if found else None


def multipart_boundary() -> bytes:
    """Return the boundary of a multipart form, as `curl -F` sends it; empty for any other body."""
    is_multipart = request.mimetype == "multipart/form-data"
    return request.mimetype_params.get("boundary", "").encode() if is_multipart else b""


def has_body() -> bool:
    """Return True if the request's headers announce a body."""
    return request.content_length is not None or "Transfer-Encoding" in request.headers


def text(body: str, status: int = 200) -> Response:
    """Return a plain-text answer."""
    return Response(body, status, mimetype="text/plain")


def attachment(answer: Answer, name: str) -> Response:
    """Return the answer as a file to save under that name."""
    response = through_flask(answer)
    response.headers["Content-Disposition"] = f"attachment; filename={name}"
    return response


def image_number(form: Form, images: int) -> int:
    """Return the number of the image that a form asks for. Raises Refusal for what is none from 1 to `images`."""
    name = form.field("image_name") or ""
    must = f"here it is a number alone, from 1 to {images}"
    reason = f"image_name is {shown(name)}; {must}"
    if not (name.isascii() and name.isdigit()):
        raise Refusal(406, INVALID_INDEX, reason)
    digits = name.lstrip("0")
    is_long = len(digits) > LONGEST_NUMBER
    if is_long or not 1 <= int(digits or 0) <= images:
        raise Refusal(406, OUT_OF_RANGE, reason)
    return int(digits)


def lacking(form: Form) -> str:
    """Return which lists a form of rows lacks, as the end of a sentence; "" if it has them all."""
    names = [name.decode() for name in FIELDS]
    absent = [name for name in names if form.field(name) is None]
    return f"; the form has no {', '.join(absent)}" if absent else ""
