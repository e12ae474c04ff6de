"""All public links of the contest's log, for those who keep them: GET /log/links, 32 bytes for each event."""

from __future__ import annotations

import threading

from flask import Blueprint, Response, request

from referee.store.hash_links import LINK_BYTES
from referee.web.app_parts import part
from referee.web.html_pages import SECURITY_HEADERS
from referee.web.published_board import PublishedBoard

PATH = "/log/links"
MEDIA_TYPE = "application/octet-stream"
READ_BY_ALL = ("Access-Control-Allow-Origin", "*")
CACHING = ("Cache-Control", "no-cache")
_SHOWN_IN_ETAG = 32

blueprint = Blueprint("log", __name__)


class PublicLinks:
    """The links up to the one on the board; none newer, so none after a freeze."""

    def __init__(self, board: PublishedBoard) -> None:
        self._board = board
        self._lock = threading.Lock()
        self._known = b""

    def now(self) -> bytes:
        """Return all public links, oldest first. Raises StorageFailed."""
        head = self._board.log_head()
        events = 0 if head is None else head.events
        with self._lock:
            known = len(self._known) // LINK_BYTES
            if known < events:
                self._known += self._board.contest.store.log.links(known, events)
            return self._known[: events * LINK_BYTES]


@blueprint.get(PATH)
def all_links() -> Response:
    """Answer with all links, or with the range of bytes that is asked for; 304 if the list has not grown."""
    links = part(PublicLinks).now()
    headers = [*SECURITY_HEADERS.items(), READ_BY_ALL, CACHING]
    response = Response(links, mimetype=MEDIA_TYPE, headers=headers)
    newest = links[-LINK_BYTES:].hex()[:_SHOWN_IN_ETAG]
    response.set_etag(f"{len(links) // LINK_BYTES}-{newest}")
    return response.make_conditional(  # type: ignore[return-value]  # the same response
        request, accept_ranges=True, complete_length=len(links)
    )
