"""Ports for servers that a test kills or starts again: nobody else gets them while their owner is down.

The system gives the port of a dead server to the next program that asks for any port. A recorder once found the
simulator of another test there, and went on with it. Therefore each process of the tests takes a block of ports for
itself, below those that a system gives away (from 32768 on Linux, from 49152 on macOS and Windows).
"""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import socket
from collections.abc import Iterator

FIRST = 12_000
LAST = 32_000
BLOCK = 100
HOST = "127.0.0.1"


def own_port() -> int:
    """Return a port that is free now; this process gives it away again only when its block has been used up."""
    return next(port for port in _own_block(os.getpid()) if _is_free(port))


@functools.cache
def _own_block(process_id: int) -> Iterator[int]:
    """Return the ports of the first block whose first port nobody holds, over and over; hold that one to the end."""
    claim = socket.socket()
    for first in range(FIRST, LAST, BLOCK):
        try:
            claim.bind((HOST, first))
        except OSError:
            continue
        atexit.register(claim.close)
        return itertools.cycle(range(first + 1, first + BLOCK))
    raise OSError(f"every block of ports from {FIRST} to {LAST} is taken")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True
