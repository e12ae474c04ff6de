"""The web's error boundary: every failure becomes one `application/problem+json` (RFC 9457) with a stable code."""

from __future__ import annotations

import json
import logging

from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from power.errors import MeterError
from referee.errors import RefereeError

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
STATUS_OF_CODE = {
    "bad-json": 400,
    "bad-request": 400,
    "body-cut-off": 400,
    "station-missing": 400,
    "bad-credentials": 401,
    "token-missing": 401,
    "bad-token": 401,
    "token-expired": 401,
    "not-your-run": 403,
    "image-unknown": 404,
    "run-unknown": 404,
    "station-unknown": 404,
    "team-unknown": 404,
    "not-found": 404,
    "method-not-allowed": 405,
    "not-armed": 409,
    "station-busy": 409,
    "team-busy": 409,
    "window-closed": 409,
    "run-state": 409,
    "key-reused": 409,
    "length-missing": 411,
    "too-large": 413,
    "unsupported-media-type": 415,
    "bad-rows": 422,
    "too-many-failures": 429,
    "too-many-uploads": 429,
    "shutting-down": 503,
    "storage-failed": 503,
    "testset-changed": 503,
}
CODE_OF_STATUS = {404: "not-found", 405: "method-not-allowed"}
SENTENCE_OF_STATUS = {
    404: "There is nothing at this address.",
    405: "This address does not take this method; the header Allow names those it takes.",
}


def problem(status: int, code: str, sentence: str, facts: dict[str, object] | None = None) -> Response:
    """One problem document."""
    title = code.replace("-", " ").capitalize()
    body = {"type": "about:blank", "title": title, "status": status, "detail": sentence, "code": code}
    response = Response(json.dumps(body | (facts or {})), status, mimetype=MEDIA_TYPE)
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def register(app: Flask) -> None:
    """Translate every exception that a handler lets through."""
    app.register_error_handler(RefereeError, _referee_error)
    app.register_error_handler(MeterError, _meter_error)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _unexpected)


def _referee_error(error: RefereeError) -> Response:
    response = problem(STATUS_OF_CODE.get(error.code, 500), error.code, error.sentence, error.facts)
    if "retry_after_s" in error.facts:
        response.headers["Retry-After"] = str(error.facts["retry_after_s"])
    return response


def _meter_error(error: MeterError) -> Response:
    sentence = f"The meter is not ready, so the window has not opened: {error.sentence}"
    return problem(503, error.code, sentence)


def _http_error(error: HTTPException) -> Response:
    status = error.code or 500
    sentence = SENTENCE_OF_STATUS.get(status) or error.description or error.name
    answer = problem(status, CODE_OF_STATUS.get(status, "bad-request"), sentence)
    if error.get_response().headers.get("Allow"):
        answer.headers["Allow"] = error.get_response().headers["Allow"]
    return answer


def _unexpected(error: Exception) -> Response:
    logger.error("a request failed", exc_info=error)
    return problem(500, "internal", "The referee failed at this request; the operator's log says why.")
