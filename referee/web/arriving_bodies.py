"""Watches request bodies as they arrive: a client that falls silent gets a 408, and its connection ends.

Ending the connection frees the thread that reads the body. Granian has no such timeout: a reading thread waits as long
as the client likes. It does not name the client's port either, so the connection cannot be looked up directly.
Therefore this thread hands the 408 to Granian, which sends it. The kernel then shows on which connection data was just
sent, and that no other request is in progress there (docs/decisions/0020).
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

import granian.server.mp

from referee.clock import Clock
from referee.operating_system import Traffic, own_sockets, traffic
from referee.web.http_answers import Answer, Environ

logger = logging.getLogger(__name__)
SILENCE_S = 10.0
"""Timeout for the next part of a body."""
LOOK_S = 0.5
NEVER_S = inf
HANDED_OVER_S = 0.4
"""Time within which an answer given to Granian reaches the kernel; a busy machine takes longer."""
KERNEL_TICK_S = 0.02
SLOW_S = 2 * SILENCE_S
"""Longest time in which a request below `PART_BYTES` arrives: `SILENCE_S` for its head and `SILENCE_S` for its body."""
LONGEST_WORK_S = 150.0
"""Deadline for answering any request; proxies give up earlier than that."""
PART_BYTES = 2**14  # each has `SILENCE_S` to arrive: less than a modem's 14 kbit/s
PROTOCOL = "referee.protocol"
"""Environ key under which Granian's worker passes the object that sends a request's response; the gateway reads it."""

Address = tuple[Any, ...]
"""The address of a connection's peer, as `getpeername` returns it."""


class Arrival(NamedTuple):
    """The connection of a request: the object that sends its response, the peer's address, and our port."""

    protocol: Any
    peer: str
    port: str


@dataclass
class Suspect:
    """A connection that a silent body may use: the last data sent on it, at `sent_s`, may be the body's 408.

    `received_bytes` is the number of bytes received when the connection was first examined after that. `first_s` is
    when further bytes were first seen, None if there were none. New data may be the start of another request; then this
    is not the silent connection.
    """

    sent_s: float
    received_bytes: int
    first_s: float | None = None

    def is_silent_one(self, found: Traffic, now_s: float) -> bool:
        """Return True if this is certainly the silent body's connection.

        That is so if it was silent before the answer was sent, or if what has come since is too slow to be a new
        request.
        """
        if found.since_received_s - found.since_sent_s >= SILENCE_S / 2:
            return True
        came = found.received_bytes - self.received_bytes
        if came and self.first_s is None:
            self.first_s = now_s
        if came >= PART_BYTES:
            return False
        if found.since_sent_s >= LONGEST_WORK_S:
            return True
        return (
            self.first_s is not None
            and now_s - found.since_received_s - self.first_s >= SLOW_S
        )


@dataclass(slots=True, eq=False)
class ArrivingBody:
    """The body of a request. While it is watched, a thread waits at most `SILENCE_S` for each part.

    `answered_s` is when the client was told that it took too long. `is_given_up` is valid after `ArrivingBodies.end`.
    If the server gave no `arrival` (the handle for an early answer), no answer can be sent, and the body is not
    watched.
    """

    environ: Environ
    arrival: Arrival | None
    now_s: Callable[[], float]
    due_s: float = NEVER_S
    answered_s: float = NEVER_S
    is_given_up: bool = False
    suspects: dict[Address, Suspect] = field(default_factory=dict)

    def read(self, size: int) -> bytes:
        """Read the next `size` bytes of the body; fewer only at its end or after it was given up."""
        self.due_s = self.now_s() + SILENCE_S
        part: bytes = self.environ["wsgi.input"].read(size)
        self.due_s = NEVER_S  # storing what has come may take long
        return part


