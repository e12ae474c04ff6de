from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.simulator.instrument import Instrument
from lpirc_power.simulator.loads import parse_load
from lpirc_power.simulator.portmapper import Portmapper
from lpirc_power.simulator.vxi11 import ABORT_PROGRAM, CORE_PROGRAM, Vxi11Server
from lpirc_power.simulator.xdr import Reader, uint
from tests.power.simulator.wire import Wire, call_record
from tests.timeouts import TIMEOUT_S

PROGRAM = 100000


@pytest.fixture
def server() -> Iterator[Vxi11Server]:
    instrument = Instrument(parse_load("constant:36W", time.monotonic), time.monotonic)
    serving = Vxi11Server(instrument, "127.0.0.1", 0)
    yield serving
    serving.close()


@pytest.fixture
def mapper(server: Vxi11Server) -> Iterator[Portmapper]:
    ports = {CORE_PROGRAM: server.port, ABORT_PROGRAM: server.abort_port}
    with contextlib.closing(Portmapper(ports, "127.0.0.1", 0)) as mapping:
        yield mapping


@pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning"
)  # python-vxi11 leaves its portmapper client open
def test_an_independent_client_finds_the_meter_by_its_host_alone(
    server: Vxi11Server,
    mapper: Portmapper,
    python_vxi11: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(python_vxi11.rpc, "PMAP_PORT", mapper.port)  # 111 is for root
    meter = python_vxi11.Instrument("127.0.0.1")
    assert meter.ask("*IDN?").startswith("YOKOGAWA,WT310,")
    meter.abort()
    meter.close()


@pytest.mark.parametrize("transport", ["TCP", "UDP"])
def test_ports_are_told_over_tcp_and_udp(
    server: Vxi11Server,
    mapper: Portmapper,
    python_vxi11: Any,
    monkeypatch: pytest.MonkeyPatch,
    transport: str,
) -> None:
    rpc = python_vxi11.rpc
    monkeypatch.setattr(rpc, "PMAP_PORT", mapper.port)
    client = getattr(rpc, f"{transport}PortMapperClient")("127.0.0.1")
    with client.sock:
        assert client.get_port((CORE_PROGRAM, 1, 6, 0)) == server.port
        assert client.get_port((ABORT_PROGRAM, 1, 6, 0)) == server.abort_port
        assert client.get_port((CORE_PROGRAM, 1, 17, 0)) == 0
        assert client.get_port((99, 1, 6, 0)) == 0
        assert client.dump() == [
            (CORE_PROGRAM, 1, 6, server.port),
            (ABORT_PROGRAM, 1, 6, server.abort_port),
        ]


@pytest.mark.parametrize(
    ("header", "reply"),
    [
        ({"program": 7}, [1, 0, 0, 0, 1]),
        ({"version": 3}, [1, 0, 0, 0, 2, 2, 2]),
        ({"procedure": 5}, [1, 0, 0, 0, 3]),
        ({"procedure": 3}, [1, 0, 0, 0, 4]),
        ({"procedure": 0}, [1, 0, 0, 0, 0]),
        ({"rpc": 3}, [1, 1, 0, 2, 2]),
    ],
)
def test_wrong_calls_get_the_errors_of_rpc(
    mapper: Portmapper,
    header: dict[str, int],
    reply: list[int],
) -> None:
    line = Wire(mapper.port)
    with line.socket:
        line.send(
            **{
                "procedure": 3,
                "body": b"",
                "program": PROGRAM,
                "version": 2,
                **header,
            }
        )  # type: ignore[arg-type]
        reader = Reader(line.receive())
        assert [reader.uint() for _ in range(1 + len(reply))] == [1, *reply]


def test_rubbish_in_a_datagram_is_passed_over(
    mapper: Portmapper,
    server: Vxi11Server,
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(20)
        for rubbish in (
            b"abc",
            b"",
            b"\xff" * 5000,
            call_record(1, 3, b"", PROGRAM, 2)[:30],
        ):
            asking.sendto(rubbish, ("127.0.0.1", mapper.port))
        body = uint(CORE_PROGRAM, 1, 6, 0)
        asking.sendto(call_record(5, 3, body, PROGRAM, 2), ("127.0.0.1", mapper.port))
        assert asking.recv(1000) == uint(5, 1, 0, 0, 0, 0, server.port)


@pytest.mark.parametrize(
    "rubbish",
    [
        b"\xff\xff\xff\xff",
        uint(0x7FFFFFFF) + b"x" * 100,
        uint(0x80000028) + b"half",
        uint(0x80000028) + uint(1, 0, 2, PROGRAM, 2, 3, 0, 0xFFFFFFFF, 0, 0),
        uint(0) * 1000,
    ],
)
def test_rubbish_on_a_connection_ends_that_one_only(
    mapper: Portmapper,
    server: Vxi11Server,
    rubbish: bytes,
) -> None:
    with socket.create_connection(
        ("127.0.0.1", mapper.port),
        timeout=TIMEOUT_S,
    ) as line:
        line.sendall(rubbish)
        line.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            assert line.recv(100) == b""
    sound = Wire(mapper.port)
    with sound.socket:
        reply = sound.call(3, uint(CORE_PROGRAM, 1, 6, 0), program=PROGRAM, version=2)
        assert reply.uint() == server.port


def test_no_thread_is_left_when_it_is_closed(
    server: Vxi11Server,
    until: Any,
) -> None:
    before = set(threading.enumerate())
    mapping = Portmapper({}, "127.0.0.1", 0)
    with socket.create_connection(
        ("127.0.0.1", mapping.port),
        timeout=TIMEOUT_S,
    ) as line:
        line.sendall(uint(0x80000028) + b"half")
        mapping.close()
        until(lambda: set(threading.enumerate()) <= before)


def test_a_taken_port_is_told_with_what_to_do(mapper: Portmapper) -> None:
    with pytest.raises(MeterError) as caught:
        Portmapper({}, "127.0.0.1", mapper.port)
    assert caught.value.code == "simulator-port"
    assert str(mapper.port) in caught.value.sentence
    assert "rpcbind" in caught.value.sentence


@pytest.mark.skipif(
    os.geteuid() == 0,
    reason="root may take port 111; an ordinary user tries it",
)
def test_a_port_one_may_not_have_is_told_with_what_to_do() -> None:
    with pytest.raises(MeterError) as caught:
        Portmapper({}, "127.0.0.1")
    assert caught.value.code == "simulator-port"
    assert "111" in caught.value.sentence
