"""Whose request it is, resolved once for each request, and how much of its window is left."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from urllib.parse import unquote

from werkzeug.http import parse_cookie

from referee.auth import tokens
from referee.auth.operator_names import KEY, doer
from referee.auth.tokens import OperatorSession, Session
from referee.contest import require_place
from referee.errors import SessionRefused, Superseded, WindowClosed
from referee.runs.open_run import OpenRun
from referee.runs.run_window import remaining_s
from referee.served import USER
from referee.store.records import Run
from referee.web.http_answers import Environ
from referee.web.state import WebState

REMAINING = "X-Window-Remaining-Ms"
OPEN_RUN = "referee.open-run"
"""Where the environ of a request keeps its open run."""
SESSION = "referee.session"
"""Where it keeps the session of its token."""
TEAM = "referee.team"
"""Where it keeps the name of who tries to log in."""
OPERATOR, OPERATOR_COOKIE = "referee.operator", "referee-operator"
LONGEST_USER = 200
_USER = f"HTTP_{USER.upper().replace('-', '_')}"
NO_MORE = "The token is of a run that is no more; log in again."


@dataclass(frozen=True)
class Operator:
    """Who operates. `name` is what was proved: a registered name by its password, or KEY for the operator key.

    `user` is who the holder of the key said to be, which proves nothing. As text: `key as` that name.
    """

    name: str
    user: str | None = None

    def __str__(self) -> str:
        return doer(self.name, self.user)


def session_of(state: WebState, environ: Environ, token: str | None = None) -> Session:
    """The session whose token the request bears, in its header `Authorization` or as `token`.

    Raises RefereeError `token-missing`, `bad-token`, `token-expired`; Superseded for a token of a later epoch.
    """
    if token is None:
        scheme, _, token = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            sentence = "The request bears no token; send Authorization: Bearer <token>."
            raise SessionRefused("token-missing", sentence)
    session = environ[SESSION] = tokens.read(state.contest.secret, token)
    if session.epoch > state.contest.epoch:
        raise Superseded(
            "The token is of a host that has taken over this contest; nothing is taken here: ask that host.",
            epoch=state.contest.epoch,
            newest_epoch=session.epoch,
        )
    if state.clock.utc().timestamp() >= session.expires_s and not _is_of_open_run(
        state, session
    ):
        raise SessionRefused("token-expired", "The token has expired; log in again.")
    return session


def _is_of_open_run(state: WebState, session: Session) -> bool:
    """Whether the session's run is open: that ends by the monotonic clock, whatever becomes of the wall clock."""
    live = state.control.live_runs().get(session.run)
    return live is not None and live.run.nonce == session.nonce


def operator_of(state: WebState, environ: Environ) -> Operator | None:
    """Who operates: the bearer of the operator's key, or who has a console's session; None for others."""
    if OPERATOR not in environ:
        environ[OPERATOR] = _operator(state, environ)
    operator: Operator | None = environ[OPERATOR]
    return operator


def operator_named(session: OperatorSession) -> Operator:
    """Who has this session."""
    return (
        Operator(KEY, session.name or None)
        if session.by_key
        else Operator(session.name)
    )


def _operator(state: WebState, environ: Environ) -> Operator | None:
    scheme, _, key = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() == "bearer":
        is_right = hmac.compare_digest(
            key.strip().encode(), state.contest.operator_key.encode()
        )
        return Operator(KEY, _stated_user(environ)) if is_right else None
    cookie = operator_cookie(environ)
    session = cookie and tokens.read_operator(state.contest.secret, cookie)
    if not session or state.clock.utc().timestamp() >= session.expires_s:
        return None
    operator, store = operator_named(session), state.contest.store
    if session.generation != store.operators.session_generation(str(operator)):
        return None
    by = (
        state.contest.operator_key
        if session.by_key
        else store.operators.password_hashes().get(session.name)
    )
    stamp = by and tokens.stamp(state.contest.secret, by)
    return operator if stamp and hmac.compare_digest(stamp, session.stamp) else None


def _stated_user(environ: Environ) -> str | None:
    """Who uses the operator key, by a command's own word."""
    user = unquote(environ.get(_USER, ""))[:LONGEST_USER]
    return user if user.isprintable() and user else None


def operator_cookie(environ: Environ) -> str:
    """The cookie of a console's session; blank without one."""
    return parse_cookie(environ.get("HTTP_COOKIE", "")).get(OPERATOR_COOKIE, "")


def open_run_of(
    state: WebState, environ: Environ, session: Session | None = None
) -> OpenRun:
    """The open run of the request's session, resolved once; the answer will say how much of its window is left.

    Raises what `session_of` raises unless `session` is given; RefereeError `window-closed`; what `require_own` raises.
    """
    known: OpenRun | None = environ.get(OPEN_RUN)
    if known is not None:
        return known
    session = session or session_of(state, environ)
    try:
        live = state.control.live(session.run)
    except SessionRefused:
        stored_run_of(state, session)  # or `bad-token`
        raise
    require_own(state, environ, session, live.run)
    environ[OPEN_RUN] = live
    return live


def stored_run_of(state: WebState, session: Session) -> Run:
    """The run of a session, as stored. Raises RefereeError `bad-token` where a restore took it back."""
    try:
        return state.contest.store.runs.get(session.run)
    except SessionRefused as error:
        raise SessionRefused("bad-token", NO_MORE) from error


def require_own(state: WebState, environ: Environ, session: Session, run: Run) -> None:
    """Raise RefereeError unless the session and the client address are those of the run.

    `bad-token` is one of a run that a restore took back, whose number this run has; `not-your-run`, `wrong-address`.
    """
    if run.nonce != session.nonce:
        raise SessionRefused("bad-token", NO_MORE)
    if run.team != session.team:
        raise SessionRefused(
            "not-your-run",
            f"Run {run.id} is not {session.team}'s; log in again.",
            run=run.id,
        )
    for station in state.contest.config.stations:
        if station.clients and station.name == run.station:
            require_place(station, environ.get("REMOTE_ADDR"))


def remaining_ms(state: WebState, environ: Environ) -> str | None:
    """What the answer says in X-Window-Remaining-Ms: a whole number, or None for a request outside any run."""
    live: OpenRun | None = environ.get(OPEN_RUN)
    if live is None:
        if "HTTP_AUTHORIZATION" not in environ:
            return None
        try:
            live = open_run_of(state, environ)
        except WindowClosed:
            return "0"
        except Exception:  # noqa: BLE001 - the answer itself is made already, and says what is wrong
            return None
    return str(int(remaining_s(live.window, state.clock.monotonic_s()) * 1000))
