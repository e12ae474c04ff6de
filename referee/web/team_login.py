"""Log-in: a team's password, checked against guessing, and the token it gets."""

from __future__ import annotations

from datetime import datetime

from flask import request

from referee.auth import tokens
from referee.auth.client_addresses import admits, require_admitted
from referee.auth.tokens import Session
from referee.store.records import Run
from referee.web.callers import TEAM
from referee.web.state import WebState, web_state


def require_password(team: str, password: str) -> None:
    """Raise RefereeError `bad-credentials` unless `password` is the team's; `wrong-address` if no station takes it.

    Also what `PasswordChecks.require` raises when there are too many guesses.
    """
    state, address = web_state(), request.remote_addr or ""
    request.environ[TEAM] = team
    stations = state.contest.config.stations
    if not any(
        admits(one.clients, address) for one in stations
    ):  # it must not keep those waiting that may log in
        require_admitted(stations[0], address)
    stored, now_s = state.contest.store.password_hash(team), state.clock.monotonic_s()
    state.passwords.require(address, team, stored, password, now_s)


def issue_token(state: WebState, run: Run) -> str:
    """A token for the session of an open run; the same for as long as the run is open."""
    opened = datetime.fromisoformat(run.opened_utc or run.armed_utc)
    expires_s, now_s = (
        opened.timestamp() + tokens.LIFETIME_S,
        state.clock.utc().timestamp(),
    )
    if (
        now_s >= expires_s
    ):  # the wall clock was set forward: the run, on the monotonic clock, goes on
        expires_s = now_s + tokens.LIFETIME_S
    session = Session(run.id, run.team, expires_s, run.nonce, state.contest.epoch)
    return tokens.issue(state.contest.secret, session, state.contest.id)
