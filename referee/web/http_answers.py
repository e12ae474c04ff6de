"""An HTTP answer as a plain value: each handler makes it once, and the gateway or Flask sends it."""

from __future__ import annotations

import http
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from flask import Response

Environ = dict[str, Any]
"""A request as WSGI (PEP 3333) describes it."""
StartResponse = Callable[[str, list[tuple[str, str]]], object]

NOT_TO_BE_KEPT = ("Cache-Control", "no-store")
STATUS_LINES = {
    status.value: f"{status.value} {status.phrase}" for status in http.HTTPStatus
}


class Stream:
    """A body that is generated while it is sent; `end` is called once, however the sending ends."""

    def __init__(self, chunks: Iterator[bytes], end: Callable[[], None]) -> None:
        self._chunks = chunks
        self._end: Callable[[], None] | None = end

    def __iter__(self) -> Stream:
        """Return the stream itself, so it can be sent only once."""
        return self

    def __next__(self) -> bytes:
        """Return the next part of the body."""
        return next(self._chunks)

    def close(self) -> None:
        """Release what the body held; WSGI calls this after sending."""
        end = self._end
        self._end = None
        if end is not None:
            end()


@dataclass(frozen=True)
class Answer:
    """A status, the headers (without those that every answer gets), and the body, whole or as a stream."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes | Stream = b""


def document(
    status: int, content: object, media_type: str = "application/json"
) -> Answer:
    """Return an answer with a JSON document as its body."""
    body = json.dumps(content).encode() + b"\n"
    headers = [
        ("Content-Type", media_type),
        ("Content-Length", str(len(body))),
        NOT_TO_BE_KEPT,
    ]
    return Answer(status, headers, body)


def through_flask(answer: Answer) -> Response:
    """Return the answer as a Flask response."""
    body = answer.body if isinstance(answer.body, Stream) else [answer.body]
    response = Response(body, answer.status, answer.headers, direct_passthrough=True)
    # The answer to HEAD has the length that GET's would have.
    response.automatically_set_content_length = False
    return response
