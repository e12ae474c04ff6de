"""What may answer at an address in place of a meter, and meters that answer too slowly to ever end."""

from __future__ import annotations

import contextlib
import http.server
import itertools
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest
from pyvisa_py.protocols import rpc

from lpirc_power.errors import MeterError
from lpirc_power.visa import library
from lpirc_power.visa import link as visa
from lpirc_power.visa.link import Link
from tests.power.peer import Instrument, Peer

Talk = Callable[[socket.socket], None]
LAST_FRAGMENT = 0x80000000


def call(connection: socket.socket) -> int:
    """Take one RPC call; returns its number."""
    (mark,) = struct.unpack(">I", connection.recv(4, socket.MSG_WAITALL))
    return int.from_bytes(
        connection.recv(mark & ~LAST_FRAGMENT, socket.MSG_WAITALL)[:4],
        "big",
    )


def answer(
    connection: socket.socket,
    *numbers: int,
) -> None:
    body = struct.pack(f">{len(numbers)}I", *numbers)
    connection.sendall(struct.pack(">I", len(body) | LAST_FRAGMENT) + body)


def echo(connection: socket.socket) -> None:
    while data := connection.recv(4096):
        connection.sendall(data)


def banner(connection: socket.socket) -> None:
    connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")
    connection.recv(4096)


def other_program(connection: socket.socket) -> None:
    answer(connection, call(connection), 1, 0, 0, 0, 1)


def cut_short(connection: socket.socket) -> None:
    answer(connection, call(connection), 1, 0, 0, 0, 0)


def drip(connection: socket.socket) -> None:
    call(connection)
    connection.sendall(struct.pack(">I", 1000 | LAST_FRAGMENT))
    pace = threading.Event()
    while not pace.wait(0.02):
        connection.sendall(b"\0")


@pytest.fixture
def serve() -> Iterator[Callable[[Talk], int]]:
    """Serve one kind of talk at a port of its own."""
    with contextlib.ExitStack() as stack:

        def start(talk: Talk) -> int:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

            def run() -> None:
                with contextlib.suppress(OSError, struct.error):
                    while True:
                        with (
                            listener.accept()[0] as connection,
                            contextlib.suppress(ConnectionError, TimeoutError),
                        ):
                            connection.settimeout(10.0)
                            talk(connection)

            thread = threading.Thread(target=run)
            thread.start()
            stack.callback(thread.join)
            stack.callback(listener.shutdown, socket.SHUT_RDWR)
            return int(listener.getsockname()[1])

        yield start


def refusal(address: str) -> str:
    with pytest.raises(MeterError) as caught:
        Link(address)
    assert caught.value.code == "meter-unreachable"
    assert address in caught.value.sentence
    return caught.value.sentence


@pytest.mark.parametrize("talk", [echo, banner, other_program, cut_short])
def test_what_is_not_a_vxi11_server_is_named_as_such_at_once(
    serve: Callable[[Talk], int],
    talk: Talk,
) -> None:
    sentence = refusal(f"TCPIP::127.0.0.1,{serve(talk)}::INSTR")
    assert "answers with something else; it does not speak VXI-11" in sentence


def test_a_web_server_is_not_taken_for_a_meter() -> None:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        sentence = refusal(f"TCPIP::127.0.0.1,{server.server_port}::INSTR")
        server.shutdown()
        thread.join()
    assert "it does not speak VXI-11" in sentence


@pytest.mark.parametrize("talk", [echo, banner, cut_short])
def test_what_is_not_a_portmapper_is_named_as_such(
    serve: Callable[[Talk], int],
    monkeypatch: pytest.MonkeyPatch,
    talk: Talk,
) -> None:
    monkeypatch.setattr(rpc, "PMAP_PORT", serve(talk))  # 111 is for root
    assert "answers with something else; it does not speak VXI-11" in refusal(
        "TCPIP::127.0.0.1::INSTR"
    )


def test_a_portmapper_that_gives_port_0_knows_no_meter(
    serve: Callable[[Talk], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_port(connection: socket.socket) -> None:
        answer(connection, call(connection), 1, 0, 0, 0, 0, 0)

    monkeypatch.setattr(rpc, "PMAP_PORT", serve(no_port))
    assert "is a portmapper that knows no meter" in refusal("TCPIP::127.0.0.1::INSTR")


@pytest.mark.parametrize("mapped", [False, True])
def test_a_peer_that_drips_does_not_hang_the_opening(
    serve: Callable[[Talk], int],
    monkeypatch: pytest.MonkeyPatch,
    mapped: bool,
) -> None:
    monkeypatch.setattr(library, "OPENING_S", 0.3)
    port = serve(drip)
    monkeypatch.setattr(rpc, "PMAP_PORT", port)
    sentence = refusal(
        "TCPIP::127.0.0.1::INSTR" if mapped else f"TCPIP::127.0.0.1,{port}::INSTR"
    )
    assert "took too long" in sentence


class Dripping(Instrument):
    """It gives an answer without end, a byte a read."""

    def read(
        self,
        timeout_s: float,
    ) -> str | None:
        threading.Event().wait(0.02)
        return "1"


def test_an_answer_without_end_is_a_lost_link_after_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(visa, "SLACK_S", 0.2)
    monkeypatch.setattr("tests.power.peer.END", 0)
    with (
        contextlib.closing(Peer(Dripping())) as peer,
        contextlib.closing(Link(peer.address)) as link,
    ):
        with pytest.raises(
            MeterError,
            match="took too long",
        ) as caught:
            link.query("*IDN?", timeout_ms=100)
        assert caught.value.code == "meter-lost"


def test_an_answer_may_take_its_whole_time_and_the_link_is_good_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(visa, "SLACK_S", 0.2)
    waits = itertools.chain([0.15], itertools.repeat(0.0))
    peer = Peer(Instrument(), wait=lambda: threading.Event().wait(next(waits)))
    with contextlib.closing(peer), contextlib.closing(Link(peer.address)) as link:
        assert link.query("*IDN?", timeout_ms=200).startswith("YOKOGAWA,WT310")
        assert link.query(":INTEGRATE:STATE?") == "RESET"
