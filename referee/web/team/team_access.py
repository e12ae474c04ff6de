"""Access to a team's own pages: a session after a log-in with the team's password, or HTTP Basic for programs.

A log-in here opens no run. A session ends with a log-out, after 12 hours, when the team's password is changed, or when
the team is disabled.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from urllib.parse import parse_qs, urlencode

from flask import Blueprint, Response, redirect, request
from werkzeug.http import parse_cookie

from referee.auth import tokens
from referee.auth.tokens import TeamSession
from referee.errors import LoginRefused, RefereeError, SessionRefused
from referee.store.team_table import SESSION_LIFETIME
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.foreign_sites import refuse_foreign_site
from referee.web.problem_documents import answer_to, note_refusal
from referee.web.refused_requests import Refusals
from referee.web.request_bodies import LARGEST_DOCUMENT_BYTES, read_body
from referee.web.team_login import require_password_anywhere
from referee.web.web_request import present_request

TEAM_PATH = "/team"
TEAM_COOKIE = "referee-team"
OF_ONE_TEAM = "private, no-cache"
"""The header Cache-Control of what only one team may see: no cache that others share keeps it."""
MARK_BYTES = 16
NEEDS_TEAM = (
    "This request needs a team: from a program, its name and password by HTTP Basic (curl --user TEAM); in a browser, "
    "the log-in at /team/login."
)

blueprint = Blueprint("team-access", __name__, url_prefix=TEAM_PATH)


def team_of_session() -> str | None:
    """Return the team whose session makes the request; None without a valid session."""
    callers = part(Callers)
    store = callers.contest.store
    session = _session()
    if session is None:
        return None
    stored = store.teams.password_hash(session.team)
    if stored is None:
        return None
    stamp = tokens.stamp(callers.contest.secret, stored)
    if not hmac.compare_digest(stamp, session.stamp):
        return None
    now = callers.clock.utc()
    if not store.teams.has_session(session.team, session.mark, now):
        return None
    present_request().log_in = session.team
    return session.team


def require_team() -> str:
    """Return the team whose session makes the request. Raises SessionRefused `bad-token`."""
    team = team_of_session()
    if team is None:
        raise SessionRefused(
            "bad-token", "This request needs a team's log-in at /team/login."
        )
    return team


def team_of_program() -> str:
    """Return the team of a request, by HTTP Basic or by its session.

    Raises SessionRefused `bad-token` without either, and the errors of `require_password_anywhere`.
    """
    given = request.authorization
    if given is None:
        team = team_of_session()
        if team is None:
            raise SessionRefused("bad-token", NEEDS_TEAM)
        return team
    if given.type != "basic":
        raise LoginRefused(
            "bad-credentials",
            "This address takes the team and its password by HTTP Basic; a token is not enough.",
        )
    team = given.username or ""
    require_password_anywhere(team, given.password or "")
    return team


def csrf_token() -> str:
    """Return the token of the current session, which its pages must send with each change."""
    return tokens.csrf_token(part(Callers).contest.secret, _cookie())


def require_csrf(given: str) -> None:
    """Raise SessionRefused `bad-token` unless `given` is the CSRF token of the current session."""
    if not hmac.compare_digest(given.encode(), csrf_token().encode()):
        raise SessionRefused(
            "bad-token",
            "The CSRF token does not belong to this session; load the page again.",
        )


def read_form() -> Mapping[str, str]:
    """Return the first value of each field of the form in the body. Raises the errors of `read_body`."""
    body = read_body(present_request(), LARGEST_DOCUMENT_BYTES)
    text = body.decode("utf-8", "replace")
    fields = parse_qs(text, keep_blank_values=True, separator="&")
    return {name: values[0] for name, values in fields.items()}


@blueprint.post("/login")
def log_in() -> Response:
    """Begin a session by the team's password, and lead to the team's page; after a refusal back to the log-in."""
    fields = read_form()
    if not {"team", "password"} <= fields.keys():
        sentence = "The log-in is a form with the fields team and password."
        raise RefereeError("bad-request", sentence)
    team = fields["team"].strip()
    try:
        refuse_foreign_site()
        require_password_anywhere(team, fields["password"])
        cookie = _begin(team)
    except RefereeError as error:
        status = answer_to(error).status
        note_refusal(part(Refusals), present_request(), error, status)
        return _redirect(f"{TEAM_PATH}/login?{urlencode({'refused': error.code})}")
    response = _redirect(f"{TEAM_PATH}/")
    is_secure = request.is_secure or request.headers.get("X-Forwarded-Proto") == "https"
    response.set_cookie(
        TEAM_COOKIE,
        cookie,
        int(SESSION_LIFETIME.total_seconds()),
        httponly=True,
        samesite="Strict",
        secure=is_secure,
    )
    return response


@blueprint.post("/logout")
def log_out() -> Response:
    """End this session, and store that before answering, so that no copy of its cookie stays valid."""
    require_team()
    given = request.headers.get("X-CSRF-Token")
    require_csrf(read_form().get("csrf", "") if given is None else given)
    session = _session()
    if session is not None:
        part(Callers).contest.store.teams.end_session(session.mark)
    response = _redirect(f"{TEAM_PATH}/login")
    response.delete_cookie(TEAM_COOKIE, httponly=True, samesite="Strict")
    return response


def _begin(team: str) -> str:
    """Store a new session of a team whose password was right, and return its cookie."""
    callers = part(Callers)
    contest = callers.contest
    stored = contest.store.teams.password_hash(team)
    if stored is None:  # it was disabled a moment ago
        raise LoginRefused("bad-credentials", "Team or password is wrong.")
    mark = secrets.token_hex(MARK_BYTES)
    expires = callers.clock.utc() + SESSION_LIFETIME
    contest.store.teams.begin_session(team, mark, expires)
    stamp = tokens.stamp(contest.secret, stored)
    return tokens.issue_team(contest.secret, TeamSession(team, stamp, mark))


def _session() -> TeamSession | None:
    """Return what the cookie claims; whether the session is still valid is not checked here."""
    cookie = _cookie()
    if not cookie:
        return None
    return tokens.read_team(part(Callers).contest.secret, cookie)


def _cookie() -> str:
    return parse_cookie(request.headers.get("Cookie", "")).get(TEAM_COOKIE, "")


def _redirect(where: str) -> Response:
    return redirect(where, 303)  # type: ignore[return-value]  # of Flask's own class
