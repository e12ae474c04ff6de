"""Which connections are ended when a transfer is overdue; on real sockets, with a clock that is told."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from referee.web.connections import Traffic, connections_to
from referee.web.laggards import OBSTINATE_S, WATCHED_S, Laggards
from referee.web.transfers import GRACE_S, LEAST_BYTES_PER_S, Kind, Transfers
from tests.contest_day import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of each connection")
DUE_S = GRACE_S
OTHER = "127.0.0.9"


@dataclass
class Ends:
    """Both ends of a connection."""

    client: socket.socket
    server: socket.socket

    def is_ended(self) -> bool:
        self.server.setblocking(False)
        try:
            return self.server.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False


@dataclass
class Floor:
    """A listening socket and who talks to it."""

    listener: socket.socket
    stack: ExitStack
    transfers: Transfers
    laggards: Laggards

    def connect(self, address: str = "127.0.0.1") -> Ends:
        client = self.stack.enter_context(socket.socket())
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.bind((address, 0))
        client.connect(self.listener.getsockname())
        server, _ = self.listener.accept()
        return Ends(client, self.stack.enter_context(server))


@pytest.fixture
def floor() -> Iterator[Floor]:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        transfers = Transfers()
        yield Floor(listener, stack, transfers, Laggards(transfers, listener.getsockname()[1]))


def test_nobody_is_ended_while_nothing_is_overdue(floor: Floor) -> None:
    ends = floor.connect()
    floor.transfers.begin(Kind.UPLOAD, 1, "127.0.0.1", 0.0)
    assert [floor.laggards.look(s) for s in (0.0, DUE_S - 1, DUE_S - 0.1)] == [0, 0, 0]
    assert not ends.is_ended()


def test_a_body_that_does_not_come_is_ended_and_another_address_is_left_alone(floor: Floor) -> None:
    silent, other = floor.connect(), floor.connect(OTHER)
    for ends in (silent, other):
        ends.client.sendall(b"a part")
    floor.transfers.begin(Kind.UPLOAD, 1, "127.0.0.1", 0.0)
    assert floor.laggards.look(DUE_S) == 0  # first it is watched
    assert floor.laggards.look(DUE_S + WATCHED_S) == 1
    assert silent.server.recv(100) == b"a part"
    assert silent.is_ended()
    assert not other.is_ended() or other.server.recv(100) == b"a part"
    silent.server.sendall(b"why")
    assert silent.client.recv(3) == b"why"


def test_a_body_that_drips_is_ended_and_one_that_flows_is_not(floor: Floor) -> None:
    dripping, flowing = floor.connect(), floor.connect()
    dripping.client.sendall(b"x")
    dripping.server.recv(1)
    floor.transfers.begin(Kind.UPLOAD, 1, "127.0.0.1", 0.0)
    floor.laggards.look(DUE_S)
    dripping.client.sendall(b"x")
    enough = int(LEAST_BYTES_PER_S * WATCHED_S) + 1
    while enough > 0:
        enough -= flowing.client.send(bytes(min(enough, 2**16)))
        flowing.server.recv(2**20)
    until(lambda: floor.laggards.look(DUE_S + WATCHED_S) or dripping.is_ended())
    dripping.server.recv(1)
    assert dripping.is_ended()
    flowing.client.sendall(b"more")
    until(lambda: flowing.server.recv(2**20).endswith(b"more"))


def test_a_request_that_is_answered_for_long_spares_its_address(floor: Floor) -> None:
    waiting = floor.connect()
    waiting.client.sendall(b"a part")
    waiting.server.recv(100)
    floor.transfers.begin(Kind.UPLOAD, 1, "127.0.0.1", 0.0)
    answering = floor.transfers.begin(Kind.ANSWER, 1, "127.0.0.1", 0.0)
    assert [floor.laggards.look(DUE_S + n) for n in range(8)] == [0] * 8
    floor.transfers.end(answering)
    assert sum(floor.laggards.look(DUE_S + 8 + n) for n in range(int(WATCHED_S))) == 1
    assert waiting.is_ended()


def test_a_connection_on_which_we_spoke_last_is_ended_only_if_the_body_is_nowhere_else(floor: Floor) -> None:
    idle, unused, stalled = (floor.connect() for _ in range(3))
    idle.client.sendall(b"request")
    idle.server.recv(100)
    until(lambda: traffic_of(floor, idle).heard_ms > 10)  # the kernel's clock goes in steps
    idle.server.sendall(b"answer")
    idle.client.recv(100)
    until(lambda: traffic_of(floor, idle).taken > 0)
    stalled.client.sendall(b"a part")
    stalled.server.recv(100)
    floor.transfers.begin(Kind.UPLOAD, 1, "127.0.0.1", 0.0)
    for second in range(int(OBSTINATE_S)):
        floor.laggards.look(DUE_S + second)
    assert stalled.is_ended()
    assert not idle.is_ended()
    assert sum(floor.laggards.look(DUE_S + OBSTINATE_S + n) for n in range(int(WATCHED_S))) >= 1
    assert idle.is_ended()
    assert unused.is_ended()


def traffic_of(floor: Floor, ends: Ends) -> Traffic:
    place = ends.client.getsockname()[1]
    seen = connections_to(floor.listener.getsockname()[1])
    return next(connection.traffic for connection, _ in seen if connection.key[2] == place)


def test_an_answer_that_is_not_taken_is_ended_and_one_that_is_taken_is_not(floor: Floor) -> None:
    stalled, reading = floor.connect(), floor.connect()
    floor.transfers.begin(Kind.DOWNLOAD, 1, "127.0.0.1", 0.0)
    for ends in (stalled, reading):
        ends.server.setblocking(False)
        fill(ends.server)
    floor.laggards.look(DUE_S)
    taken = 0
    while taken < LEAST_BYTES_PER_S * WATCHED_S + 2**16:
        taken += len(reading.client.recv(2**16))
        fill(reading.server)
    assert floor.laggards.look(DUE_S + WATCHED_S) == 1
    with pytest.raises(BrokenPipeError):
        stalled.server.send(b"x")


def fill(sender: socket.socket) -> None:
    try:
        while True:
            sender.send(bytes(2**16))
    except BlockingIOError:
        pass
