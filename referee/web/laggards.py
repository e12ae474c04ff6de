"""Ends the connections of clients that send a body, or take an answer, more slowly than they may.

Neither Granian nor WSGI can be told to give up on a body, and neither tells on which connection a request came. So
when a transfer is overdue, the connections of its address are watched for some seconds; those that fit it are ended:

- a body is overdue: nothing went out, less than the least rate came in, and the client was the last to speak. On an
  idle connection we were; only when the body stays overdue is it ended too, which HTTP allows at any time: a body may
  stall behind an answered request that was sent with it. A request that is being answered for long looks like a
  stalled body, so as long as there is one, all are left alone. The client can still read why: only our receiving ends;
- a batch is overdue: something is waiting to be taken, and less than the least rate of it was.
"""

from __future__ import annotations

import logging
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass

from referee.clock import Clock
from referee.web.connections import Connection, Traffic, connections_to, most_connections
from referee.web.crowds import make_room
from referee.web.transfers import LEAST_BYTES_PER_S, Kind, Transfers

logger = logging.getLogger(__name__)

LOOK_S = 1.0
BREATH_S = 0.001  # left to the requests between some connections and the next, when there are very many
WATCHED_S = 3.0
OBSTINATE_S = 12.0  # a body that stays overdue for so long is not where it was looked for


@dataclass(frozen=True)
class Sight:
    """A connection when it was first looked at."""

    at_s: float
    traffic: Traffic


def is_stalled_body(first: Sight, now: Traffic, now_s: float) -> bool:
    """Whether nothing went out since `first`, and hardly anything came in."""
    before = first.traffic
    is_quiet = now.taken == before.taken and before.waiting == now.waiting == 0
    return is_quiet and now.received - before.received < LEAST_BYTES_PER_S * (now_s - first.at_s)


def is_stalled_answer(first: Sight, now: Traffic, now_s: float) -> bool:
    """Whether something was waiting to be taken all the time since `first`, and hardly anything was."""
    before = first.traffic
    is_waiting = before.waiting > 0 and now.waiting > 0
    return is_waiting and now.taken - before.taken < LEAST_BYTES_PER_S * (now_s - first.at_s)


class Laggards:
    """Watches the connections to `port`; `look` is called again and again."""

    def __init__(self, transfers: Transfers, port: int) -> None:
        self._transfers = transfers
        self._port = port
        self._seen: dict[tuple[int, str, int], Sight] = {}
        self._overdue_since: dict[str, float] = {}

    def look(self, now_s: float) -> int:
        """End the connections that were stalled for long enough; tells how many."""
        overdue = self._transfers.overdue(now_s)
        suspects = overdue[Kind.UPLOAD] | overdue[Kind.DOWNLOAD]
        since = self._overdue_since
        self._overdue_since = {address: since.get(address, now_s) for address in overdue[Kind.UPLOAD]}
        seen, self._seen, ended = self._seen, {}, 0
        for connection, ours in connections_to(self._port, suspects) if suspects else ():
            first = seen.get(connection.key, Sight(now_s, connection.traffic))
            self._seen[connection.key] = first
            if now_s - first.at_s < WATCHED_S:
                continue
            how = self._verdict(connection, first, overdue, now_s)
            self._seen[connection.key] = Sight(now_s, connection.traffic)
            if how is not None:
                ended += 1
                with suppress(OSError):
                    ours.shutdown(how)
        if ended:
            logger.warning("%d connections that had stalled were ended", ended)
        return ended

    def _verdict(
        self, connection: Connection, first: Sight, overdue: dict[Kind, set[str]], now_s: float
    ) -> int | None:
        """How to end this connection, or None."""
        address, traffic = connection.address, connection.traffic
        if address in overdue[Kind.DOWNLOAD] and is_stalled_answer(first, traffic, now_s):
            return socket.SHUT_RDWR
        if address not in overdue[Kind.UPLOAD] or address in overdue[Kind.ANSWER]:
            return None
        is_obstinate = now_s - self._overdue_since[address] >= OBSTINATE_S
        if (traffic.is_clients_turn or is_obstinate) and is_stalled_body(first, traffic, now_s):
            return socket.SHUT_RD
        return None


def watch(transfers: Transfers, clock: Clock, port: int) -> None:
    """Look once a second, for as long as the process lives; where there are too many connections, make room."""
    laggards, nobody, most = Laggards(transfers, port), threading.Event(), most_connections()

    def breathe() -> None:
        clock.wait(nobody, clock.monotonic_s() + BREATH_S)

    while True:
        clock.wait(nobody, clock.monotonic_s() + LOOK_S)
        try:
            make_room(port, most, breathe)
            laggards.look(clock.monotonic_s())
        except Exception:
            logger.exception("looking for stalled connections failed; it is tried again")
