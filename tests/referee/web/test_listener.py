"""Ports: held for the server, refused where somebody listens."""

from __future__ import annotations

import socket

import pytest

from referee.errors import RefereeError
from referee.web.listener import Listen, held_port, with_free_port


def test_a_port_that_the_system_chose_is_ours_from_then_on_and_nobody_else_s() -> None:
    with held_port(Listen(port=0)) as listen:
        assert listen.port > 0
        with pytest.raises(OSError, match="in use"), socket.socket() as other:
            other.bind((listen.host, listen.port))
        with socket.socket() as server:  # as Granian does
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            server.bind((listen.host, listen.port))
            server.listen()
            with socket.create_connection((listen.host, listen.port)):
                server.accept()[0].close()
            with pytest.raises(RefereeError) as caught:
                with_free_port(listen)
            assert caught.value.code == "port-busy"
