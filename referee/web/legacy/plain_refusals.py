"""Refusals in the form that the clients of 2015 to 2019 understand."""

from __future__ import annotations

from referee.errors import LengthMismatch, LoginRefused, RefereeError, SessionRefused
from referee.web.http_answers import NOT_TO_BE_KEPT, Answer
from referee.web.legacy.old_forms import (
    INVALID_LOGIN,
    INVALID_TOKEN,
    LENGTH_MISMATCH,
    NO_METER,
)
from referee.web.problem_documents import STATUS_OF_CODE, facts_of
from referee.web.request_slots import OLD_LOG_INS


def plain_refusal(path: str, error: RefereeError) -> Answer:
    """Return the answer of an old route: the original protocol's if it has one for this error, else the sentence."""
    status, text = _of_those_years(path, error) or (
        STATUS_OF_CODE.get(error.code, 500),
        f"{error.sentence}\n",
    )
    body = text.encode()
    facts = facts_of(error)
    headers = [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Length", str(len(body))),
        NOT_TO_BE_KEPT,
    ]
    if "retry_after_s" in facts:
        headers.append(("Retry-After", str(facts["retry_after_s"])))
    return Answer(status, headers, body)


def _of_those_years(path: str, error: RefereeError) -> tuple[int, str] | None:
    if path in OLD_LOG_INS:
        if isinstance(error, LoginRefused):
            return 401, INVALID_LOGIN
        return (
            (500, NO_METER) if error.code == "too-many-requests" else None
        )  # "not now; try again"
    if isinstance(error, SessionRefused):
        return 401, INVALID_TOKEN
    return (406, LENGTH_MISMATCH) if isinstance(error, LengthMismatch) else None
