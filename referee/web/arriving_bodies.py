"""Bodies that are arriving: one that stays silent is answered 408, and its connection ends, which frees its thread.

Granian offers neither: a thread that reads waits as long as the client likes, and a request does not say from which
port it came. So the answer is handed to Granian by this thread, and marks the connection: the kernel knows on which one
something was just sent, and that no other request goes on there (docs/decisions/0020).
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
"""Timeout for a body's next part, or its rest."""
LOOK_S = 0.5
NEVER_S = inf
HANDED_OVER_S = 0.4
"""Time until the kernel has the answer; longer on a busy machine."""
KERNEL_TICK_S = 0.02
SLOW_S = 2 * SILENCE_S
"""Longest arrival of a request below `PART_BYTES`: its head and its body have `SILENCE_S` each."""
LONGEST_WORK_S = 150.0
"""Deadline for the answer of every request: a proxy gives up earlier."""
PART_BYTES = 2**14  # each has `SILENCE_S` to arrive: less than a modem's 14 kbit/s
PROTOCOL = "referee.protocol"
"""The key under which Granian's worker hands over what answers a request; the gateway takes it from there."""

Address = tuple[Any, ...]
"""Address of a connection's other end, as `getpeername` returns it."""


class Arrival(NamedTuple):
    """The connection of a request: what answers it, the address of the other end, and the port of ours."""

    protocol: Any
    peer: str
    port: str


@dataclass
class Suspect:
    """A connection to which the answer to a silent body may have been the last that was sent, at `sent_s`.

    `received_bytes`: by the first look since. `first_s`: when more had come, if more has. Another request may have
    begun there: then it is not the one that was answered.
    """

    sent_s: float
    received_bytes: int
    first_s: float | None = None

    def is_silent_one(self, found: Traffic, now_s: float) -> bool:
        """Tell whether it surely is that of the body: it was silent before the answer, or is too slow for one."""
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
    """The body of a request: a thread waits for it no longer than `SILENCE_S` at a time, once it is watched.

    `answered_s`: when its client was told that it took too long. `is_given_up` is known once `ArrivingBodies.end` was
    called. Without an `arrival` no one can be answered, so no one watches.
    """

    environ: Environ
    arrival: Arrival | None
    now_s: Callable[[], float]
    due_s: float = NEVER_S
    answered_s: float = NEVER_S
    is_given_up: bool = False
    suspects: dict[Address, Suspect] = field(default_factory=dict)

    def read(self, size: int) -> bytes:
        """Read its next `size` bytes; fewer at its end only, or once it is given up."""
        self.due_s = self.now_s() + SILENCE_S
        part: bytes = self.environ["wsgi.input"].read(size)
        self.due_s = NEVER_S  # storing what has come may take long
        return part


class ArrivingBodies:
    """The bodies that threads wait for. `answer` makes the answer to a client that falls silent."""

    def __init__(self, clock: Clock, answer: Callable[[Environ], Answer]) -> None:
        self.clock = clock
        self._answer = answer
        # A body is in one of them: who pops it decides, atomically, whether it is taken or given up.
        self._awaited: dict[int, ArrivingBody] = {}
        self._answered: dict[int, ArrivingBody] = {}

    def begin(self, environ: Environ, arrival: Arrival | None) -> ArrivingBody:
        """Watch the body of a request."""
        body = ArrivingBody(environ, arrival, self.clock.monotonic_s)
        self._awaited[id(body)] = body
        return body

    def end(self, body: ArrivingBody) -> None:
        """Watch it no longer: it is whole, or no one waits for it any more. Call it once."""
        if self._awaited.pop(id(body), None) is None:
            self._answered.pop(id(body), None)
            body.is_given_up = True

    def watch(self, ended: threading.Event) -> None:
        """End the silent ones until `ended` is set."""
        while not self.clock.wait(ended, self.clock.monotonic_s() + LOOK_S):
            try:
                self.look()
            except OSError as error:
                # Without descriptors there is no look; the next one is soon.
                logger.warning("silent bodies cannot be ended: %s", error)

    def look(self) -> None:
        """Answer the bodies that are overdue, and end the connections of those that were answered before."""
        now_s = self.clock.monotonic_s()
        if self._answered:
            _end_connections([*self._answered.values()], self.clock)
        for one in [*self._awaited.values()]:
            if one.due_s < now_s and one.arrival is not None:
                self._give_up(one, one.arrival)

    def _give_up(self, body: ArrivingBody, arrival: Arrival) -> None:
        # First: its end, which may come now, looks there last.
        self._answered[id(body)] = body
        if self._awaited.pop(id(body), None) is None:
            self._answered.pop(id(body), None)
            return  # it has just come
        answer = self._answer(body.environ)
        body.answered_s = self.clock.monotonic_s()
        arrival.protocol.response_bytes(
            answer.status, _closing(answer.headers), answer.body
        )


def hand_over_protocol() -> None:
    """Let Granian put what answers a request into its environ. Call it in the worker's parent, before it starts."""
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
    """End our reading of the connections to which those answers were the last that was sent.

    Behind a proxy all clients are at one address, so one on which another request may have begun is left alone.
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
    """Tell whether a connection is surely that of an answered body."""
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
"""The bodies of requests that came through no gateway."""


def _is_between(sent_s: float, answered_s: float, now_s: float) -> bool:
    """Tell whether what was sent then is an answer that was handed over at `answered_s`."""
    latest_s = answered_s + max(HANDED_OVER_S, (now_s - answered_s) / 2)
    return answered_s - KERNEL_TICK_S <= sent_s <= latest_s
