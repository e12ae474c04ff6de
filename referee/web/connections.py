"""The connections of this process, as the kernel sees them: Granian has no word on a single one. On Linux only."""

from __future__ import annotations

import os
import resource
import socket
import stat
import struct
import sys
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

# A board that loses its power in mid-body says nothing; so that its thread comes free, such a silence is probed.
SILENCE_S, PROBE_S, PROBES = 15, 5, 3
UNREAD_S = 30  # an answer of which nothing is taken for so long is given up
MOST_CONNECTIONS = 16_384
OTHER_FILES = 512  # that the process may open beside its connections

# struct tcp_info of linux/tcp.h: append-only, so that these places hold for every kernel since 4.6.
_TCP_INFO_BYTES = 160
_UNACKED_SEGMENTS, _ACKNOWLEDGED, _RECEIVED, _UNSENT_BYTES = 24, 120, 128, 144
_SPOKEN_MS, _HEARD_MS = 44, 52


@dataclass(frozen=True)
class Traffic:
    """Bytes that came in through a connection, that its client has taken, and how much is waiting (0: nothing).

    And how long ago something came in, and was sent: the kernel counts in steps of some milliseconds.
    """

    received: int
    taken: int
    waiting: int
    heard_ms: int = 0
    spoken_ms: int = 0

    @property
    def is_clients_turn(self) -> bool:
        """Whether it was the client that spoke last, so that what it said may be a part of something."""
        return self.received > 0 and (self.taken == 0 or self.heard_ms < self.spoken_ms)

    @property
    def idle_ms(self) -> int:
        """Since when nothing was said by either side."""
        return min(self.heard_ms, self.spoken_ms)


@dataclass(frozen=True)
class Connection:
    """A connection of ours: `key` tells it from every other one, also from a later one with the same descriptor."""

    key: tuple[int, str, int]
    address: str
    traffic: Traffic


def connections_to(
    port: int, addresses: Container[str] | None = None, among: Iterable[int] | None = None
) -> Iterator[tuple[Connection, socket.socket]]:
    """The connections that clients have to our `port`, with a socket that is good until the next one.

    Only those from `addresses`, and those of the descriptors `among`, when given.
    """
    for descriptor in descriptors() if among is None else among:
        with _borrowed(descriptor) as ours, suppress(OSError):
            if ours is None or ours.getsockname()[1] != port:
                continue
            address, place = ours.getpeername()[:2]  # a listening socket has none
            if addresses is None or address in addresses:
                yield Connection((descriptor, address, place), address, _traffic(ours)), ours


def guard_listener(port: int) -> None:
    """Let the kernel end connections that are dead or unread: on Linux they take after the listening socket."""
    for descriptor in descriptors():
        with _borrowed(descriptor) as ours, suppress(OSError):
            if ours is None or not ours.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                continue
            if ours.getsockname()[1] == port:
                ours.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, SILENCE_S)
                ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, PROBE_S)
                ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, PROBES)
                ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_S * 1000)


def most_connections() -> int:
    """How many connections can be open at once, the process's limit of files raised as far as it may be.

    Never more than there are descriptors for: Granian stops accepting for good once it has run out of them.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + OTHER_FILES
    limit = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return max(limit - OTHER_FILES, limit // 2)


def descriptors() -> list[int]:
    """All that this process has open; none on other systems than Linux."""
    if sys.platform != "linux":
        return []
    return [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208 - every second, at times thousands


@contextmanager
def _borrowed(descriptor: int) -> Iterator[socket.socket | None]:
    """A socket object for a descriptor that stays whose it is; None when it is no TCP socket.

    A copy of any other descriptor must not even be made: closing one of the database's would take its locks from it
    (POSIX), and another process that comes and goes would then delete the write-ahead log under us.
    """
    ours = None
    with suppress(OSError):
        if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            ours = socket.socket(fileno=os.dup(descriptor))
    if ours is None:
        yield None
        return
    with ours:
        is_tcp = ours.family in (socket.AF_INET, socket.AF_INET6) and ours.type == socket.SOCK_STREAM
        yield ours if is_tcp else None


def _traffic(ours: socket.socket) -> Traffic:
    info = ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)

    def word(form: str, place: int) -> int:
        return int(struct.unpack_from(form, info, place)[0])

    waiting = word("I", _UNACKED_SEGMENTS) + word("I", _UNSENT_BYTES)
    received, taken = word("Q", _RECEIVED), word("Q", _ACKNOWLEDGED)
    return Traffic(received, taken, waiting, word("I", _HEARD_MS), word("I", _SPOKEN_MS))
