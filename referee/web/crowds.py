"""Room for connections: nobody may hold so many that others get none.

The server in front of us takes up to a number of connections and then no more, whoever holds them. When more than
half of them are open, those addresses that have the most give up their idlest until half are free again. A client
whose idle connection is ended opens another one, as with any server that keeps connections for a while.
"""

from __future__ import annotations

import logging
import socket
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from referee.web.connections import connections_to, descriptors

logger = logging.getLogger(__name__)

AT_A_STRETCH = 64
Key = tuple[int, str, int]
"""Of a connection: descriptor, address, port."""


def surplus(counts: Mapping[str, int], room: int) -> dict[str, int]:
    """How many each address has to give up so that all fit into `room`: the same level for all that are above it."""
    left, addresses = room, sorted(counts, key=lambda address: counts[address])
    for place, address in enumerate(addresses):
        level = left // (len(addresses) - place)
        if counts[address] > level:
            return {greedy: counts[greedy] - level for greedy in addresses[place:]}
        left -= counts[address]
    return {}


def to_leave(idle: Sequence[tuple[int, Key]], room: int) -> list[Key]:
    """Which of the connections (since when idle, in ms; key) go so that the others fit into `room`; no more than that.

    Where addresses are so many that each has but one, the levels are below that, and only who is idle tells.
    """
    owed = surplus(Counter(address for _, (_, address, _) in idle), room)
    leaving: list[Key] = []
    for _, key in sorted(idle, reverse=True):
        if len(leaving) >= len(idle) - room:
            break
        if owed.get(key[1], 0) > 0:
            owed[key[1]] -= 1
            leaving.append(key)
    return leaving


def make_room(port: int, most: int, breathe: Callable[[], None]) -> int:
    """End connections to `port` until half of `most` are free; tells how many. `breathe` is called now and then."""
    room = most // 2
    if len(descriptors()) <= room:
        return 0
    idle: list[tuple[int, Key]] = []
    for number, (connection, _) in enumerate(connections_to(port)):
        idle.append((connection.traffic.idle_ms, connection.key))
        if number % AT_A_STRETCH == 0:
            breathe()
    leaving = set(to_leave(idle, room))
    for connection, ours in connections_to(port, among=[descriptor for descriptor, _, _ in leaving]):
        if connection.key in leaving:
            with suppress(OSError):
                ours.shutdown(socket.SHUT_RDWR)
    if leaving:
        logger.warning("%d of %d connections were ended to make room", len(leaving), len(idle))
    return len(leaving)
