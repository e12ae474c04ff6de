"""One request: its WSGI environ, and the facts about it, each looked up once by the first function that needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flask import request

from referee.auth.operator_names import doer
from referee.auth.tokens import Session
from referee.web.arriving_bodies import PROTOCOL, UNWATCHED, Arrival, ArrivingBodies
from referee.web.concurrency_limits import Slots
from referee.web.http_answers import Environ

if TYPE_CHECKING:
    from referee.runs.open_run import OpenRun
    from referee.store.records import Run

HANDED_TO_FLASK = "referee.request"
"""Environ key of the request's WebRequest while Flask handles it."""


@dataclass(frozen=True)
class Operator:
    """An operator. `name` is proved: a registered name by its password, or KEY by the operator key.

    `user` is the name that a holder of the key states, without proof; `str` returns "key as NAME".
    """

    name: str
    user: str | None = None

    def __str__(self) -> str:
        return doer(self.name, self.user)


@dataclass(slots=True, eq=False)
class WebRequest:
    """A request and the facts about it, each looked up once. None: not looked up yet, or there is none.

    `bodies` watches the body as it arrives on the connection `arrival`. `session` is what the token says, and
    `good_token` is the token once it was found valid. `live` is the session's run if it is open, `stored` if it is not.
    `log_in` names the user who tries to log in. `slot` is the slot that the request holds.
    """

    environ: Environ
    bodies: ArrivingBodies = UNWATCHED
    arrival: Arrival | None = None
    session: Session | None = None
    good_token: str | None = None
    live: OpenRun | None = None
    stored: Run | None = None
    log_in: str | None = None
    operator: Operator | None = None
    is_operator_known: bool = False
    slot: Slots | None = None


def begin_request(environ: Environ, bodies: ArrivingBodies) -> WebRequest:
    """Return a new WebRequest. Call it before REMOTE_ADDR is replaced by the address of a proxy's client."""
    begun = WebRequest(environ, bodies)
    protocol = environ.pop(PROTOCOL, None)
    if protocol is not None:
        peer = environ.get("REMOTE_ADDR", "")
        begun.arrival = Arrival(protocol, peer, str(environ["SERVER_PORT"]))
    return begun


def present_request() -> WebRequest:
    """Return the request that Flask handles now, even if it did not come through the gateway."""
    found: WebRequest | None = request.environ.get(HANDED_TO_FLASK)
    if found is None:
        found = WebRequest(request.environ)
        request.environ[HANDED_TO_FLASK] = found
    return found