class ArrivingBodies:
    """The bodies that threads are waiting for. `answer` makes the response to a client that falls silent."""

    def __init__(self, clock: Clock, answer: Callable[[Environ], Answer]) -> None:
        self.clock = clock
        self._answer = answer
        # A body is in one of the two. The thread that pops it decides, atomically, whether it is taken or given up.
        self._awaited: dict[int, ArrivingBody] = {}
        self._answered: dict[int, ArrivingBody] = {}

    def begin(self, environ: Environ, arrival: Arrival | None) -> ArrivingBody:
        """Start watching the body of a request, and return it."""
        body = ArrivingBody(environ, arrival, self.clock.monotonic_s)
        self._awaited[id(body)] = body
        return body

    def end(self, body: ArrivingBody) -> None:
        """Stop watching a body that is complete or no longer wanted. Call it once per body."""
        if self._awaited.pop(id(body), None) is None:
            self._answered.pop(id(body), None)
            body.is_given_up = True

    def watch(self, ended: threading.Event) -> None:
        """Look for silent bodies every `LOOK_S` seconds, and end them, until `ended` is set."""
        while not self.clock.wait(ended, self.clock.monotonic_s() + LOOK_S):
            try:
                self.look()
            except OSError as error:
                # No descriptor is free; the next look follows soon.
                logger.warning(
                    "request bodies that stop arriving cannot be ended: %s", error
                )

    def look(self) -> None:
        """Answer the bodies that are overdue, and end the connections of bodies that were answered earlier."""
        now_s = self.clock.monotonic_s()
        if self._answered:
            _end_connections([*self._answered.values()], self.clock)
        for one in [*self._awaited.values()]:
            if one.due_s < now_s and one.arrival is not None:
                self._give_up(one, one.arrival)

    def _give_up(self, body: ArrivingBody, arrival: Arrival) -> None:
        # Added before it is removed below, because `end`, which may run now, looks in `_answered` last.
        self._answered[id(body)] = body
        if self._awaited.pop(id(body), None) is None:
            self._answered.pop(id(body), None)
            return  # it has just arrived
        answer = self._answer(body.environ)
        body.answered_s = self.clock.monotonic_s()
        arrival.protocol.response_bytes(
            answer.status, _closing(answer.headers), answer.body
        )


def hand_over_protocol() -> None:
    """Patch Granian to put the object that sends a response into the request's environ.

    Call it in the worker's parent process, before the worker starts.
    """
    server: Any = granian.server.mp
    wrapped = server._wsgi_call_wrap  # noqa: SLF001 - there is no public way

    def wrap(
        app: Callable[..., Any], scope: dict[str, Any], access_log: str | None
    ) -> Callable[..., Any]:
        run = wrapped(app, scope, access_log)

        def runner(protocol: Any, request: dict[str, Any]) -> Any:
            request[PROTOCOL] = protocol
            return run(protocol, request)

        return runner

    server._wsgi_call_wrap = wrap  # noqa: SLF001


def _end_connections(answered: list[ArrivingBody], clock: Clock) -> None:
    """Shut down reading on each connection whose last sent data was the answer to one of these bodies.

    Behind a proxy all clients share one address, so a connection on which another request may have begun is left alone.
    """
    by_ends: dict[tuple[str, str], list[ArrivingBody]] = {}
    for one in answered:
        if one.arrival is not None:
            ends = one.arrival.peer, one.arrival.port
            by_ends.setdefault(ends, []).append(one)
    for connection in own_sockets():
        if connection.family not in (socket.AF_INET, socket.AF_INET6):
            continue
        with suppress(OSError):  # it has ended, or is not connected
            peer = connection.getpeername()
            own = connection.getsockname()
            bodies = by_ends.get((str(peer[0]), str(own[1])), [])
            found = traffic(connection) if bodies else None
            if found is None:
                continue
            now_s = clock.monotonic_s()
            if any(_is_of(body, peer, found, now_s) for body in bodies):
                connection.shutdown(socket.SHUT_RD)


def _is_of(body: ArrivingBody, peer: Address, found: Traffic, now_s: float) -> bool:
    """Return True if this answered body certainly came over the connection."""
    sent_s = now_s - found.since_sent_s
    if not _is_between(sent_s, body.answered_s, now_s):
        return False
    suspect = body.suspects.get(peer)
    if (
        suspect is None or sent_s > suspect.sent_s + HANDED_OVER_S
    ):  # it was answered again since
        suspect = body.suspects[peer] = Suspect(sent_s, found.received_bytes)
    return suspect.is_silent_one(found, now_s)


def _closing(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [
        *(one for one in headers if one[0] != "Connection"),
        ("Connection", "close"),
    ]


UNWATCHED = ArrivingBodies(Clock(), lambda _: Answer(408))
"""Bodies of requests that did not come through the gateway; they are not watched."""


def _is_between(sent_s: float, answered_s: float, now_s: float) -> bool:
    """Return True if data sent at `sent_s` can be the answer that was handed over at `answered_s`."""
    latest_s = answered_s + max(HANDED_OVER_S, (now_s - answered_s) / 2)
    return answered_s - KERNEL_TICK_S <= sent_s <= latest_s
