"""Whose request it is, resolved once for each request, and how much of its window is left."""

from __future__ import annotations

import hmac

from referee.auth import tokens
from referee.auth.tokens import Session
from referee.contest import require_place
from referee.errors import RefereeError, SessionRefused, WindowClosed
from referee.runs.open_run import LiveRun
from referee.runs.window import remaining_s
from referee.store.records import Run
from referee.web.answers import Environ
from referee.web.state import WebState

REMAINING = "X-Window-Remaining-Ms"
_LIVE = "referee.open-run"
_SESSION = "referee.session"


def session_of(state: WebState, environ: Environ) -> Session:
    """The session whose token the request bears; a token that was good when it came is good for all of the request.

    Raises RefereeError `token-missing`, `bad-token`, `token-expired`.
    """
    known: Session | None = environ.get(_SESSION)
    if known is None:
        token = bearer(environ)
        if not token:
            sentence = "The request bears no token; send Authorization: Bearer <token>."
            raise SessionRefused("token-missing", sentence)
        now_s = state.clock.utc().timestamp()
        known = environ[_SESSION] = tokens.read(state.contest.secret, token, now_s)
    return known


def bearer(environ: Environ) -> str:
    """The credential of the header `Authorization: Bearer`; empty without one."""
    scheme, _, credential = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    return str(credential.strip()) if scheme.lower() == "bearer" else ""


def is_operator(state: WebState, environ: Environ) -> bool:
    """Whether the request bears the operator's key."""
    return hmac.compare_digest(bearer(environ).encode(), state.contest.operator_key.encode())


def live_run_of(state: WebState, environ: Environ) -> LiveRun:
    """The open run of the request's session; the answer will say how much of its window is left.

    Raises RefereeError `token-missing`, `bad-token`, `token-expired`, `window-closed`, `not-your-run`,
    `wrong-address`.
    """
    known: LiveRun | None = environ.get(_LIVE)
    if known is not None:
        return known
    return live_run_for(state, environ, session_of(state, environ))


def live_run_for(state: WebState, environ: Environ, session: Session) -> LiveRun:
    """The open run of this session, as `live_run_of`; for clients that send their token elsewhere."""
    live = state.control.live(session.run)
    require_own(state, environ, session, live.run)
    follow(environ, live)
    return live


def require_own(state: WebState, environ: Environ, session: Session, run: Run) -> None:
    """Raise RefereeError `not-your-run`, `wrong-address` unless team and client address are those of the run."""
    if run.team != session.team:
        raise SessionRefused(
            "not-your-run", f"Run {run.id} is not {session.team}'s; log in again.", run=run.id
        )
    for station in state.contest.config.stations:
        if station.clients and station.name == run.station:
            require_place(station, environ.get("REMOTE_ADDR"))


def follow(environ: Environ, live: LiveRun) -> None:
    """Let the answer to this request say how much of the run's window is left."""
    environ[_LIVE] = live


def remaining_ms(state: WebState, environ: Environ) -> str | None:
    """What the answer says in X-Window-Remaining-Ms: a whole number, or None for a request outside any run."""
    try:
        live = environ.get(_LIVE) or (
            live_run_of(state, environ) if "HTTP_AUTHORIZATION" in environ else None
        )
    except WindowClosed:
        return "0"
    except RefereeError:
        return None
    if live is None:
        return None
    return str(int(remaining_s(live.window, state.clock.monotonic_s()) * 1000))
