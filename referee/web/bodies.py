"""Bodies of requests, taken only when they have arrived whole.

The server in front of us ends a body quietly when its connection breaks, and says nothing of it. What tells a whole
body from a cut one is its Content-Length; a chunked body has none, so it is refused.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from flask import request

from referee.errors import RefereeError

# A body of a million text rows fits; nobody needs more in one.
LARGEST_BODY_BYTES = 64 * 2**20
LARGEST_DOCUMENT_BYTES = 64 * 2**10
UPLOADS_OF_AN_ADDRESS = 32


class Uploads:
    """Bodies that are arriving, counted by address: a client that stalls many of them holds up only itself."""

    def __init__(self) -> None:
        self._arriving: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def one_of(self, address: str) -> Iterator[None]:
        """Count one more for the length of a with statement. Raises RefereeError `too-many-uploads`."""
        with self._lock:
            if self._arriving[address] >= UPLOADS_OF_AN_ADDRESS:
                raise RefereeError(
                    "too-many-uploads",
                    f"{UPLOADS_OF_AN_ADDRESS} bodies from {address} are on their way; finish them first.",
                )
            self._arriving[address] += 1
        try:
            yield
        finally:
            with self._lock:
                self._arriving[address] -= 1
                if not self._arriving[address]:
                    del self._arriving[address]


_uploads = Uploads()


def read_body(largest_bytes: int = LARGEST_BODY_BYTES) -> bytes:
    """The request's whole body. Raises RefereeError `length-missing`, `too-large`, `body-cut-off`."""
    length = request.content_length
    if length is None or "Transfer-Encoding" in request.headers:
        raise RefereeError(
            "length-missing",
            "Send the body in one piece with its Content-Length; a chunked one cannot be told from a cut one.",
        )
    if length > largest_bytes:
        raise RefereeError(
            "too-large", f"The body has {length} bytes; at most {largest_bytes} are taken: send several."
        )
    with _uploads.one_of(request.remote_addr or ""):
        body = request.get_data(cache=False)
    if len(body) != length:
        raise RefereeError(
            "body-cut-off",
            f"Only {len(body)} of {length} bytes arrived, so nothing was taken; send it again.",
        )
    return body


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
