"""POST of detections: the answer means that they are on disk. Flask's route and the gateway call the same function."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numpy as np
from numpy.typing import NDArray

from referee.detections import parse_detections
from referee.errors import RefereeError
from referee.runs.open_run import SMALL_BODY_BYTES, LiveRun
from referee.store.records import Post
from referee.web.answers import Answer, Environ, document
from referee.web.bodies import body_of
from referee.web.large_bodies import LARGE_BODY_BYTES
from referee.web.sessions import live_run_of, require_own, session_of
from referee.web.state import WebState

DETECTIONS_PATH = "/v1/detections"
LONGEST_KEY = 200
LONGEST_CODING = 40  # that is shown
USUAL_TYPE = "application/json"


def post(state: WebState, environ: Environ) -> Answer:
    """POST of /v1/detections: take one body.

    Raises RefereeError: what `session_of`, `live_run_of`, `body_of` and `LiveRun.take_post` raise, and `bad-request`
    for an Idempotency-Key that is none, `unsupported-media-type` for a body that is compressed.
    """
    session, key = session_of(state, environ), _idempotency_key(environ)
    _require_plain(environ)
    body = body_of(state, environ)
    content_type = environ.get("CONTENT_TYPE") or USUAL_TYPE
    try:
        live = live_run_of(state, environ)
        return _receipt(live.take_post(body, key, lambda text: rows_of(state, live, text, content_type)))
    except RefereeError as error:
        if error.code != "window-closed":
            raise
        # Too late for a new body, but not to be told again that this one was in time.
        run = state.contest.store.run(session.run)
        require_own(state, environ, session, run)
        earlier = state.control.receipt(session.run, body, key)
        if earlier is None:
            raise
        return _receipt(earlier)


def rows_of(state: WebState, live: LiveRun, body: bytes, content_type: str) -> NDArray[np.float64]:
    """The checked rows (n, 7) of a body that has been admitted; raises what `parse_detections` raises."""
    with turn_of(state, live, body):
        return parse_detections(body, content_type, len(state.contest.test_set.images), state.category_ids)


def turn_of(state: WebState, live: LiveRun, body: bytes) -> AbstractContextManager[None]:
    """Bodies that take long take turns, run after run, so that many take no more processor and memory than one.

    Large ones have turns of their own, so that others need not wait for them. All have been admitted by then: waiting
    here makes nobody late. Small ones are read one after the other by whoever commits.
    """
    if len(body) <= SMALL_BODY_BYTES:
        return nullcontext()
    turns = state.large_turns if len(body) > LARGE_BODY_BYTES else state.middle_turns
    return turns.turn(live.run.id)


def _require_plain(environ: Environ) -> None:
    coding = environ.get("HTTP_CONTENT_ENCODING", "")
    if coding.strip().lower() not in ("", "identity"):
        raise RefereeError(
            "unsupported-media-type",
            f"A body of Content-Encoding {coding[:LONGEST_CODING]!r} is not understood; send it uncompressed.",
        )


def _receipt(receipt: Post) -> Answer:
    content = {
        "accepted": receipt.row_count,
        "received_total": receipt.received_total,
        "sha256": receipt.sha256,
    }
    return document(202, content)


def _idempotency_key(environ: Environ) -> str | None:
    key: str | None = environ.get("HTTP_IDEMPOTENCY_KEY")
    # The server in front of us hands on an empty text for a header that is not ASCII.
    if key is not None and not 1 <= len(key) <= LONGEST_KEY:
        raise RefereeError("bad-request", f"An Idempotency-Key has 1 to {LONGEST_KEY} ASCII characters.")
    return key
