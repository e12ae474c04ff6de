"""Who may use the operator's routes: the bearer of the operator's key, and the console's session after a log-in."""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import replace
from urllib.parse import parse_qs, urlencode

from flask import Blueprint, Response, redirect, request

from referee.auth import tokens
from referee.auth.operator_names import is_reserved
from referee.auth.tokens import OperatorSession
from referee.errors import RefereeError, SessionRefused
from referee.web.callers import (
    OPERATOR_COOKIE,
    TEAM,
    Operator,
    operator_cookie,
    operator_named,
    operator_of,
)
from referee.web.problem_documents import answer_to, note_refusal
from referee.web.request_bodies import LARGEST_DOCUMENT_BYTES, read_body
from referee.web.request_slots import OPERATOR_PATH
from referee.web.state import web_state

LIFETIME_S = 12 * 3600
LONGEST_NAME = 60
GENERATION_BYTES = 16
SAFE = ("GET", "HEAD", "OPTIONS")
OWN_PAGE = re.compile(
    r"/(operator|display)/[^\x00-\x1f]*"
)  # a browser would read "/\t/host" as another host

blueprint = Blueprint("operator-access", __name__, url_prefix=OPERATOR_PATH)


def acting() -> Operator:
    """The operator of the present request. Raises SessionRefused `bad-token`."""
    operator = operator_of(web_state(), request.environ)
    if operator is None:
        raise SessionRefused(
            "bad-token",
            "This needs the operator's key, which lies in the contest folder, or a log-in at /operator/.",
        )
    return operator


def who() -> dict[str, object]:
    """For the record: the operator of the present request, and the client address.

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
    """Let only operators in; a console's request that changes something must bear its CSRF token."""
    acting()
    if request.method in SAFE or request.headers.get(
        "Authorization", ""
    ).lower().startswith("bearer "):
        return  # no page can make a browser send a bearer
    if not hmac.compare_digest(
        request.headers.get("X-CSRF-Token", "").encode(), csrf_token().encode()
    ):
        raise SessionRefused(
            "bad-token",
            "The header X-CSRF-Token is not that of this session; load the page again.",
        )


def csrf_token() -> str:
    """What the pages of the present session send as X-CSRF-Token."""
    return tokens.csrf_token(
        web_state().contest.secret, operator_cookie(request.environ)
    )


@blueprint.post("/login")
def log_in() -> Response:
    """Begin a session: by a registered name and its password, or by the operator key and any name, or none.

    The browser is sent to the page `next` or the console, or back to the log-in with `refused=<code>`.
    """
    state = web_state()
    body = read_body(request.environ, LARGEST_DOCUMENT_BYTES).decode("utf-8", "replace")
    fields = parse_qs(body, keep_blank_values=True, separator="&")
    name, password, wanted = (
        fields.get(key, [""])[0] for key in ("name", "password", "next")
    )
    if not OWN_PAGE.fullmatch(wanted):
        wanted = f"{OPERATOR_PATH}/"
    try:
        proved = _proved(name.strip(), password)
    except RefereeError as error:
        note_refusal(state, request.environ, error, answer_to(error).status)
        back = urlencode({"refused": error.code, "next": wanted})
        return _redirect(f"{OPERATOR_PATH}/login?{back}")
    operator = operator_named(proved)
    with state.contest.store.log.act(
        state.clock.utc(), None, **_record(operator), action="log-in"
    ) as under_way:
        drawn = secrets.token_hex(GENERATION_BYTES)
        generation = state.contest.store.operators.begin_session(
            str(operator), drawn, under_way
        )
    session = replace(proved, generation=generation)
    response = _redirect(wanted)
    is_secure = request.is_secure or request.headers.get("X-Forwarded-Proto") == "https"
    cookie = tokens.issue_operator(state.contest.secret, session)
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
    """End all sessions of this operator, on disk before it is answered: no copy of a cookie outlives it."""
    require_operator()
    state = web_state()
    with state.contest.store.log.act(
        state.clock.utc(), None, **who(), action="log-out"
    ) as under_way:
        state.contest.store.operators.end_sessions(str(acting()), under_way)
    response = _redirect(f"{OPERATOR_PATH}/login")
    response.delete_cookie(OPERATOR_COOKIE, httponly=True, samesite="Strict")
    return response


def _proved(name: str, password: str) -> OperatorSession:
    """What the session will say, but for its generation.

    Raises RefereeError `bad-request`, and what `PasswordChecks.require` raises.
    """
    state = web_state()
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise RefereeError(
            "bad-request", f"A name has at most {LONGEST_NAME} printable characters."
        )
    request.environ[TEAM] = f"operator {name}".strip()
    secret, expires_s = state.contest.secret, state.clock.utc().timestamp() + LIFETIME_S
    key = state.contest.operator_key
    if hmac.compare_digest(password.strip().encode(), key.encode()):
        return OperatorSession(
            name, tokens.stamp(secret, key), "", expires_s, by_key=True
        )
    stored = (
        None
        if is_reserved(name)
        else state.contest.store.operators.password_hashes().get(name)
    )
    now_s = state.clock.monotonic_s()
    state.operator_passwords.require(
        request.remote_addr or "", name, stored, password, now_s
    )
    return OperatorSession(name, tokens.stamp(secret, str(stored)), "", expires_s)


def _redirect(where: str) -> Response:
    return redirect(where, 303)  # type: ignore[return-value]  # of Flask's own class
