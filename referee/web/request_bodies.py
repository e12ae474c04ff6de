"""Reads request bodies, and accepts a body only if it has arrived completely.

Granian ends a body silently when its connection breaks. Only the Content-Length distinguishes a complete body from a
truncated one; a chunked body has none and is refused. If the next part of a body does not arrive in time, the
connection is ended (`referee.web.arriving_bodies`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from itertools import islice

from lpirc_testsets.close_names import closest, did_you_mean
from referee.errors import RefereeError
from referee.web.arriving_bodies import PART_BYTES, SILENCE_S, ArrivingBody
from referee.web.http_answers import Environ
from referee.web.web_request import WebRequest, present_request

LARGEST_BODY_BYTES = 4 * 2**20
"""Largest body taken: about 90,000 text rows, while the largest published contest output has 49,013."""
LARGEST_DOCUMENT_BYTES = 64 * 2**10
"""Maximum number of bytes read of a request before it is authenticated."""
NO_BODY = "The request has no body"
LONGEST_KEY = 30
MOST_KEYS = 5
"""What a refusal shows of the keys of a JSON object: so many, and so many characters of each."""
LONGEST_LENGTH = 20
"""Maximum number of digits of a Content-Length, without leading zeros; Granian passes on thousands of these."""


def read_body(
    asked: WebRequest,
    largest_bytes: int,
    authenticate: Callable[[bytes], object] | None = None,
) -> bytes:
    """Return the request's complete body.

    If `authenticate` is given, it is called with the first 64 KiB before more is read, and raises if the body contains
    no valid token. Raises RefereeError `length-missing` and `too-large`, both before anything is read; `body-cut-off`,
    `body-too-slow`.
    """
    length = stated_length(asked.environ, largest_bytes)
    if length <= PART_BYTES and authenticate is None:
        return _one_part(asked, length)
    parts = parts_of_body(asked, length)
    if authenticate is None:
        return b"".join(parts)
    with closing(parts):
        head = b"".join(islice(parts, LARGEST_DOCUMENT_BYTES // PART_BYTES))
        authenticate(head)
        return b"".join([head, *parts])


def _one_part(asked: WebRequest, length: int) -> bytes:
    """Return a small body in one piece, for speed: most POSTs are small. Larger ones go through `parts_of_body`."""
    body = asked.bodies.begin(asked.environ, asked.arrival)
    try:
        content = body.read(length) if length else b""
    finally:
        asked.bodies.end(body)
    if body.is_given_up or len(content) < length:
        raise _not_whole(body, len(content), length)
    return content


def parts_of_body(asked: WebRequest, length: int) -> Generator[bytes]:
    """Yield the parts of the request's body, `length` bytes in all, as they arrive.

    Raises RefereeError `body-cut-off`, `body-too-slow` at the end.
    """
    left = length
    body = asked.bodies.begin(asked.environ, asked.arrival)
    try:
        while left and (part := body.read(min(left, PART_BYTES))):
            left -= len(part)
            yield part
    finally:
        asked.bodies.end(body)
    if body.is_given_up or left:
        raise _not_whole(body, length - left, length)


def _not_whole(body: ArrivingBody, arrived: int, length: int) -> RefereeError:
    if body.is_given_up:  # the last part may have come while its client was told
        return body_too_slow()
    return RefereeError(
        "body-cut-off",
        f"Only {arrived} of {length} bytes arrived, so nothing was stored; send the body again.",
    )


def body_too_slow() -> RefereeError:
    """Return the error for a body whose client has fallen silent."""
    return RefereeError(
        "body-too-slow",
        f"The next {PART_BYTES} bytes of the body, or its rest, did not arrive within {SILENCE_S:g} s, so nothing was "
        "stored; send the body again.",
    )


def stated_length(environ: Environ, most: int, hint: str = ": send several") -> int:
    """Return the Content-Length of the request. Raises RefereeError `length-missing`, `too-large`."""
    stated = environ.get("CONTENT_LENGTH", "")
    if not has_body(environ):
        sentence = f"{NO_BODY}; send one with its Content-Length."
        raise RefereeError("length-missing", sentence)
    if (
        not (stated.isascii() and stated.isdigit())
        or "HTTP_TRANSFER_ENCODING" in environ
    ):
        sentence = (
            "Send the body in one piece with its Content-Length; a chunked body that is cut off cannot be "
            "recognized."
        )
        raise RefereeError("length-missing", sentence)
    length = int(stated.lstrip("0")[:LONGEST_LENGTH] or 0)
    if length > most:
        raise RefereeError(
            "too-large",
            f"The body has {length} bytes; at most {most} are accepted{hint}.",
        )
    return length


def has_body(environ: Environ) -> bool:
    """Return True if the request's headers announce a body; HTTP/1.1 has no other way."""
    return bool(environ.get("CONTENT_LENGTH")) or "HTTP_TRANSFER_ENCODING" in environ


