"""POST of detections, or of another task's answers: the reply means that they are on disk.

Flask's routes and the gateway call the same function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from referee.auth.tokens import Session
from referee.errors import RefereeError, WindowClosed
from referee.runs.repeated_bodies import receipt_of
from referee.web.callers import open_run_of, require_own, session_of, stored_run_of
from referee.web.concurrency_limits import too_many_requests
from referee.web.http_answers import Answer, document
from referee.web.request_bodies import read_body
from referee.web.run_service import RunService
from referee.web.task_answers import ANSWERS_PATH, largest_body_bytes, require_path
from referee.web.web_request import WebRequest

if TYPE_CHECKING:
    from referee.store.records import Post
    from referee.web.published_board import LogHead

DETECTIONS_PATH = "/v1/detections"
PATHS = frozenset({DETECTIONS_PATH, ANSWERS_PATH})
LONGEST_KEY = 200
LONGEST_CODING = 40  # characters shown of it
USUAL_TYPE = "application/json"


def post(service: RunService, asked: WebRequest) -> Answer:
    """Handle a POST of /v1/detections or /v1/answers: take one body, and read none of it without a valid token.

    Raises RefereeError: the errors of `open_run_of`, `read_body`, `parse_detections` or `read_answers`, and
    `OpenRun.accept`; `other-task` for the path of another task than the run's, `too-many-requests`, `bad-request` for
    a bad Idempotency-Key, `unsupported-media-type` for a compressed body.
    """
    environ = asked.environ
    session = session_of(service.callers, asked)
    key: str | None = environ.get("HTTP_IDEMPOTENCY_KEY")
    # Granian passes on an empty text for a header that is not ASCII.
    if key is not None and not 1 <= len(key) <= LONGEST_KEY:
        raise RefereeError(
            "bad-request",
            f"An Idempotency-Key has 1 to {LONGEST_KEY} ASCII characters.",
        )
    coding = environ.get("HTTP_CONTENT_ENCODING", "")
    if coding.strip().lower() not in ("", "identity"):
        raise RefereeError(
            "unsupported-media-type",
            f"A body of Content-Encoding {coding[:LONGEST_CODING]!r} is not supported; send the body uncompressed.",
        )

    content_type = environ.get("CONTENT_TYPE") or USUAL_TYPE
    body: bytes | None = None
    warnings: list[str] = []
    try:
        live = open_run_of(service.callers, asked, session)
        if not live.slots.acquire(blocking=False):
            raise too_many_requests()
        try:
            require_path(live.run, environ["PATH_INFO"])
            read = service.reader(live, content_type)
            # From here on to `accept` no time is lost.
            body = read_body(asked, largest_body_bytes(live.run))
            receipt = live.accept(body, key, read, content_type)
            warnings = read.warnings
            live.warnings = warnings or live.warnings
        finally:
            live.slots.release()
    except WindowClosed:
        earlier = None
        if key is not None:
            earlier = _repeated(service, asked, session, key, body)
        if earlier is None:
            raise
        receipt = earlier
    return _accepted(receipt, warnings, service.board.known_log_head())


def _accepted(receipt: Post, warnings: list[str], log: LogHead | None) -> Answer:
    content: dict[str, Any] = {
        "accepted": receipt.row_count,
        "received_total": receipt.received_total,
        "sha256": receipt.sha256,
    }
    if receipt.previous is not None:
        content["receipt"] = {
            "form": receipt.form,
            "number": receipt.number,
            "previous": receipt.previous.hex(),
            "link": receipt.link.hex(),
            "received_utc": receipt.received_utc,
        }
        if receipt.meter is not None:
            content["receipt"] |= {
                "readings": receipt.readings,
                "meter": receipt.meter.hex(),
            }
    if log is not None:
        content["log"] = {"events": log.events, "link": log.link}
    if warnings:
        content["warnings"] = warnings
    return document(202, content)


def _repeated(
    service: RunService,
    asked: WebRequest,
    session: Session,
    key: str,
    body: bytes | None,
) -> Post | None:
    """Return the receipt that this same body got while its run was open, or None.

    After the window no new body is taken, but a repeated one gets the same answer again.
    """
    run = stored_run_of(service.callers, asked, session)
    require_own(service.callers, asked, session, run)
    require_path(run, asked.environ["PATH_INFO"])
    if body is None:
        slots = service.limits.unauthenticated
        address = asked.environ.get("REMOTE_ADDR", "")
        if not slots.acquire(address):
            raise too_many_requests()
        try:
            body = read_body(asked, largest_body_bytes(run))
        finally:
            slots.release(address)
    return receipt_of(service.callers.contest.store, session.run, body, key)
