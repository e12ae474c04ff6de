"""Who gives up connections when there are too many, and which."""

from __future__ import annotations

import socket
import sys
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.web.crowds import make_room, surplus, to_leave


@given(counts=st.dictionaries(st.text(max_size=2), st.integers(1, 50), max_size=8), room=st.integers(0, 200))
def test_what_is_left_fits_and_nobody_has_less_for_another_s_greed(counts: dict[str, int], room: int) -> None:
    owed = surplus(counts, room)
    left = {address: count - owed.get(address, 0) for address, count in counts.items()}
    assert all(count >= 0 for count in left.values())
    assert sum(left.values()) <= room or not owed
    if sum(counts.values()) <= room:
        assert not owed
    elif counts:
        assert sum(left.values()) > room - len(counts)
        assert all(counts[address] - owed[address] >= max(left.values()) for address in owed)


def test_no_more_go_than_must_and_who_is_at_work_stays_however_many_addresses_there_are() -> None:
    idle = [(number * 1000, (number, f"10.0.0.{number}", 1)) for number in range(10)]
    assert [place for place, _, _ in to_leave(idle, 6)] == [9, 8, 7, 6]
    many = [(number, (number, "10.0.1.1" if number else "10.0.1.2", 1)) for number in range(10)]
    assert [place for place, _, _ in to_leave(many, 6)] == [9, 8, 7, 6]
    assert to_leave(idle, 10) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of each connection")
def test_the_idlest_connections_of_the_greediest_are_ended() -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        clients = []
        for address in ["127.0.0.2"] * 200 + ["127.0.0.3"]:
            client = stack.enter_context(socket.socket())
            # Its port is chosen as it connects: chosen at bind, it may be the listener's own, at another address.
            client.setsockopt(socket.IPPROTO_IP, socket.IP_BIND_ADDRESS_NO_PORT, 1)
            client.bind((address, 0))
            client.connect(listener.getsockname())
            stack.enter_context(listener.accept()[0])
            clients.append(client)
        breaths: list[None] = []
        assert make_room(listener.getsockname()[1], 1000, lambda: breaths.append(None)) == 0
        assert make_room(listener.getsockname()[1], 42, lambda: breaths.append(None)) == 201 - 21
        assert breaths
        ended = [is_ended(client) for client in clients]
        assert sum(ended[:200]) == 180
        assert not ended[200]


def is_ended(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False
