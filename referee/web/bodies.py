"""Bodies of requests, taken only when they have arrived whole.

The server in front of us ends a body quietly when its connection breaks, and says nothing of it. What tells a whole
body from a cut one is its Content-Length; a chunked body has none, so it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO

from flask import request

from referee.errors import RefereeError
from referee.web.answers import Environ
from referee.web.large_bodies import LARGE_BODY_BYTES
from referee.web.state import WebState, web_state
from referee.web.transfers import LEAST_BYTES_PER_S, Kind, Transfer

# A body of a million text rows fits; nobody needs more in one.
LARGEST_BODY_BYTES = 64 * 2**20
LARGEST_DOCUMENT_BYTES = 64 * 2**10
LONGEST_LENGTH = 20  # digits that count; the server in front of us hands on thousands of zeros before them
PIECE_BYTES = 2**16  # what is read at once: how long it takes tells whether the body still comes
FIRST_BYTES = 2**12  # in which a body that bears its token must have it, to be taken on its run's account
TRANSFER = "referee.transfer"  # in the environ: what the gateway counts the request as
TokenReader = Callable[[bytes], int | None]
"""From the first bytes of a body to the open run whose token they bear, if they do."""


def read_body(largest_bytes: int = LARGEST_BODY_BYTES, run_in: TokenReader | None = None) -> bytes:
    """The whole body of the present request of Flask's; raises what `body_of` raises."""
    return body_of(web_state(), request.environ, largest_bytes, run_in)


def body_of(
    state: WebState,
    environ: Environ,
    largest_bytes: int = LARGEST_BODY_BYTES,
    run_in: TokenReader | None = None,
) -> bytes:
    """The request's whole body.

    Raises RefereeError `length-missing`, `too-large`, `too-many-uploads`, `body-cut-off`, `body-too-slow`.
    """
    stated = environ.get("CONTENT_LENGTH", "")
    if not (stated.isascii() and stated.isdigit()) or "HTTP_TRANSFER_ENCODING" in environ:
        raise RefereeError(
            "length-missing",
            "Send the body in one piece with its Content-Length; a chunked one cannot be told from a cut one.",
        )
    length = int(stated.lstrip("0")[:LONGEST_LENGTH] or 0)
    if length > largest_bytes:
        raise RefereeError(
            "too-large", f"The body has {length} bytes; at most {largest_bytes} are taken: send several."
        )
    body, is_late = _arrived(state, environ, length, run_in)
    if len(body) != length and is_late:
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


def _arrived(
    state: WebState, environ: Environ, length: int, run_in: TokenReader | None
) -> tuple[bytes, bool]:
    """What arrived of the body, and whether that took longer than it may."""
    transfer: Transfer | None = environ.get(TRANSFER)
    read: Callable[[int], bytes] = environ["wsgi.input"].read
    if transfer is None:  # served without the gateway: nothing is counted
        return read(length), False
    _count_upload(state, transfer, 0 if run_in else length)
    body = b""
    if length > FIRST_BYTES and run_in is not None:
        body = read(FIRST_BYTES)
        run = run_in(body)
        if run is not None:
            state.transfers.charge(transfer, run)
        _count_upload(state, transfer, length)
    body = _whole(state, transfer, read, body, length)
    now_s = state.clock.monotonic_s()
    is_late = now_s >= transfer.due_s
    transfer.is_arrived(now_s)
    return body, is_late


def _count_upload(state: WebState, transfer: Transfer, length: int) -> None:
    places = (Kind.UPLOAD, Kind.LARGE) if length > LARGE_BODY_BYTES else (Kind.UPLOAD,)
    if transfer.places != places:
        now_s = state.clock.monotonic_s()
        state.transfers.turn_into(transfer, transfer.account, *places, now_s=now_s)


def _whole(
    state: WebState, transfer: Transfer, read: Callable[[int], bytes], first: bytes, length: int
) -> bytes:
    """`length` bytes that begin with `first`, or those that came before the connection broke; in memory once."""
    missing = length - len(first)
    if missing <= PIECE_BYTES:
        return first + read(missing) if missing else first
    gathered = BytesIO()
    gathered.write(first)
    while missing and (piece := read(min(missing, PIECE_BYTES))):
        missing -= gathered.write(piece)
        transfer.goes_on(len(piece), state.clock.monotonic_s())
    return gathered.getvalue()


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
    if default is not None and key not in document:
        return default
    value = document.get(key)
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
