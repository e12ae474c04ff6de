"""The way in: images and detections go to their handlers directly, everything else through Flask.

Flask's routing, contexts and objects take several times longer than serving an image from memory (docs/decisions/0004).
Each handler exists once: Flask has the same ones on its routes, for what is left of them, such as the methods that an
address does not take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from referee.auth.client_addresses import client_address
from referee.errors import RefereeError
from referee.web.admission import account_of, require_sound
from referee.web.answers import Answer, Environ, StartResponse, Stream
from referee.web.bodies import TRANSFER
from referee.web.contestant import images as image_answers
from referee.web.problems import answer_to
from referee.web.sessions import REMAINING, remaining_ms
from referee.web.state import WebState
from referee.web.transfers import Kind

Handler = Callable[[WebState, Environ], Answer]
App = Callable[[Environ, Any], Iterable[bytes]]

IMAGE_PREFIX = image_answers.IMAGES_PATH + "/"


def _image_handler(path: str) -> Handler | None:
    if path == image_answers.IMAGES_PATH:
        return image_answers.batch
    prefix, number = path[: len(IMAGE_PREFIX)], path[len(IMAGE_PREFIX) :]
    return image_answers.image if prefix == IMAGE_PREFIX and number and "/" not in number else None


class Gateway:
    """A WSGI app in front of another one; `posts` are handlers of POST by path."""

    def __init__(self, app: App, state: WebState, posts: Mapping[str, Handler] | None = None) -> None:
        self._app = app
        self._state = state
        self._posts = posts or {}
        self._trusted_proxy = state.contest.config.trusted_proxy

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        if self._trusted_proxy:
            peer, forwarded_for = environ.get("REMOTE_ADDR", ""), environ.get("HTTP_X_FORWARDED_FOR")
            environ["REMOTE_ADDR"] = client_address(peer, forwarded_for, self._trusted_proxy)
        environ.pop("HTTP_UPGRADE", None)  # nothing to change to; Flask would refuse a GET that asks
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        try:
            require_sound(environ)
        except RefereeError as error:
            return self._refuse(error, environ, start_response)
        if method in ("GET", "HEAD") and path.startswith(image_answers.IMAGES_PATH):
            handler = _image_handler(path)
            if handler is not None:
                return self._hand_out(handler, environ, start_response)
        handler = self._posts.get(path) if method == "POST" else None
        state, kind = self._state, Kind.UPLOAD if handler else Kind.ANSWER
        account, address = account_of(state, environ), environ.get("REMOTE_ADDR", "")
        try:
            transfer = state.transfers.begin(kind, account, address, state.clock.monotonic_s())
        except RefereeError as error:
            return self._refuse(error, environ, start_response)
        environ[TRANSFER] = transfer
        try:
            if handler is not None:
                return self._hand_out(handler, environ, start_response)
            return self._app(environ, start_response)
        finally:
            state.transfers.end(transfer)

    def _refuse(
        self, error: RefereeError, environ: Environ, start_response: StartResponse
    ) -> list[bytes] | Stream:
        return self._tell(answer_to(error), environ, start_response)

    def _hand_out(
        self, handler: Handler, environ: Environ, start_response: StartResponse
    ) -> list[bytes] | Stream:
        try:
            answer = handler(self._state, environ)
        except Exception as error:  # noqa: BLE001 - the boundary: it becomes one problem document
            answer = answer_to(error)
        return self._tell(answer, environ, start_response)

    def _tell(self, answer: Answer, environ: Environ, start_response: StartResponse) -> list[bytes] | Stream:
        left_ms = remaining_ms(self._state, environ)
        headers = answer.headers if left_ms is None else [*answer.headers, (REMAINING, left_ms)]
        start_response(answer.status_line, headers)
        if isinstance(answer.body, Stream):
            return answer.body
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [answer.body]
