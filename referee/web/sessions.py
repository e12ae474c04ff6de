"""Whose request it is, and how much of its window is left; asked of the WSGI environ, with Flask or without."""

from __future__ import annotations

from referee.auth.tokens import Session
from referee.contest import require_place
from referee.errors import RefereeError, SessionRefused
from referee.runs.open_run import LiveRun
from referee.runs.window import remaining_s
from referee.store.records import Run
from referee.web.answers import Environ
from referee.web.state import WebState

REMAINING = "X-Window-Remaining-Ms"
_LIVE = "referee.live"
_SESSION = "referee.session"


def session_of(state: WebState, environ: Environ) -> Session:
    """The session whose token the request bears; a token that was good when it came is good for all of the request.

    Raises RefereeError `token-missing`, `bad-token`, `token-expired`.
    """
    known: Session | None = environ.get(_SESSION)
    if known is None:
        authorization = environ.get("HTTP_AUTHORIZATION")
        known = environ[_SESSION] = state.tokens.session(authorization, state.clock.utc().timestamp())
    return known


def live_run_of(state: WebState, environ: Environ) -> LiveRun:
    """The open run of the request's session; the answer will tell how much of its window is left.

    Raises RefereeError `token-missing`, `bad-token`, `token-expired`, `window-closed`, `not-your-run`,
    `wrong-address`.
    """
    session = session_of(state, environ)
    live = state.control.live(session.run)
    require_own(state, environ, session, live.run)
    follow(environ, live)
    return live


def require_own(state: WebState, environ: Environ, session: Session, run: Run) -> None:
    """Raise RefereeError unless the run is that of the session's team, and the request from where its station takes it.

    `not-your-run`, `wrong-address`. The address is that of the connection: what a proxy in front of the referee claims
    in a header is not believed.
    """
    if run.team != session.team:
        raise SessionRefused(
            "not-your-run", f"Run {run.id} is not {session.team}'s; log in again.", run=run.id
        )
    for station in state.contest.config.stations:
        if station.clients and station.name == run.station:
            require_place(station, environ.get("REMOTE_ADDR"))


def follow(environ: Environ, live: LiveRun) -> None:
    """Let the answer to this request tell how much of the run's window is left."""
    environ[_LIVE] = live


def remaining_ms(state: WebState, environ: Environ) -> str | None:
    """What the answer says in X-Window-Remaining-Ms: a whole number, or None for a request outside any run."""
    live: LiveRun | None = environ.get(_LIVE)
    if live is None:
        if "HTTP_AUTHORIZATION" not in environ:
            return None
        try:
            live = live_run_of(state, environ)
        except RefereeError as error:
            return "0" if error.code == "window-closed" else None
    return str(int(remaining_s(live.window, state.clock.monotonic_s()) * 1000))
