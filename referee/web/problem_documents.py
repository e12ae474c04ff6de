"""The web's error boundary: every failure becomes one `application/problem+json` (RFC 9457) with a stable code.

A person at a browser gets it as a page (`referee.web.error_pages`).

The sentence of a failure is written where it is raised (`referee.errors`); this module maps its code to a status.
"""

from __future__ import annotations

import json
import logging

from flask import Flask, Response, current_app, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound

from lpirc_power.errors import MeterError
from lpirc_testsets import TestSetError
from referee.errors import NotStarted, RefereeError, ShuttingDown, StorageFailed
from referee.web.app_parts import part
from referee.web.error_pages import for_reader
from referee.web.http_answers import NOT_TO_BE_KEPT, Answer, through_flask
from referee.web.near_addresses import near_address, near_call
from referee.web.page_sentences import refusal_in_page_words
from referee.web.refused_requests import Refusals
from referee.web.request_slots import OPERATOR_PATH
from referee.web.web_request import WebRequest, present_request

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
CODES_OF_STATUS = {
    400: "bad-json bad-request body-cut-off station-missing",
    401: "bad-credentials token-missing bad-token token-expired",
    403: "not-your-run wrong-address team-disabled second-person",
    404: "heat-unknown announcement-unknown question-unknown replay-unknown image-unknown run-unknown station-unknown "
    "site-missing team-unknown team-not-queued track-unknown entry-unknown upload-unknown not-found",
    405: "method-not-allowed",
    409: "site-failed settings-changed setup-taken team-exists operator-exists "
    "lease-lost wrong-version not-armed attempts-used not-started heat-started heat-alone "
    "heat-uneven heat-made heat-not-made team-absent station-busy team-busy team-queued window-closed display-failed "
    "run-state station-needed not-written not-sure board-state key-reused answered-already other-task "
    "track-closed entry-repeated entry-withdrawn "
    "submission-limit judged-again queue-changed decided-already none-decided not-confirmed not-published "
    "nothing-to-publish team-named "
    "not-replaceable upload-mismatch offset-mismatch upload-busy",
    408: "body-too-slow",
    411: "length-missing",
    412: "tus-version",
    413: "too-large",
    415: "unsupported-media-type",
    422: "bad-timeline not-measured bad-rows bad-answers length-mismatch bad-detections unreadable-file model-refused",
    429: "too-many-failures too-many-requests too-many-uploads too-many-questions",
    500: "bad-task",
    501: "method-unknown",
    503: "check-failed journal-stalled shutting-down stands-by storage-failed superseded testset-changed not-ready "
    "task-failed",
    507: "no-room",
}
STATUS_OF_CODE = {
    code: status for status, codes in CODES_OF_STATUS.items() for code in codes.split()
}
OPERATORS = frozenset(
    {
        "bad-config",
        "bad-task",
        "bad-track",
        "model-missing",
        "not-accessible",
        "not-confined",
        "testset-empty",
        "testset-unfit",
    }
)
"""Codes of faults that only the operator can fix."""
OPERATORS_PAGES = (
    f"The console is at {OPERATOR_PATH}/, the settings are at {OPERATOR_PATH}/settings/, and the command referee does "
    "what both do."
)
RETRY_AFTER_S = 5
LONGEST_SHOWN = 100
SAID_BY_THEMSELVES = {"HEAD", "OPTIONS"}
"""Methods that no sentence names: every address has them."""
CODE_OF_STATUS = {
    404: "not-found",
    405: "method-not-allowed",
    413: "too-large",
    415: "unsupported-media-type",
    500: "internal",
}
SENTENCE_OF_STATUS = {
    500: "This request caused an error in the referee; the operator's log has the reason.",
}


def problem(
    status: int, code: str, sentence: str, facts: dict[str, object] | None = None
) -> Answer:
    """Return one problem document."""
    title = code.replace("-", " ").capitalize()
    content = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": sentence,
        "code": code,
    }
    body = json.dumps(content | (facts or {})).encode()
    headers = [
        ("Content-Type", MEDIA_TYPE),
        ("Content-Length", str(len(body))),
        NOT_TO_BE_KEPT,
    ]
    if status == 401:
        headers.append(("WWW-Authenticate", "Bearer"))
    if facts and "retry_after_s" in facts:
        headers.append(("Retry-After", str(facts["retry_after_s"])))
    return Answer(status, headers, body)


def answer_to(error: Exception) -> Answer:
    """Return the answer to a client about a failure; an unexpected failure is logged."""
    if isinstance(error, RefereeError):
        return _referee_error(error)
    if isinstance(error, MeterError):
        return meter_problem(error, "the window has not opened")
    if isinstance(error, HTTPException):
        return _http_error(error)
    logger.error("a request failed", exc_info=error)
    return problem(500, CODE_OF_STATUS[500], SENTENCE_OF_STATUS[500])


