"""Bodies that are arriving: one that stays silent is answered 408, and its connection ends, which frees its thread.

Granian offers neither: a thread that reads waits as long as the client likes, and a request does not say from which
port it came. So the answer is handed to Granian by this thread, and marks the connection: the kernel knows on which one
something was just sent (docs/decisions/0020).
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Any

import granian.server.mp

from referee.clock import Clock
from referee.operating_system import own_sockets, since_sent_s
from referee.web.answers import Answer, Environ

logger = logging.getLogger(__name__)
SILENCE_S = 10.0
"""A body's next part, or its rest, has so long to arrive."""
LOOK_S = 0.5
NEVER_S = inf
HANDED_OVER_S = 0.4  # so soon the answer is in the kernel's hands; on a busy machine later
KERNEL_TICK_S = 0.02
_PROTOCOL = "referee.protocol"
_ARRIVING = "referee.arriving"
_PEER = "referee.peer"


class ArrivingBody:
    """The body of a request: a thread waits for it no longer than `SILENCE_S` at a time, once it is watched.

    `answered_s`: when its client was told that it took too long. `is_given_up` is known at its `end`.
    """

    def __init__(self, environ: Environ, bodies: ArrivingBodies) -> None:
        self.environ = environ
        self._bodies = bodies
        self._now_s = bodies.clock.monotonic_s
        self.due_s = NEVER_S
        self.answered_s = NEVER_S
        self.is_given_up = False
        self._read: Callable[[int], bytes] = environ["wsgi.input"].read

    def read(self, size: int) -> bytes:
        """Its next `size` bytes; fewer at its end only, or once it is given up."""
        self.due_s = self._now_s() + SILENCE_S
        part = self._read(size)
        self.due_s = NEVER_S  # storing what has come may take long
        return part

    def end(self) -> None:
        """It is whole, or no one waits for it any more: call it once."""
        self.is_given_up = not self._bodies.end(self)


class ArrivingBodies:
    """All bodies that threads wait for. `answer` makes what the client of a silent one reads."""

    def __init__(self, clock: Clock, answer: Callable[[Environ], Answer]) -> None:
        self.clock = clock
        self._answer = answer
        # A body is in one of them: who pops it decides, atomically, whether it is taken or given up.
        self._awaited: dict[int, ArrivingBody] = {}
        self._answered: dict[int, ArrivingBody] = {}

    def begin(self, environ: Environ) -> ArrivingBody:
        """Watch the body of a request."""
        body = ArrivingBody(environ, self)
        self._awaited[id(body)] = body
        return body

    def end(self, body: ArrivingBody) -> bool:
        """Watch it no longer; False for one that has been given up."""
        if self._awaited.pop(id(body), None) is not None:
            return True
        self._answered.pop(id(body), None)
        return False

    def watch(self, ended: threading.Event) -> None:
        """End the silent ones until `ended` is set."""
        while not self.clock.wait(ended, self.clock.monotonic_s() + LOOK_S):
            try:
                self.look()
            except OSError as error:  # without descriptors there is no look; the next one is soon
                logger.warning("silent bodies cannot be ended: %s", error)

    def look(self) -> None:
        """Answer the bodies that are overdue, and end the connections of those that were answered before."""
        now_s = self.clock.monotonic_s()
        if self._answered:
            _end_connections([*self._answered.values()], self.clock)
        for one in [*self._awaited.values()]:
            if one.due_s < now_s and _PROTOCOL in one.environ:
                self._give_up(one)

    def _give_up(self, body: ArrivingBody) -> None:
        self._answered[id(body)] = body  # first: its end, which may come now, looks there last
        if self._awaited.pop(id(body), None) is None:
            self._answered.pop(id(body), None)
            return  # it has just come
        protocol, answer = body.environ[_PROTOCOL], self._answer(body.environ)
        body.answered_s = self.clock.monotonic_s()
        protocol.response_bytes(answer.status, _closing(answer.headers), answer.body)


def awaited_body(environ: Environ) -> ArrivingBody:
    """The body of a request, watched until its `end`."""
    bodies: ArrivingBodies = environ.get(_ARRIVING) or _UNWATCHED
    return bodies.begin(environ)


def watch_arrival(environ: Environ, bodies: ArrivingBodies) -> None:
    """Let the body of this request be watched; call it before REMOTE_ADDR becomes that of a proxy's client."""
    environ[_ARRIVING] = bodies
    environ[_PEER] = environ.get("REMOTE_ADDR", "")


def hand_over_protocol() -> None:
    """Let Granian put what answers a request into its environ. Call it in the worker's parent, before it starts."""
    server: Any = granian.server.mp
    wrapped = server._wsgi_call_wrap  # noqa: SLF001 - there is no public way

    def wrap(app: Callable[..., Any], scope: dict[str, Any], access_log: str | None) -> Callable[..., Any]:
        run = wrapped(app, scope, access_log)

        def runner(protocol: Any, request: dict[str, Any]) -> Any:
            request[_PROTOCOL] = protocol
            return run(protocol, request)

        return runner

    server._wsgi_call_wrap = wrap  # noqa: SLF001


def _end_connections(answered: list[ArrivingBody], clock: Clock) -> None:
    """End our reading of the connections to which those answers were the last that was sent.

    Another connection of the same address may match: it was answered in the same moment and is idle since, and a server
    may end an idle connection at any time.
    """
    by_ends: dict[tuple[str, str], list[float]] = {}
    for one in answered:
        ends = one.environ[_PEER], str(one.environ["SERVER_PORT"])
        by_ends.setdefault(ends, []).append(one.answered_s)
    for connection in own_sockets():
        if connection.family not in (socket.AF_INET, socket.AF_INET6):
            continue
        with suppress(OSError):  # it has ended, or is not connected
            peer, own = connection.getpeername(), connection.getsockname()
            moments = by_ends.get((str(peer[0]), str(own[1])), [])
            since_s = since_sent_s(connection) if moments else None
            if since_s is None:
                continue
            now_s = clock.monotonic_s()
            if any(_is_between(now_s - since_s, moment, now_s) for moment in moments):
                connection.shutdown(socket.SHUT_RD)


def _closing(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [*(one for one in headers if one[0] != "Connection"), ("Connection", "close")]


_UNWATCHED = ArrivingBodies(Clock(), lambda _: Answer(408))  # of requests that came through no gateway


def _is_between(sent_s: float, answered_s: float, now_s: float) -> bool:
    """Whether what was sent then is an answer that was handed over at `answered_s`."""
    latest_s = answered_s + max(HANDED_OVER_S, (now_s - answered_s) / 2)
    return answered_s - KERNEL_TICK_S <= sent_s <= latest_s
