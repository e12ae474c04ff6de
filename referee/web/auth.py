"""Who is asking: passwords at log-in, bearer tokens after it."""

from __future__ import annotations

from datetime import datetime
from functools import cache

from flask import request

from referee.auth import tokens
from referee.auth.passwords import hash_password, matches
from referee.auth.tokens import Session
from referee.errors import LoginRefused
from referee.store.records import Run
from referee.web.sessions import session_of
from referee.web.state import WebState, web_state
from referee.web.transfers import Kind


@cache
def nobodys_hash() -> str:
    """Checked when the team is unknown, so that the time taken does not tell which teams exist.

    The app asks for it once when it is made: the first guess must not take twice as long.
    """
    return hash_password("nobody's")


def require_password(team: str, password: str) -> None:
    """Raise RefereeError `bad-credentials` unless `password` is the team's; `too-many-failures`, `too-many-logins`."""
    state = web_state()
    address, now_s = request.remote_addr or "", state.clock.monotonic_s()
    state.failures.check(address, team, now_s)
    known = state.contest.store.password_hash(team)
    if known is not None and state.passwords.knows(team, known, password, now_s):
        state.transfers.remember(team, address)
        return
    with state.transfers.counted(Kind.LOGIN, address, address, now_s), state.failures.hashing:
        # Again, when it is this request's turn: of many sent at once, those behind the limit cost nothing.
        state.failures.check(address, team, now_s)
        _require_match(team, password, known, address, now_s)


def _require_match(team: str, password: str, known: str | None, address: str, now_s: float) -> None:
    state = web_state()
    if not matches(known or nobodys_hash(), password) or known is None:
        state.failures.count(address, team, now_s)
        raise LoginRefused("bad-credentials", "Team or password is wrong.")
    state.passwords.remember(team, known, password, now_s)
    state.transfers.remember(team, address)


def issue_token(state: WebState, run: Run) -> str:
    """A token for the session of an open run; the same for as long as the run is open."""
    opened = datetime.fromisoformat(run.opened_utc or run.armed_utc)
    expires_s, now_s = opened.timestamp() + tokens.LIFETIME_S, state.clock.utc().timestamp()
    if now_s >= expires_s:  # the wall clock was set forward: the run, on the monotonic clock, goes on
        expires_s = now_s + tokens.LIFETIME_S
    return tokens.issue(state.contest.secret, Session(run.id, run.team, expires_s))


def current_session() -> Session:
    """The session whose token the present request of Flask's bears.

    Raises RefereeError `token-missing`, `bad-token`, `token-expired`.
    """
    return session_of(web_state(), request.environ)