def note_refusal(
    refusals: Refusals, asked: WebRequest, error: BaseException, status: int
) -> None:
    """Count a refused request, unless an operator made it, a team waits for its heat, or the path is wrong."""
    if isinstance(error, NotStarted | HTTPException) or asked.operator is not None:
        return
    team: str | None = asked.log_in
    run: int | None = None
    if asked.live is not None:
        team = asked.live.run.team
        run = asked.live.run.id
    elif asked.session is not None:
        team = asked.session.team
        run = asked.session.run

    code = CODE_OF_STATUS.get(status, "bad-request")
    sentence = str(error).strip()
    if isinstance(error, RefereeError | MeterError):
        code = error.code
        sentence = error.sentence
    elif status == 500:
        sentence = SENTENCE_OF_STATUS[500]
    address = asked.environ.get("REMOTE_ADDR", "")
    refusals.note(status, code, sentence, team, run, address)


def meter_problem(error: MeterError, outcome: str) -> Answer:
    """Return the answer when a meter does not respond; `outcome` says what did not happen because of it."""
    sentence = f"The meter is not ready, so {outcome}: {error.sentence}"
    return problem(503, error.code, sentence, {"retry_after_s": RETRY_AFTER_S})


def facts_of(error: RefereeError) -> dict[str, object]:
    """Return the error's facts, with `retry_after_s` (the header `Retry-After`) if the client should simply retry."""
    retry = (
        {"retry_after_s": RETRY_AFTER_S}
        if isinstance(error, StorageFailed | ShuttingDown)
        else {}
    )
    return retry | error.facts


def register(app: Flask) -> None:
    """Make the app turn every exception that a handler does not catch into a problem document."""
    app.register_error_handler(Exception, _through_flask)


def _through_flask(error: Exception) -> Response:
    asked = present_request()
    if isinstance(error, TestSetError) or getattr(error, "code", "") in OPERATORS:
        logger.error("%s: %s", request.path, error)
        if asked.operator is None:  # the sentence may name files
            error = RefereeError(
                "not-ready",
                "The organiser must correct this; the referee's log has the reason.",
            )
    answer = answer_to(error)
    if isinstance(error, RefereeError) and _is_of_console(asked):
        said = refusal_in_page_words(error)
        answer = problem(answer.status, error.code, said, facts_of(error))
    note_refusal(part(Refusals), asked, error, answer.status)
    return through_flask(for_reader(request.environ, answer))


def _is_of_console(asked: WebRequest) -> bool:
    """Return True if an operator's page made the request; the commands of a shell send the operator key."""
    return asked.operator is not None and "Authorization" not in request.headers


def _referee_error(error: RefereeError) -> Answer:
    return problem(
        STATUS_OF_CODE.get(error.code, 500), error.code, error.sentence, facts_of(error)
    )


def _http_error(error: HTTPException) -> Answer:
    status = error.code or 500
    if isinstance(error, NotFound):
        sentence = _nothing_there()
    elif isinstance(error, MethodNotAllowed):
        sentence = _other_methods(error)
    else:
        sentence = SENTENCE_OF_STATUS.get(status) or error.description or error.name
    answer = problem(status, CODE_OF_STATUS.get(status, "bad-request"), sentence)
    allowed = error.get_response().headers.get("Allow")
    if allowed:
        answer.headers.append(("Allow", allowed))
    return answer


def _nothing_there() -> str:
    """Return the sentence for the address of the present request, with the one that is meant perhaps."""
    if request.path.startswith(f"{OPERATOR_PATH}/"):
        return f"There is nothing at {_shown(request.path)}. {OPERATORS_PAGES}"
    rules = [str(rule) for rule in current_app.url_map.iter_rules()]
    near = near_address(request.path, rules)
    perhaps = "" if near is None else f" Did you mean {_call(near)}?"
    where = _shown(request.path)
    return (
        f"There is nothing at {where}.{perhaps} The page /docs/http has the addresses for contestants' programs, "
        "and GET /help those of the original protocol."
    )


def _call(near: str) -> str:
    """Return a near address, with its method where the one of the present request is another."""
    adapter = current_app.create_url_adapter(request)
    methods: set[str] = set()
    if adapter is not None:
        methods.update(adapter.allowed_methods(near.partition("?")[0]))
    shown = methods - SAID_BY_THEMSELVES
    method = "GET" if request.method == "HEAD" else request.method
    return near_call(request.path, method, near, shown)


def _other_methods(error: MethodNotAllowed) -> str:
    """Return the sentence for the method of the present request, with the methods that its address accepts."""
    accepted = sorted(set(error.valid_methods or ()) - SAID_BY_THEMSELVES)
    if not accepted:
        return f"{_shown(request.path)} does not accept the method {request.method}."
    words = " and ".join(accepted)
    return f"{_shown(request.path)} does not accept the method {request.method}, but {words}."


def _shown(path: str) -> str:
    """Return an address for a sentence: short, and on one line."""
    letters = list(path[: LONGEST_SHOWN + 1])
    for place, letter in enumerate(letters):
        if not letter.isprintable():
            letters[place] = "?"
    printable = "".join(letters)
    if len(printable) <= LONGEST_SHOWN:
        return printable
    return f"{printable[:LONGEST_SHOWN]}..."
