"""Who is asking: passwords at log-in, bearer tokens after it."""

from __future__ import annotations

from datetime import datetime

from flask import request

from referee import tokens
from referee.errors import RefereeError
from referee.passwords import hash_password, matches
from referee.records import Run
from referee.tokens import Session
from referee.web.state import WebState, web_state

# Checked when the team is unknown, so that the time taken does not tell which teams exist.
_NOBODYS_HASH = hash_password("nobody's")


def require_password(team: str, password: str) -> None:
    """Raise RefereeError `bad-credentials` or `too-many-failures` unless `password` is the team's."""
    state = web_state()
    address, now_s = request.remote_addr or "", state.clock.monotonic_s()
    state.failures.check(address, team, now_s)
    known = state.contest.store.password_hash(team)
    if not matches(known or _NOBODYS_HASH, password) or known is None:
        state.failures.count(address, team, now_s)
        raise RefereeError("bad-credentials", "Team or password is wrong.")


def issue_token(state: WebState, run: Run) -> str:
    """A token for the session of an open run; the same for as long as the run is open."""
    opened = datetime.fromisoformat(run.opened_utc or run.armed_utc)
    expires_s = opened.timestamp() + tokens.LIFETIME_S
    return tokens.issue(state.contest.secret, Session(run.id, run.team, expires_s))


def current_session() -> Session:
    """The session whose token the request bears.

    Raises RefereeError `token-missing`, `bad-token`, `token-expired`.
    """
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise RefereeError("token-missing", "The request bears no token; send Authorization: Bearer <token>.")
    state = web_state()
    return tokens.read(state.contest.secret, token.strip(), state.clock.utc().timestamp())
