"""Access to the operator's routes: by the operator key, or by a console session after a log-in."""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import replace
from urllib.parse import parse_qs, quote, urlencode

from flask import Blueprint, Response, redirect, request

from referee.auth import tokens
from referee.auth.operator_names import is_reserved
from referee.auth.tokens import OperatorSession
from referee.errors import RefereeError, SessionRefused
from referee.web.app_parts import part
from referee.web.callers import (
    OPERATOR_COOKIE,
    Callers,
    operator_cookie,
    operator_named,
    operator_of,
)
from referee.web.foreign_sites import refuse_foreign_site
from referee.web.operator.operators_desk import OperatorsDesk
from referee.web.problem_documents import answer_to, note_refusal
from referee.web.refused_requests import Refusals
from referee.web.request_bodies import LARGEST_DOCUMENT_BYTES, read_body
from referee.web.request_slots import OPERATOR_PATH
from referee.web.web_request import Operator, present_request

LIFETIME_S = 12 * 3600
LONGEST_NAME = 60
GENERATION_BYTES = 16
SAFE = ("GET", "HEAD", "OPTIONS")
# A browser would read "/\t/host" as another host.
OWN_PAGE = re.compile(r"/(operator|display)/[^\x00-\x1f]*")

blueprint = Blueprint("operator-access", __name__, url_prefix=OPERATOR_PATH)


def acting() -> Operator:
    """Return the operator who makes the current request. Raises SessionRefused `bad-token`."""
    operator = operator_of(part(Callers), present_request())
    if operator is None:
        raise SessionRefused(
            "bad-token",
            "This request needs the operator key, which is in the contest's file operator-key, as Authorization: "
            "Bearer KEY; or a log-in at /operator/.",
        )
    return operator


def who() -> dict[str, object]:
    """Return the operator and the client address of the current request, for the record.

    Raises SessionRefused `bad-token`.
    """
    return _record(acting())


def _record(operator: Operator) -> dict[str, object]:
    found: dict[str, object] = {
        "operator": operator.name,
        "address": request.remote_addr,
    }
    if operator.user:
        found["user"] = operator.user
    return found


def require_operator() -> None:
    """Refuse the request unless an operator makes it; a console request that changes something needs its CSRF token."""
    acting()
    authorization = request.headers.get("Authorization", "").lower()
    if request.method in SAFE or authorization.startswith("bearer "):
        return  # no page can make a browser send a bearer token
    given = request.headers.get("X-CSRF-Token", "")
    if not hmac.compare_digest(given.encode(), csrf_token().encode()):
        raise SessionRefused(
            "bad-token",
            "The header X-CSRF-Token does not belong to this session; load the page again.",
        )


def require_operator_or_log_in(*, is_page: bool) -> Response | None:
    """Refuse the request unless an operator makes it; for a page, return `led_to_log_in` instead."""
    elsewhere = led_to_log_in() if is_page else None
    if elsewhere is None:
        require_operator()
    return elsewhere


def led_to_log_in() -> Response | None:
    """Return a redirect to the log-in, which leads back to this page; None if an operator makes the request."""
    if operator_of(part(Callers), present_request()) is not None:
        return None
    return _redirect(f"{OPERATOR_PATH}/login?next={quote(request.path)}")


def csrf_token() -> str:
    """Return the X-CSRF-Token of the current session, which its pages must send."""
    secret = part(Callers).contest.secret
    return tokens.csrf_token(secret, operator_cookie(request.environ))


@blueprint.post("/login")
def log_in() -> Response:
    """Begin a session, by a registered name and its password, or by the operator key with any name or none.

    The browser is redirected to the page `next`, by default the console; after a refusal back to the log-in with
    `refused=<code>`.
    """
    callers = part(Callers)
    asked = present_request()
    contest = callers.contest
    body = read_body(asked, LARGEST_DOCUMENT_BYTES).decode("utf-8", "replace")
    fields = parse_qs(body, keep_blank_values=True, separator="&")
    name, password, wanted = (
        fields.get(key, [""])[0] for key in ("name", "password", "next")
    )
    if not OWN_PAGE.fullmatch(wanted):
        wanted = f"{OPERATOR_PATH}/"
    try:
        refuse_foreign_site()
        proved = _proved(name.strip(), password)
    except RefereeError as error:
        note_refusal(part(Refusals), asked, error, answer_to(error).status)
        back = urlencode({"refused": error.code, "next": wanted})
        return _redirect(f"{OPERATOR_PATH}/login?{back}")
    operator = operator_named(proved)
    now = callers.clock.utc()
    with contest.store.log.act(
        now, None, **_record(operator), action="log-in"
    ) as under_way:
        drawn = secrets.token_hex(GENERATION_BYTES)
        generation = contest.store.operators.begin_session(
            str(operator), drawn, under_way
        )
    session = replace(proved, generation=generation)
    response = _redirect(wanted)
    is_secure = request.is_secure or request.headers.get("X-Forwarded-Proto") == "https"
    cookie = tokens.issue_operator(contest.secret, session)
    response.set_cookie(
        OPERATOR_COOKIE,
        cookie,
        LIFETIME_S,
        httponly=True,
        samesite="Strict",
        secure=is_secure,
    )
    return response


@blueprint.post("/logout")
def log_out() -> Response:
    """End all sessions of this operator, and store that before answering, so that no copy of a cookie stays valid."""
    require_operator()
    store = part(Callers).contest.store
    now = part(Callers).clock.utc()
    with store.log.act(now, None, **who(), action="log-out") as under_way:
        store.operators.end_sessions(str(acting()), under_way)
    response = _redirect(f"{OPERATOR_PATH}/login")
    response.delete_cookie(OPERATOR_COOKIE, httponly=True, samesite="Strict")
    return response


def _proved(name: str, password: str) -> OperatorSession:
    """Return a session for these credentials, if they are right. Its generation is not set yet.

    Raises RefereeError `bad-request`, and the errors of `PasswordChecks.require`.
    """
    contest = part(Callers).contest
    clock = part(Callers).clock
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise RefereeError(
            "bad-request", f"A name has at most {LONGEST_NAME} printable characters."
        )
    present_request().log_in = f"operator {name}".strip()
    secret = contest.secret
    expires_s = clock.utc().timestamp() + LIFETIME_S
    key = contest.operator_key
    if hmac.compare_digest(password.strip().encode(), key.encode()):
        return OperatorSession(
            name, tokens.stamp(secret, key), "", expires_s, by_key=True
        )
    stored = (
        None
        if is_reserved(name)
        else contest.store.operators.password_hashes().get(name)
    )
    address = request.remote_addr or ""
    now_s = clock.monotonic_s()
    passwords = part(OperatorsDesk).passwords
    passwords.require(address, name, stored, password, now_s)
    return OperatorSession(name, tokens.stamp(secret, str(stored)), "", expires_s)


def _redirect(where: str) -> Response:
    return redirect(where, 303)  # type: ignore[return-value]  # of Flask's own class
