"""Bodies of requests, taken only when they have arrived whole.

The server in front of us ends a body quietly when its connection breaks, and says nothing of it. What tells a whole
body from a cut one is its Content-Length; a chunked body has none, so it is refused.
"""

from __future__ import annotations

import json

from flask import request

from referee.errors import RefereeError
from referee.web.answers import Environ
from referee.web.state import WebState, web_state
from referee.web.transfers import LEAST_BYTES_PER_S, Kind

# A body of a million text rows fits; nobody needs more in one.
LARGEST_BODY_BYTES = 64 * 2**20
LARGEST_DOCUMENT_BYTES = 64 * 2**10
ANSWERING = (
    "referee.answering"  # in the environ: what the gateway counts the request as, once its body is there
)


def read_body(largest_bytes: int = LARGEST_BODY_BYTES) -> bytes:
    """The whole body of the present request of Flask's; raises what `body_of` raises."""
    return body_of(web_state(), request.environ, largest_bytes)


def body_of(state: WebState, environ: Environ, largest_bytes: int = LARGEST_BODY_BYTES) -> bytes:
    """The request's whole body.

    Raises RefereeError `length-missing`, `too-large`, `too-many-uploads`, `body-cut-off`, `body-too-slow`.
    """
    stated = environ.get("CONTENT_LENGTH", "")
    if not (stated.isascii() and stated.isdigit()) or "HTTP_TRANSFER_ENCODING" in environ:
        raise RefereeError(
            "length-missing",
            "Send the body in one piece with its Content-Length; a chunked one cannot be told from a cut one.",
        )
    length = int(stated)
    if length > largest_bytes:
        raise RefereeError(
            "too-large", f"The body has {length} bytes; at most {largest_bytes} are taken: send several."
        )
    body, late = _arrived(state, environ, length)
    if len(body) != length and late:
        raise RefereeError(
            "body-too-slow",
            f"The body of {length} bytes took too long to arrive, so nothing was taken; at least "
            f"{LEAST_BYTES_PER_S // 1024} KiB a second must.",
        )
    if len(body) != length:
        raise RefereeError(
            "body-cut-off",
            f"Only {len(body)} of {length} bytes arrived, so nothing was taken; send it again.",
        )
    return body


def _arrived(state: WebState, environ: Environ, length: int) -> tuple[bytes, bool]:
    """What arrived of the body, and whether that took longer than it may."""
    transfers, clock, address = state.transfers, state.clock, environ.get("REMOTE_ADDR", "")
    key = transfers.begin(Kind.UPLOAD, address, clock.monotonic_s(), length)
    if ANSWERING in environ:
        transfers.end(environ[ANSWERING])
    try:
        body: bytes = environ["wsgi.input"].read()
        return body, transfers.is_overdue(key, clock.monotonic_s())
    finally:
        transfers.end(key)
        if ANSWERING in environ:
            environ[ANSWERING] = transfers.begin(Kind.ANSWER, address, clock.monotonic_s())


def read_texts(*keys: str, **defaults: str | None) -> tuple[str, ...]:
    """Texts of the JSON object in the body, those of `keys` and then those with a default.

    Raises RefereeError `bad-json` when one is missing, blank or no text, and what `read_body` raises.
    """
    try:
        document = json.loads(read_body(LARGEST_DOCUMENT_BYTES))
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        form = ", ".join(f'"{key}": "..."' for key in (*keys, *defaults))
        raise RefereeError("bad-json", f"The body must be a JSON object: {{{form}}}.")
    return tuple(_text(document, key, defaults.get(key)) for key in (*keys, *defaults))


def _text(document: dict[str, object], key: str, default: str | None) -> str:
    value = document.get(key, default)
    if not isinstance(value, str) or not value.strip() or not _is_unicode(value):
        raise RefereeError("bad-json", f"The JSON body needs {key!r} as a text.")
    return value


def _is_unicode(text: str) -> bool:
    """Whether the text can be written as UTF-8: JSON may escape half of a surrogate pair, which cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
