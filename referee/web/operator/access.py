"""Who may use the operator's routes: the bearer of the operator's key, and the console's session after a log-in."""

from __future__ import annotations

import hmac
import re
from urllib.parse import parse_qs, unquote, urlencode

from flask import Blueprint, Response, redirect, request

from referee.auth import tokens
from referee.auth.tokens import OperatorSession
from referee.errors import RefereeError, SessionRefused
from referee.served import USER
from referee.web.bodies import LARGEST_DOCUMENT_BYTES, read_body
from referee.web.problems import answer_to, note_refusal
from referee.web.sessions import KEY, OPERATOR_COOKIE, TEAM, operator_cookie, operator_of
from referee.web.slots import OPERATOR_PATH
from referee.web.state import web_state

LIFETIME_S = 12 * 3600
LONGEST_NAME, LONGEST_USER = 60, 200
SAFE = ("GET", "HEAD", "OPTIONS")
OWN_PAGE = re.compile(r"/(operator|display)/[^\x00-\x1f]*")  # a browser would read "/\t/host" as another host

blueprint = Blueprint("operator-access", __name__, url_prefix=OPERATOR_PATH)


def acting() -> str:
    """The operator of the present request. Raises SessionRefused `bad-token`."""
    name = operator_of(web_state(), request.environ)
    if name is None:
        raise SessionRefused(
            "bad-token",
            "This needs the operator's key, which lies in the contest folder, or a log-in at /operator/.",
        )
    return name


def who() -> dict[str, object]:
    """For the record: the operator of the present request, and the client address.

    `user` is who uses the operator key, by that command's own word. Raises SessionRefused `bad-token`.
    """
    found: dict[str, object] = {"operator": acting(), "address": request.remote_addr}
    user = unquote(request.headers.get(USER, ""))[:LONGEST_USER]
    if user.isprintable() and user and found["operator"] == KEY:
        found["user"] = user
    return found


def require_operator() -> None:
    """Let only operators in; a console's request that changes something must bear its CSRF token."""
    acting()
    if request.method in SAFE or request.headers.get("Authorization", "").lower().startswith("bearer "):
        return  # no page can make a browser send a bearer
    if not hmac.compare_digest(request.headers.get("X-CSRF-Token", "").encode(), csrf_token().encode()):
        raise SessionRefused(
            "bad-token", "The header X-CSRF-Token is not that of this session; load the page again."
        )


def csrf_token() -> str:
    """What the pages of the present session send as X-CSRF-Token."""
    return tokens.csrf_token(web_state().contest.secret, operator_cookie(request.environ))


@blueprint.post("/login")
def log_in() -> Response:
    """Begin a session: by a registered name and its password, or by the operator key and any name, or none.

    The browser is sent to the page `next` or the console, or back to the log-in with `refused=<code>`.
    """
    state = web_state()
    body = read_body(request.environ, LARGEST_DOCUMENT_BYTES).decode("utf-8", "replace")
    fields = parse_qs(body, keep_blank_values=True, separator="&")
    name, password, wanted = (fields.get(key, [""])[0] for key in ("name", "password", "next"))
    if not OWN_PAGE.fullmatch(wanted):
        wanted = f"{OPERATOR_PATH}/"
    try:
        session = _session(name.strip(), password)
    except RefereeError as error:
        note_refusal(state, request.environ, error, answer_to(error).status)
        back = urlencode({"refused": error.code, "next": wanted})
        return _redirect(f"{OPERATOR_PATH}/login?{back}")
    response = _redirect(wanted)
    is_secure = request.is_secure or request.headers.get("X-Forwarded-Proto") == "https"
    cookie = tokens.issue_operator(state.contest.secret, session)
    response.set_cookie(
        OPERATOR_COOKIE, cookie, LIFETIME_S, httponly=True, samesite="Strict", secure=is_secure
    )
    by = {"by_key": True} if session.by_key else {}  # then the name is only what was typed
    named = {"operator": session.name, "address": request.remote_addr} | by
    state.contest.store.log_event(state.clock.utc(), None, "operator", **named, action="log-in")
    return response


@blueprint.post("/logout")
def log_out() -> Response:
    """End the session, also for who has a copy of its cookie."""
    require_operator()
    state, cookie = web_state(), operator_cookie(request.environ)
    state.ended_sessions.add(cookie)
    state.contest.store.log_event(state.clock.utc(), None, "operator", **who(), action="log-out")
    response = _redirect(f"{OPERATOR_PATH}/login")
    response.delete_cookie(OPERATOR_COOKIE, httponly=True, samesite="Strict")
    return response


def _session(name: str, password: str) -> OperatorSession:
    """Raises RefereeError `bad-request`, and what `PasswordChecks.require` raises."""
    state = web_state()
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise RefereeError("bad-request", f"A name has at most {LONGEST_NAME} printable characters.")
    request.environ[TEAM] = f"operator {name}".strip()
    secret, expires_s = state.contest.secret, state.clock.utc().timestamp() + LIFETIME_S
    if hmac.compare_digest(password.strip().encode(), state.contest.operator_key.encode()):
        return OperatorSession(
            name or KEY, tokens.stamp(secret, state.contest.operator_key), expires_s, by_key=True
        )
    stored, now_s = state.contest.store.operators().get(name), state.clock.monotonic_s()
    state.operator_passwords.require(request.remote_addr or "", name, stored, password, now_s)
    return OperatorSession(name, tokens.stamp(secret, str(stored)), expires_s)


def _redirect(where: str) -> Response:
    return redirect(where, 303)  # type: ignore[return-value]  # of Flask's own class
