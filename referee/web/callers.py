"""The caller of a request, resolved once per request, and the time left of its window."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from werkzeug.http import parse_cookie

from referee.auth import tokens
from referee.auth.client_addresses import require_admitted
from referee.auth.operator_names import KEY
from referee.auth.tokens import OperatorSession, Session
from referee.clock import Clock
from referee.errors import SessionRefused, Superseded, WindowClosed
from referee.runs.run_window import remaining_s, window_closed
from referee.served import USER
from referee.web.http_answers import Environ
from referee.web.web_request import Operator, WebRequest

if TYPE_CHECKING:
    from referee.contest import Contest
    from referee.runs.open_run import OpenRun
    from referee.runs.run_control import RunControl
    from referee.store.records import Run

REMAINING = "X-Window-Remaining-Ms"
OPERATOR_COOKIE = "referee-operator"
SCHEMES = ("basic", "token", "digest", "jwt", "apikey", "bearer")
LONGEST_USER = 200
_USER = f"HTTP_{USER.upper().replace('-', '_')}"
NO_MORE = "The token belongs to a run that no longer exists; log in again."


@dataclass(frozen=True)
class Callers:
    """The app part that identifies callers: the contest's secrets, its runs, and the clock."""

    contest: Contest
    control: RunControl
    clock: Clock


def _no_token(header: str, scheme: str) -> str:
    """Return why a request has no token; of the header only its first word may be shown, if it is a known scheme."""
    send = "send Authorization: Bearer <token>, with the token of the log-in (POST /v1/session)."
    if not header.strip():
        return f"The request bears no token; {send}"
    if scheme.lower() == "bearer":
        return f"The header Authorization has {scheme!r} and no token after it; {send}"
    if scheme.lower().rstrip(":") in SCHEMES:
        return f"The header Authorization has {scheme!r} and no token after 'Bearer'; {send}"
    return f"The header Authorization does not begin with 'Bearer'; {send}"


def session_of(
    callers: Callers, asked: WebRequest, token: str | None = None
) -> Session:
    """Return the session of the request's token, taken from the header `Authorization` or from `token`.

    Raises RefereeError `token-missing`, `bad-token`, `token-expired`; Superseded for a token of a later epoch.
    """
    if token is None:
        header = asked.environ.get("HTTP_AUTHORIZATION", "")
        scheme, _, token = header.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise SessionRefused("token-missing", _no_token(header, scheme))
    if asked.session is not None and asked.good_token == token:
        return asked.session

    session = tokens.read(callers.contest.secret, token)
    asked.session = session
    asked.good_token = None  # a different token may be refused
    if session.epoch > callers.contest.epoch:
        raise Superseded(
            "This token was issued by a host that has taken over the contest; this host accepts nothing any more: use "
            "that one.",
            epoch=callers.contest.epoch,
            newest_epoch=session.epoch,
        )
    is_over = callers.clock.utc().timestamp() >= session.expires_s
    if is_over and not _is_of_open_run(callers, session):
        raise SessionRefused("token-expired", "The token has expired; log in again.")
    asked.good_token = token
    return session


def _is_of_open_run(callers: Callers, session: Session) -> bool:
    """Return True if the session's run is open: its window ends by the monotonic clock, not by the wall clock."""
    live = callers.control.find_live(session.run)
    return live is not None and _is_of(session, live.run)


def _is_of(session: Session, run: Run) -> bool:
    return run.id == session.run and run.nonce == session.nonce


def operator_of(callers: Callers, asked: WebRequest) -> Operator | None:
    """Return the operator who makes the request, by the operator key or a console session; None for other callers."""
    if not asked.is_operator_known:
        asked.operator = _operator(callers, asked.environ)
        asked.is_operator_known = True
    return asked.operator


def operator_named(session: OperatorSession) -> Operator:
    """Return the operator named in this session; whether the session is still valid is not checked here."""
    if session.by_key:
        return Operator(KEY, session.name or None)
    return Operator(session.name)


