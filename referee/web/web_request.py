"""One request: its WSGI environ, and what is found out about it once, by whoever needs it first."""

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
"""The key of its WebRequest in the environ of a request, while Flask handles it."""


@dataclass(frozen=True)
class Operator:
    """An operator. `name` is what was proved: a registered name by its password, or KEY for the operator key.

    `user` is who the holder of the key said to be, which proves nothing. As text: `key as` that name.
    """

    name: str
    user: str | None = None

    def __str__(self) -> str:
        return doer(self.name, self.user)


@dataclass(slots=True, eq=False)
class WebRequest:
    """A request, and the facts of it that are found once; None: not looked for yet, or there is none.

    `bodies` watches its body as it arrives, on the connection that `arrival` names. `session` is what its token says,
    and `good_token` that token once it was found good; `live` is the session's open run, `stored` its run that is not
    open. `log_in` names who tries to log in. `slot` is the one that the request holds.
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
    """Return a request that begins; call it before REMOTE_ADDR becomes the address of a proxy's client."""
    begun = WebRequest(environ, bodies)
    protocol = environ.pop(PROTOCOL, None)
    if protocol is not None:
        peer = environ.get("REMOTE_ADDR", "")
        begun.arrival = Arrival(protocol, peer, str(environ["SERVER_PORT"]))
    return begun


def present_request() -> WebRequest:
    """Return the request that Flask handles at present, also one that came through no gateway."""
    found: WebRequest | None = request.environ.get(HANDED_TO_FLASK)
    if found is None:
        found = WebRequest(request.environ)
        request.environ[HANDED_TO_FLASK] = found
    return found
