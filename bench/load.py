"""A load on an HTTP server: prepared requests on a few connections, from one thread of this process."""

from __future__ import annotations

import re
import select
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import cycle
from urllib.parse import urlsplit

import numpy as np

TIMEOUT_S = 30.0
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
TAG = re.compile(rb"\r\netag: *([^\r]+)\r\n", re.IGNORECASE)
NOT_MODIFIED = b"HTTP/1.1 304"
_buffer = memoryview(bytearray(2**18))


@dataclass(frozen=True)
class Load:
    """What one load measured: the answers' latencies, in seconds, how long it took in all, and the bytes of answers."""

    latencies_s: Sequence[float]
    duration_s: float
    received: int

    @property
    def rate_per_s(self) -> float:
        """Answers per second."""
        return len(self.latencies_s) / self.duration_s

    def percentile_ms(self, percent: float) -> float:
        """The latency that so many percent of the answers do not exceed."""
        return float(np.percentile(self.latencies_s, percent)) * 1000


def load(
    url: str,
    requests: Sequence[bytes],
    connections: int,
    count: int,
    rate_per_s: float = 0.0,
    *,
    is_conditional: bool = False,
) -> Load:
    """Send `count` requests in turn, as fast as answers come, or `rate_per_s` of them at equal distances.

    With a rate, latency counts from the moment when a request was due, so a slow answer is not hidden by the requests
    that wait behind it. If it `is_conditional`, each connection asks for what is newer than its last answer, as a
    browser does. Raises RuntimeError when an answer is not 2xx or 304, or a connection closes.
    """
    address = (urlsplit(url).hostname, urlsplit(url).port)
    step_s = 1 / rate_per_s if rate_per_s else 0.0
    latencies_s = list[float]()
    following = cycle(requests)
    with ExitStack() as stack:
        free = [
            _Connection(
                stack.enter_context(socket.create_connection(address)),
                is_conditional=is_conditional,
            )
            for _ in range(connections)
        ]
        every = [*free]
        busy: dict[socket.socket, _Connection] = {}
        start_s = now_s = due_s = time.perf_counter()
        while len(latencies_s) < count:
            while free and due_s <= now_s and len(latencies_s) + len(busy) < count:
                connection = free.pop()
                connection.send(next(following), due_s if rate_per_s else now_s)
                busy[connection.socket] = connection
                due_s += step_s
            wait_s = max(0.0, due_s - now_s) if free else TIMEOUT_S
            for ready in select.select(list(busy), (), (), wait_s)[0]:
                if busy[ready].receive():
                    free.append(busy.pop(ready))
                    latencies_s.append(time.perf_counter() - free[-1].since_s)
            now_s = time.perf_counter()
    return Load(latencies_s, now_s - start_s, sum(one.received for one in every))


class _Connection:
    """A connection with at most one request under way."""

    def __init__(self, connected: socket.socket, *, is_conditional: bool) -> None:
        self.socket = connected
        self.since_s = 0.0
        self.received = 0
        self._is_conditional = is_conditional
        self._tag = b""
        self._missing: int | None = None

    def send(self, request: bytes, since_s: float) -> None:
        if self._tag:
            head, separator, body = request.partition(b"\r\n\r\n")
            condition = b"\r\nIf-None-Match: " + self._tag
            request = head + condition + separator + body
        self.socket.sendall(request)
        self.since_s = since_s
        self._missing = None

    def receive(self) -> bool:
        """Take what has arrived; gives whether the answer is complete."""
        count = self.socket.recv_into(_buffer)
        self.received += count
        if self._missing is None:
            head, separator, _ = bytes(_buffer[: min(count, 4096)]).partition(
                b"\r\n\r\n"
            )
            self._missing = len(head + separator) + self._length(head + b"\r\n")
        elif not count:
            raise RuntimeError("a connection was closed within an answer")
        self._missing -= count
        return self._missing == 0

    def _length(self, head: bytes) -> int:
        """Return the length of the body that follows this head, and note the tag of what it answers with."""
        if self._is_conditional and (tag := TAG.search(head)):
            self._tag = tag[1]
        if head.startswith(NOT_MODIFIED):
            return 0
        length = LENGTH.search(head)
        if not head.startswith(b"HTTP/1.1 2") or length is None:
            raise RuntimeError(f"refused: {head!r}")
        return int(length[1])