def _operator(callers: Callers, environ: Environ) -> Operator | None:
    contest = callers.contest
    scheme, _, key = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() == "bearer":
        given = key.strip().encode()
        right = contest.operator_key.encode()
        is_right = hmac.compare_digest(given, right)
        return Operator(KEY, _stated_user(environ)) if is_right else None

    cookie = operator_cookie(environ)
    session = cookie and tokens.read_operator(contest.secret, cookie)
    if not session or callers.clock.utc().timestamp() >= session.expires_s:
        return None
    operator = operator_named(session)
    if session.generation != contest.store.operators.session_generation(str(operator)):
        return None
    proof: str | None = contest.operator_key
    if not session.by_key:
        proof = contest.store.operators.password_hashes().get(session.name)
    stamp = proof and tokens.stamp(contest.secret, proof)
    return operator if stamp and hmac.compare_digest(stamp, session.stamp) else None


def _stated_user(environ: Environ) -> str | None:
    """Return the name that a command states for the holder of the operator key, or None."""
    user = unquote(environ.get(_USER, ""))[:LONGEST_USER]
    return user if user.isprintable() and user else None


def operator_cookie(environ: Environ) -> str:
    """Return the cookie of a console session; blank if there is none."""
    return parse_cookie(environ.get("HTTP_COOKIE", "")).get(OPERATOR_COOKIE, "")


def open_run_of(
    callers: Callers, asked: WebRequest, session: Session | None = None
) -> OpenRun:
    """Return the open run of the request's session; the answer will then state the time left of its window.

    Raises WindowClosed, the errors of `require_own`, and those of `session_of` unless `session` is given.
    """
    known = asked.live
    if known is not None and (session is None or _is_of(session, known.run)):
        return known
    session = session or session_of(callers, asked)
    live = callers.control.find_live(session.run)
    if live is None:
        raise window_closed(stored_run_of(callers, asked, session).id)
    require_own(callers, asked, session, live.run)
    asked.live = live
    return live


def stored_run_of(callers: Callers, asked: WebRequest, session: Session) -> Run:
    """Return the stored run of a session. Raises RefereeError `bad-token` if the run is gone after a restore."""
    if asked.stored is None or asked.stored.id != session.run:
        try:
            asked.stored = callers.contest.store.runs.get(session.run)
        except SessionRefused as error:
            raise SessionRefused("bad-token", NO_MORE) from error
    return asked.stored


def own_run_of(callers: Callers, asked: WebRequest) -> Run:
    """Return the run of the request's session, open or not, if its own team makes the request.

    Raises the errors of `session_of`, `stored_run_of` and `require_own`.
    """
    session = session_of(callers, asked)
    if asked.live is not None:
        return asked.live.run
    run = stored_run_of(callers, asked, session)
    require_own(callers, asked, session, run)
    return run


def require_own(
    callers: Callers, asked: WebRequest, session: Session, run: Run
) -> None:
    """Raise RefereeError unless the session and the client address belong to the run.

    `bad-token` means that a restore removed the token's run, and `run` has got the same number. Also raises
    `not-your-run` and `wrong-address`.
    """
    if run.nonce != session.nonce:
        raise SessionRefused("bad-token", NO_MORE)
    if run.team != session.team:
        raise SessionRefused(
            "not-your-run",
            f"Run {run.id} is not {session.team}'s; log in again.",
            run=run.id,
        )
    for station in callers.contest.config.stations:
        if station.clients and station.name == run.station:
            require_admitted(station, asked.environ.get("REMOTE_ADDR"))


def remaining_ms(callers: Callers, asked: WebRequest) -> str | None:
    """Return the value of the header X-Window-Remaining-Ms, a whole number; None for a request outside any run."""
    live = asked.live
    if live is None:
        if "HTTP_AUTHORIZATION" not in asked.environ:
            return None
        try:
            live = open_run_of(callers, asked)
        except WindowClosed:
            return "0"
        except Exception:  # noqa: BLE001 - the answer itself is made already, and says what is wrong
            return None
    return str(int(remaining_s(live.window, callers.clock.monotonic_s()) * 1000))
