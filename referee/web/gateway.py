"""The entry: images, detections and the board's polls go to their handlers directly, everything else through Flask.

Flask's routing, contexts and objects take several times longer than serving an image from memory (docs/decisions/0004).
Each handler exists once: Flask has the same ones on its routes, for what is left of them, such as the methods that an
address does not take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from referee.auth.client_addresses import client_address
from referee.errors import RefereeError
from referee.web.arriving_bodies import watch_arrival
from referee.web.callers import REMAINING, remaining_ms
from referee.web.contestant import image_batches, posted_detections, single_image
from referee.web.http_answers import (
    STATUS_LINES,
    Answer,
    Environ,
    StartResponse,
    Stream,
)
from referee.web.legacy.plain_refusals import plain_refusal
from referee.web.problem_documents import answer_to, note_refusal
from referee.web.public import board_pages
from referee.web.request_bodies import body_too_slow
from referee.web.request_slots import (
    FORMS,
    OLD_LOG_INS,
    hold_slot,
    release_slot,
    slots_of,
)
from referee.web.state import WebState

Handler = Callable[[WebState, Environ], Answer]
App = Callable[[Environ, Any], Iterable[bytes]]

PLAIN = frozenset({"wrong-address", "too-many-requests", "body-too-slow"})
"""What an old client is told in its own words; what is no request of HTTP is told in a problem document."""
IMAGE_PREFIX = single_image.IMAGES_PATH + "/"
POLLED: dict[str, Handler] = {
    board_pages.JSON_PATH: board_pages.as_json,
    board_pages.LIVE_PATH: board_pages.live_part,
}


class Gateway:
    """A WSGI app in front of Flask's."""

    def __init__(self, app: App, state: WebState) -> None:
        self._app = app
        self._state = state
        self._trusted_proxy = state.contest.config.trusted_proxy

    def __call__(
        self, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer one request."""
        watch_arrival(environ, self._state.arriving)
        if self._trusted_proxy:
            peer, forwarded_for = (
                environ.get("REMOTE_ADDR", ""),
                environ.get("HTTP_X_FORWARDED_FOR"),
            )
            environ["REMOTE_ADDR"] = client_address(
                peer, forwarded_for, self._trusted_proxy
            )
        environ.pop(
            "HTTP_UPGRADE", None
        )  # there is nothing to change to; Flask would refuse a GET that asks
        try:
            handler = _handler(environ)
            if handler is None:
                return self._through_flask(environ, start_response)
            answer = handler(self._state, environ)
        except Exception as error:  # noqa: BLE001 - the boundary: it becomes one problem document
            answer = _refusal(environ, error)
            note_refusal(self._state, environ, error, answer.status)
        left_ms = remaining_ms(self._state, environ)
        headers = (
            answer.headers
            if left_ms is None
            else [*answer.headers, (REMAINING, left_ms)]
        )
        start_response(STATUS_LINES.get(answer.status) or f"{answer.status} ", headers)
        if isinstance(answer.body, Stream):
            return answer.body
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [answer.body]

    def _through_flask(
        self, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        hold_slot(environ, slots_of(self._state, environ))
        try:
            return self._app(environ, start_response)
        finally:
            release_slot(environ)


def answer_to_silence(environ: Environ) -> Answer:
    """What the client reads whose body has stopped arriving."""
    return _refusal(environ, body_too_slow())


def _refusal(environ: Environ, error: Exception) -> Answer:
    path = environ["PATH_INFO"]
    is_old = path in OLD_LOG_INS or path in FORMS
    if not is_old or not isinstance(error, RefereeError) or error.code not in PLAIN:
        return answer_to(error)
    answer = plain_refusal(path, error)
    return replace(answer, headers=[*answer.headers, ("Connection", "close")])


def _handler(environ: Environ) -> Handler | None:
    """What answers without Flask; None for what Flask answers.

    Raises RefereeError `method-unknown` or `bad-request` for what HTTP does not allow: methods are case-sensitive
    (RFC 9110, 9.1), and a request of HTTP/1.1 names one host (RFC 9112, 3.2). The server in front of us passes on none
    as an empty text, and several with commas between them.
    """
    method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
    if not method.isupper():
        raise RefereeError(
            "method-unknown",
            "There is no such method; methods are written in capitals.",
        )
    host = environ.get("HTTP_HOST", "")
    if (not host and environ.get("SERVER_PROTOCOL") == "HTTP/1.1") or "," in host:
        raise RefereeError(
            "bad-request",
            "A request of HTTP/1.1 has one header Host that names a host.",
        )
    if method == "POST":
        return (
            posted_detections.post
            if path == posted_detections.DETECTIONS_PATH
            else None
        )
    if method not in ("GET", "HEAD"):
        return None
    if (polled := POLLED.get(path)) is not None:
        return polled
    if not path.startswith(single_image.IMAGES_PATH):
        return None
    if path == single_image.IMAGES_PATH:
        return image_batches.batch
    is_one = (
        path.startswith(IMAGE_PREFIX) and path.count("/") == 3 and path != IMAGE_PREFIX
    )
    return single_image.image if is_one else None
