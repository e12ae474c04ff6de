"""The WSGI entry: passes images, detections and board polls directly to their handlers, the rest to Flask.

Flask's routing, contexts and objects take several times longer than serving an image from memory (docs/decisions/0004).
Each handler exists once: Flask's routes call the same handlers for the remaining cases, such as methods that an address
does not support.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from referee.auth.client_addresses import client_address
from referee.errors import RefereeError
from referee.web.arriving_bodies import ArrivingBodies
from referee.web.callers import REMAINING, remaining_ms
from referee.web.contestant import image_batches, posted_detections, single_image
from referee.web.error_pages import for_reader
from referee.web.heard_boards import HeardBoards
from referee.web.http_answers import (
    STATUS_LINES,
    Answer,
    Environ,
    StartResponse,
    Stream,
)
from referee.web.legacy.plain_refusals import plain_refusal
from referee.web.problem_documents import answer_to, note_refusal
from referee.web.public import board_pages, heat_pages, projector
from referee.web.published_board import PublishedBoard
from referee.web.refused_requests import Refusals
from referee.web.request_bodies import body_too_slow
from referee.web.request_slots import (
    FORMS,
    OLD_LOG_INS,
    hold_slot,
    release_slot,
    slots_of,
)
from referee.web.run_service import RunService
from referee.web.web_request import HANDED_TO_FLASK, WebRequest, begin_request

Handler = Callable[[WebRequest], Answer]
App = Callable[[Environ, Any], Iterable[bytes]]

PLAIN = frozenset({"wrong-address", "too-many-requests", "body-too-slow"})
"""Codes that an old client gets in the words of its protocol; all others come in a problem document."""
IMAGE_PREFIX = single_image.IMAGES_PATH + "/"


class Gateway:
    """A WSGI app in front of Flask's. It trusts the X-Forwarded-For of the proxies `trusted`."""

    def __init__(
        self,
        app: App,
        service: RunService,
        board: PublishedBoard,
        refusals: Refusals,
        bodies: ArrivingBodies,
        boards: HeardBoards,
        trusted: tuple[str, ...],
    ) -> None:
        self._app = app
        self._service = service
        self._refusals = refusals
        self._bodies = bodies
        self._boards = boards
        self._trusted = trusted
        self._post: Handler = partial(posted_detections.post, service)
        self._image: Handler = partial(single_image.image, service)
        batch: Handler = partial(image_batches.batch, service)
        self._race: Handler = partial(heat_pages.race_part, board)
        self._looks: dict[str, Handler] = {
            single_image.IMAGES_PATH: batch,
            board_pages.BADGE_PATH: partial(board_pages.as_badge, board),
            board_pages.JSON_PATH: partial(board_pages.as_json, board),
            board_pages.LIVE_PATH: partial(board_pages.live_part, board),
            heat_pages.LIVE_PATH: partial(heat_pages.standings_part, board),
            projector.LIVE_PATH: partial(projector.live_part, board),
        }

    def __call__(
        self, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer one request."""
        asked = begin_request(environ, self._bodies)
        if self._trusted:
            peer = environ.get("REMOTE_ADDR", "")
            forwarded_for = environ.get("HTTP_X_FORWARDED_FOR")
            environ["REMOTE_ADDR"] = client_address(peer, forwarded_for, self._trusted)
        self._boards.note_request(environ.get("REMOTE_ADDR", ""))
        # No upgrade is possible, but Flask would refuse a GET that requests one.
        environ.pop("HTTP_UPGRADE", None)
        try:
            handler = self._handler(environ)
            if handler is None:
                return self._through_flask(asked, start_response)
            answer = handler(asked)
        except Exception as error:  # noqa: BLE001 - the boundary: it becomes one problem document
            answer = _refusal(environ, error)
            note_refusal(self._refusals, asked, error, answer.status)

        headers = answer.headers
        left_ms = remaining_ms(self._service.callers, asked)
        if left_ms is not None:
            headers = [*headers, (REMAINING, left_ms)]
        start_response(STATUS_LINES.get(answer.status) or f"{answer.status} ", headers)
        if isinstance(answer.body, Stream):
            return answer.body
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [answer.body]

    def _handler(self, environ: Environ) -> Handler | None:
        """Return the handler of a request that bypasses Flask; None if Flask answers it.

        Raises RefereeError `method-unknown` or `bad-request` for requests that HTTP does not allow: methods are
        case-sensitive (RFC 9110, 9.1), and a request of HTTP/1.1 names one host (RFC 9112, 3.2). Granian passes on a
        missing host as an empty text, and several as one text with commas.
        """
        method = environ["REQUEST_METHOD"]
        path = environ["PATH_INFO"]
        if not method.isupper():
            raise RefereeError(
                "method-unknown",
                "There is no such method; methods are written in capitals.",
            )
        host = environ.get("HTTP_HOST", "")
        is_host_missing = not host and environ.get("SERVER_PROTOCOL") == "HTTP/1.1"
        if is_host_missing or "," in host:
            raise RefereeError(
                "bad-request",
                "A request of HTTP/1.1 needs exactly one header Host, with a host's name.",
            )
        if method == "POST":
            return self._post if path in posted_detections.PATHS else None
        if method not in ("GET", "HEAD"):
            return None
        if path.startswith(IMAGE_PREFIX):
            is_one = path.count("/") == 3 and path != IMAGE_PREFIX
            return self._image if is_one else None
        if path.startswith(heat_pages.LIVE_PREFIX):
            return self._race
        return self._looks.get(path)

    def _through_flask(
        self, asked: WebRequest, start_response: StartResponse
    ) -> Iterable[bytes]:
        callers = self._service.callers
        limits = self._service.limits
        hold_slot(asked, slots_of(limits, callers, asked))
        environ = asked.environ
        environ[HANDED_TO_FLASK] = asked
        try:
            return self._app(environ, start_response)
        finally:
            del environ[HANDED_TO_FLASK]  # no cycle keeps the request in memory
            release_slot(asked)


def answer_to_silence(environ: Environ) -> Answer:
    """Return the answer to a client whose body has stopped arriving."""
    return _refusal(environ, body_too_slow())


def _refusal(environ: Environ, error: Exception) -> Answer:
    path = environ["PATH_INFO"]
    is_old = path in OLD_LOG_INS or path in FORMS
    if not is_old or not isinstance(error, RefereeError) or error.code not in PLAIN:
        return for_reader(environ, answer_to(error))
    answer = plain_refusal(path, error)
    return replace(answer, headers=[*answer.headers, ("Connection", "close")])
