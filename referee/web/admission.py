"""What a request must be to be looked at, and on whose account it goes while it is under way."""

from __future__ import annotations

import hmac

from referee.errors import RefereeError
from referee.web.answers import Environ
from referee.web.sessions import live_run_of
from referee.web.state import WebState
from referee.web.transfers import OPERATOR, Account

OPERATOR_PATH = "/operator"


def require_sound(environ: Environ) -> None:
    """Raise RefereeError `method-unknown` or `bad-request` for what HTTP does not allow.

    Methods are told apart by case (RFC 9110, 9.1), and a request of HTTP/1.1 names one host (RFC 9112, 3.2). The
    server in front of us hands on none as an empty text, and several with commas between them.
    """
    if not environ["REQUEST_METHOD"].isupper():
        raise RefereeError("method-unknown", "There is no such method; methods are written in capitals.")
    host = environ.get("HTTP_HOST", "")
    if (not host and environ.get("SERVER_PROTOCOL") == "HTTP/1.1") or "," in host:
        raise RefereeError("bad-request", "A request of HTTP/1.1 has one header Host that names a host.")


def account_of(state: WebState, environ: Environ) -> Account:
    """The open run whose token the request bears, if it comes from where it may; the operator's; else the address."""
    if "HTTP_AUTHORIZATION" in environ:
        if environ["PATH_INFO"].startswith(OPERATOR_PATH) and is_operator(state, environ):
            return OPERATOR
        try:
            return live_run_of(state, environ).run.id
        except RefereeError:
            pass  # the handler tells
    return str(environ.get("REMOTE_ADDR", ""))


def is_operator(state: WebState, environ: Environ) -> bool:
    """Whether the request bears the operator's key."""
    scheme, _, key = str(environ.get("HTTP_AUTHORIZATION", "")).partition(" ")
    expected = state.contest.operator_key
    return scheme.lower() == "bearer" and hmac.compare_digest(key.strip().encode(), expected.encode())
