"""What a request must be to be looked at, and on whose account it goes while it is under way."""

from __future__ import annotations

from referee.errors import RefereeError
from referee.web.answers import Environ
from referee.web.sessions import live_run_of
from referee.web.state import WebState
from referee.web.transfers import Account


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
    """The open run whose token the request bears, if it comes from where it may; else the address."""
    if "HTTP_AUTHORIZATION" in environ:
        try:
            return live_run_of(state, environ).run.id
        except RefereeError:
            pass  # the handler tells
    return str(environ.get("REMOTE_ADDR", ""))