def read_texts(*keys: str, **defaults: str | None) -> tuple[str, ...]:
    """Return text values of the JSON object in the body: those of `keys`, then those that have a default.

    Raises RefereeError `bad-json` if one is missing, misspelt, blank or not a text, and the errors of `read_body`.
    """
    form = ", ".join(f'"{key}": "..."' for key in (*keys, *defaults))
    document = read_object(form)
    _refuse_slips(document, [*keys, *defaults])
    return tuple(
        text_in(document, key, defaults.get(key)) for key in (*keys, *defaults)
    )


def _refuse_slips(document: dict[str, object], known: Sequence[str]) -> None:
    """Raise RefereeError `bad-json` for a key that may be a slip of a known one that is missing."""
    missing = [one for one in known if one not in document]
    for key in document:
        if key not in known and closest(key, missing) is not None:
            meant = did_you_mean(key, missing)
            raise RefereeError("bad-json", f"The JSON body has {key!r}.{meant}")


def read_object(form: str) -> dict[str, object]:
    """Return the JSON object in the body. Raises RefereeError `bad-json`, which says that it must have this form."""
    asked = present_request()
    if not has_body(asked.environ):
        raise RefereeError("length-missing", f"{NO_BODY}; send {{{form}}}.")
    content = read_body(asked, LARGEST_DOCUMENT_BYTES)
    if not content:
        raise RefereeError("bad-json", f"{NO_BODY}; send {{{form}}}.")
    why = ""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        document = None
        if isinstance(error, json.JSONDecodeError):
            why = f" It is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
    if not isinstance(document, dict):
        raise RefereeError(
            "bad-json", f"The body must be a JSON object: {{{form}}}.{why}"
        )
    return document


_KINDS = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


def text_in(document: dict[str, object], key: str, default: str | None) -> str:
    """Return a text of a JSON object. Raises RefereeError `bad-json` if it is missing, blank or not a text."""
    if default is not None and key not in document:
        return default
    value = document.get(key)
    if isinstance(value, str) and not value.strip():
        raise RefereeError("bad-json", f"The text {key!r} is blank; write one.")
    if isinstance(value, int | float | list | dict):  # the value may be a password
        kind = _KINDS[type(value)]
        advice = (
            ', as in "yes" or "no".' if kind == _KINDS[bool] else "; put it in quotes."
        )
        sentence = f"The JSON body's {key!r} is {kind}, and a text is needed{advice}"
        raise RefereeError("bad-json", sentence)
    if not isinstance(value, str) or not _is_unicode(value):
        sentence = f"The JSON body needs a text {key!r}{_instead(document, key)}."
        raise RefereeError("bad-json", sentence)
    return value


def is_yes(key: str, given: str) -> bool:
    """Return what a text of yes or no says; one that is not given is no. Raises RefereeError `bad-json`."""
    if given not in ("", "yes", "no"):
        sentence = f'"{key}" is {given!r:.20}; it must be "yes" or "no".'
        raise RefereeError("bad-json", sentence)
    return given == "yes"


def _instead(document: dict[str, object], key: str) -> str:
    """Return which keys a JSON object without this one has, as the end of a sentence; never a value."""
    keys = [repr(one[:LONGEST_KEY]) for one in document if one.isidentifier()]
    if key in document or not keys:
        return ""
    return f"; it has {', '.join(keys[:MOST_KEYS])}"


def _is_unicode(text: str) -> bool:
    """Return True if the text can be encoded as UTF-8; JSON can escape half of a surrogate pair, which cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
