"""The connections of this process, as the kernel sees them: Granian has no word on a single one. On Linux only."""

from __future__ import annotations

import os
import resource
import socket
import stat
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

# A board that loses its power in mid-body says nothing; so that its thread comes free, such a silence is probed.
SILENCE_S, PROBE_S, PROBES = 15, 5, 3
UNREAD_S = 30  # an answer of which nothing is taken for so long is given up
MOST_CONNECTIONS = 16_384
OTHER_FILES = 512  # that the process may open beside its connections

# struct tcp_info of linux/tcp.h: append-only, so that these places hold for every kernel since 4.6.
_TCP_INFO_BYTES = 160
_UNACKED_SEGMENTS, _ACKNOWLEDGED, _RECEIVED, _UNSENT_BYTES = 24, 120, 128, 144


@dataclass(frozen=True)
class Traffic:
    """Bytes that came in through a connection, that its client has taken, and how much is waiting (0: nothing)."""

    received: int
    taken: int
    waiting: int


@dataclass(frozen=True)
class Connection:
    """A connection of ours: `key` tells it from every other one, also from a later one with the same descriptor."""

    key: tuple[int, str, int]
    address: str
    traffic: Traffic


def connections_to(port: int, addresses: set[str]) -> Iterator[tuple[Connection, socket.socket]]:
    """The connections that clients at `addresses` have to our `port`, with a socket that is good until the next one."""
    for descriptor in _descriptors():
        with _borrowed(descriptor) as ours, suppress(OSError):
            if ours is None or ours.getsockname()[1] != port:
                continue
            address, place = ours.getpeername()[:2]  # a listening socket has none
            if address in addresses:
                yield Connection((descriptor, address, place), address, _traffic(ours)), ours


def guard_listener(port: int) -> None:
    """Let the kernel end connections that are dead or unread: on Linux they take after the listening socket."""
    for descriptor in _descriptors():
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


def _descriptors() -> list[int]:
    if sys.platform != "linux":
        return []
    return [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]


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
    return Traffic(word("Q", _RECEIVED), word("Q", _ACKNOWLEDGED), waiting)
