"""The server on the wire: with a second, independent client, and byte by byte."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpirc_power.simulator.doors import MOST_CONNECTIONS
from lpirc_power.simulator.instrument import Instrument
from lpirc_power.simulator.links import INPUT_BUFFER, MOST_MESSAGES
from lpirc_power.simulator.loads import parse_load
from lpirc_power.simulator.vxi11 import Vxi11Server
from lpirc_power.simulator.xdr import Reader, opaque, uint
from tests.power.simulator.wire import (
    CLEAR,
    CORE,
    CREATE,
    DESTROY,
    END,
    LOCK,
    READ,
    STATUS_BYTE,
    TERMINATOR,
    UNLOCK,
    WAIT,
    WRITE,
    Wire,
)
from tests.timeouts import TIMEOUT_S


@pytest.fixture
def server() -> Iterator[Vxi11Server]:
    instrument = Instrument(parse_load("constant:36W", time.monotonic), time.monotonic)
    serving = Vxi11Server(instrument, "127.0.0.1", 0, max_receive=64)
    yield serving
    serving.close()


@pytest.fixture
def client(
    server: Vxi11Server,
    python_vxi11: Any,
) -> Iterator[Callable[[], Any]]:
    """Open python-vxi11 instruments on the server."""
    with contextlib.ExitStack() as stack:

        def connect() -> Any:
            instrument = python_vxi11.Instrument("127.0.0.1")
            instrument.client = python_vxi11.CoreClient("127.0.0.1", server.port)
            instrument.open()
            stack.callback(instrument.close)
            return instrument

        yield connect


@pytest.fixture
def wire(server: Vxi11Server) -> Iterator[Callable[[], Wire]]:
    with contextlib.ExitStack() as stack:

        def connect() -> Wire:
            connected = Wire(server.port)
            stack.enter_context(connected.socket)
            return connected

        yield connect


def test_a_second_independent_client_holds_a_conversation(client: Any) -> None:
    meter = client()
    assert meter.ask("*IDN?") == "YOKOGAWA,WT310,C2PH13047V,F1.03"
    meter.write(":COMMUNICATE:HEADER OFF;VERBOSE ON")
    meter.write(":RATE 100MS;:INTEGRATE:TIMER 0,0,30;:INTEGRATE:START")
    assert meter.ask(":INTEGRATE:STATE?;TIMER?") == "START;0,0,30"
    meter.write(":INTEGRATE:RESET")
    assert meter.ask(":STATUS:ERROR?").startswith("845,")
    meter.write(":INTEGRATE:STOP")
    assert meter.ask(":INTEGRATE:STATE?") == "STOP"
    assert meter.read_stb() == 0


def test_long_messages_come_in_chunks(client: Any) -> None:
    meter = client()
    assert meter.max_recv_size == 64
    assert meter.ask(";".join(["*OPC?"] * 60)) == ";".join("1" * 60)


def test_a_link_locked_by_another_is_refused_until_unlocked(client: Any) -> None:
    first = client()
    second = client()
    first.lock()
    second.lock_timeout = 0
    with pytest.raises(Exception, match="Device locked by another link"):
        second.ask("*IDN?")
    assert first.ask("*OPC?") == "1"
    first.unlock()
    assert second.ask("*OPC?") == "1"


def test_links_have_answers_of_their_own(client: Any) -> None:
    first = client()
    second = client()
    first.write("*IDN?")
    second.write("*OPC?")
    assert first.read().startswith("YOKOGAWA")
    assert second.read() == "1"


def test_an_unread_answer_is_dropped_by_the_next_message(client: Any) -> None:
    meter = client()
    meter.write("*IDN?")
    assert meter.ask("*OPC?") == "1"
    assert meter.ask(":STATUS:ERROR?").startswith("410,")


def test_clear_forgets_a_half_message_and_an_answer(wire: Any) -> None:
    line = wire()
    link = line.link()
    assert line.write(link, b"*IDN?\n:NONSENSE", flags=0) == 0
    assert line.call(CLEAR, uint(link, 0, 0, 0)).uint() == 0
    assert line.write(link, b"*OPC?") == 0
    assert line.read(link) == (0, 4, b"1\n")


def test_messages_end_at_newline_with_or_without_carriage_return_or_with_end(
    wire: Any,
) -> None:
    line = wire()
    link = line.link()
    for data, flags in (
        (b"*OPC?\n", 0),
        (b"*OPC?\r\n", 0),
        (b"*OPC?", END),
        (b"*OPC?\r\n", END),
    ):
        assert line.write(link, data, flags) == 0
        assert line.read(link) == (0, 4, b"1\n")


def test_a_read_says_why_it_ended(wire: Any) -> None:
    line = wire()
    link = line.link()
    line.write(link, b"*IDN?")
    assert line.read(link, size=8) == (0, 1, b"YOKOGAWA")
    assert line.read(link, size=1000, flags=TERMINATOR) == (
        0,
        2 | 4,
        b",WT310,C2PH13047V,F1.03\n",
    )


def test_a_read_without_answer_times_out_and_the_link_lives_on(wire: Any) -> None:
    line = wire()
    link = line.link()
    assert line.read(link, timeout_ms=20)[0] == 15
    line.write(link, b"*OPC?")
    assert line.read(link) == (0, 4, b"1\n")


def test_a_read_with_nothing_to_say_is_an_error_but_not_one_before_the_answer(
    wire: Any,
    server: Vxi11Server,
) -> None:
    line = wire()
    link = line.link()
    assert line.read(link, timeout_ms=0)[0] == 15
    line.write(link, b":STATUS:ERROR?;ERROR?")
    assert line.read(link)[2] == b'420,"Query unterminated";0,"No error"\n'
    server.instrument.faults.slow_s = 0.2
    line.write(link, b"*OPC?")
    assert line.read(link, timeout_ms=0)[0] == 15  # the answer has yet to come
    assert line.read(link)[2] == b"1\n"
    server.instrument.faults.slow_s = 0.0
    line.write(link, b":STATUS:ERROR?")
    assert line.read(link)[2] == b'0,"No error"\n'


def test_an_abort_ends_a_waiting_read(
    wire: Any,
    server: Vxi11Server,
) -> None:
    line = wire()
    reader = line.call(CREATE, uint(1, 0, 0) + opaque(b"inst0"))
    error, link, abort_port, _ = (reader.uint() for _ in range(4))
    assert error == 0
    line.send(READ, uint(link, 100, 20000, 0, 0, 0))
    with contextlib.closing(Wire(abort_port).socket) as other:
        aborting = Wire.__new__(Wire)
        aborting.socket = other
        aborting.transaction = 0
        ended = threading.Event()

        def abort_until_ended() -> None:
            # The read may not have begun when the first abort comes.
            while not ended.wait(0.01):
                assert aborting.call(1, uint(link), program=CORE + 1).uint() == 0

        thread = threading.Thread(target=abort_until_ended)
        thread.start()
        reply = Reader(line.receive())
        ended.set()
        thread.join()
    assert [reply.uint() for _ in range(7)][6] == 23


def test_waiting_for_an_update_answers_when_it_comes(
    client: Any,
    server: Vxi11Server,
) -> None:
    meter = client()
    meter.write(":STATUS:FILTER1 FALL;:STATUS:EESR?")
    meter.read()
    meter.write(":COMMUNICATE:WAIT? 1")
    instrument = server.instrument
    deadline_s = time.monotonic() + TIMEOUT_S
    while not meter.read_stb() & 16:
        assert time.monotonic() < deadline_s
        instrument.tick()
    assert meter.read().endswith("1")


def test_a_dropped_connection_frees_its_lock_and_links(
    wire: Any,
    server: Vxi11Server,
) -> None:
    first = wire()
    second = wire()
    held = first.link()
    other = second.link()
    assert first.call(LOCK, uint(held, 0, 0)).uint() == 0
    assert second.write(other, b"*OPC?") == 11
    first.socket.close()
    assert second.call(LOCK, uint(other, WAIT, 10000)).uint() == 0
    assert second.call(UNLOCK, uint(other)).uint() == 0
    assert second.call(UNLOCK, uint(other)).uint() == 12
    assert second.call(DESTROY, uint(other)).uint() == 0
    assert second.call(DESTROY, uint(other)).uint() == 4
    assert second.write(other, b"*OPC?") == 4


def test_a_record_in_fragments_is_one_call(wire: Any) -> None:
    line = wire()
    record = (
        uint(9, 0, 2, CORE, 1, CREATE, 0, 0, 0, 0) + uint(1, 0, 0) + opaque(b"inst0")
    )
    for at in range(0, len(record), 4):
        last = 0x80000000 if at + 4 >= len(record) else 0
        line.socket.sendall(uint(4 | last))
        line.socket.sendall(record[at : at + 4])
    reader = Reader(line.receive())
    assert [reader.uint() for _ in range(7)] == [9, 1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("header", "reply"),
    [
        ({"program": CORE + 7}, [1, 0, 0, 0, 1]),
        ({"version": 2}, [1, 0, 0, 0, 2, 1, 1]),
        ({"procedure": 99}, [1, 0, 0, 0, 3]),
        ({"procedure": CREATE}, [1, 0, 0, 0, 4]),
        ({"rpc": 3}, [1, 1, 0, 2, 2]),
        ({"procedure": 0}, [1, 0, 0, 0, 0]),
        ({"procedure": 25}, [1, 0, 0, 0, 0, 8]),
    ],
)
def test_wrong_calls_get_the_errors_of_rpc(
    wire: Any,
    header: dict[str, int],
    reply: list[int],
) -> None:
    line = wire()
    line.send(**{"procedure": 12, "body": b"", **header})
    reader = Reader(line.receive())
    assert reader.uint() == line.transaction
    assert [reader.uint() for _ in reply] == reply


@pytest.mark.parametrize(
    "rubbish",
    [b"\xff\xff\xff\xff", b"GET / HTTP/1.1\r\n\r\n", b"\x80\x00\x00\x04abcd"],
)
def test_what_is_no_call_ends_that_connection_only(
    wire: Any,
    rubbish: bytes,
) -> None:
    line = wire()
    sound = wire()
    line.socket.sendall(rubbish)
    # What was sent after the first fault is never read.
    with contextlib.suppress(ConnectionResetError):
        assert line.socket.recv(1) == b""
    assert sound.link() > 0


def test_links_are_limited_and_come_back(wire: Any) -> None:
    line = wire()
    links = [line.link() for _ in range(32)]
    assert line.call(CREATE, uint(1, 0, 0) + opaque(b"inst0")).uint() == 9
    assert line.call(DESTROY, uint(links[0])).uint() == 0
    assert line.link() not in links


def test_serial_poll_tells_of_a_waiting_answer(wire: Any) -> None:
    line = wire()
    link = line.link()
    line.write(link, b"*OPC?")
    deadline_s = time.monotonic() + TIMEOUT_S
    while True:
        reader = line.call(STATUS_BYTE, uint(link, 0, 0, 0))
        assert reader.uint() == 0
        if reader.uint() & 16:
            break
        assert time.monotonic() < deadline_s
    assert line.read(link) == (0, 4, b"1\n")


def test_a_message_that_waits_leaves_its_link_alive(wire: Any) -> None:
    line = wire()
    link = line.link()
    assert line.write(link, b":COMM:WAIT 65535;*OPC?") == 0
    assert line.read(link, timeout_ms=20)[0] == 15
    reader = line.call(STATUS_BYTE, uint(link, 0, 0, 0))
    assert reader.uint() == 0
    assert reader.uint() == 0
    assert line.call(CLEAR, uint(link, 0, 0, 0)).uint() == 0
    assert line.write(link, b"*OPC?") == 0
    assert line.read(link) == (0, 4, b"1\n")


def test_messages_of_many_links_are_run_one_by_one_and_none_is_lost(wire: Any) -> None:
    lines = [wire() for _ in range(6)]
    links = [line.link() for line in lines]
    wrong: list[object] = []

    def converse(
        line: Wire,
        link: int,
    ) -> None:
        for count in range(1, 60):
            line.write(link, b";".join([b"*OPC?"] * count))
            answer = line.read(link)[2]
            if answer != b";".join([b"1"] * count) + b"\n":
                wrong.append(answer)

    threads = [
        threading.Thread(target=converse, args=pair)
        for pair in zip(lines, links, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_long_writes_come_in_chunks_with_the_end_on_the_last(wire: Any) -> None:
    line = wire()
    link = line.link()
    message = b";".join([b"*OPC?"] * 20)
    for at in range(0, len(message), 7):
        last = END if at + 7 >= len(message) else 0
        assert line.write(link, message[at : at + 7], last) == 0
    assert line.read(link) == (0, 4, b";".join([b"1"] * 20) + b"\n")


def test_messages_behind_one_that_waits_are_bounded(wire: Any) -> None:
    line = wire()
    link = line.link()
    assert line.write(link, b":COMM:WAIT 32768") == 0
    errors = [line.write(link, b"*OPC?") for _ in range(MOST_MESSAGES + 2)]
    assert errors == [0] * (MOST_MESSAGES - 1) + [15] * 3
    assert line.call(CLEAR, uint(link, 0, 0, 0)).uint() == 0
    assert line.write(link, b"*OPC?") == 0
    assert line.read(link) == (0, 4, b"1\n")


def test_a_message_longer_than_the_buffer_is_refused(wire: Any) -> None:
    line = wire()
    link = line.link()
    assert line.write(link, b"*OPC?;" * 20000) == 9
    assert [line.write(link, b"x" * 8192, flags=0) for _ in range(3)] == [0, 0, 9]
    assert line.write(link, b"*OPC?") == 0
    assert line.read(link) == (0, 4, b"1\n")


def test_too_many_connections_are_closed_at_once_and_the_others_live(
    wire: Any,
    server: Vxi11Server,
) -> None:
    first = wire()
    link = first.link()
    many = [wire() for _ in range(MOST_CONNECTIONS + 5)]
    assert first.write(link, b"*OPC?") == 0
    refused = 0
    for line in many:
        with contextlib.suppress(AssertionError, ConnectionError):
            line.call(0)
            continue
        refused += 1
    assert refused == 6
    for line in many:
        line.socket.close()
    assert first.read(link) == (0, 4, b"1\n")


@given(
    st.lists(st.binary(max_size=60), max_size=3),
    st.sampled_from([0, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]),
)
@settings(max_examples=60)
@pytest.mark.parametrize("channel", ["port", "abort_port"])
def test_no_rubbish_on_either_channel_keeps_the_meter_from_others(
    server: Vxi11Server,
    channel: str,
    parts: list[bytes],
    mark: int,
) -> None:
    program = CORE if channel == "port" else CORE + 1
    with (
        contextlib.suppress(ConnectionError),
        socket.create_connection(
            ("127.0.0.1", getattr(server, channel)),
            timeout=TIMEOUT_S,
        ) as line,
    ):
        for part in parts:
            record = (
                uint(1, 0, 2, program, 1, part[0] % 28 if part else 1, 0, 0, 0, 0)
                + part
            )
            line.sendall(uint(len(record) | 0x80000000) + record)
        line.sendall(uint(mark) + b"half a record")
    with contextlib.closing(Wire(server.port).socket) as sound:
        asking = Wire.__new__(Wire)
        asking.socket = sound
        asking.transaction = 0
        link = asking.link()
        assert asking.write(link, b"*OPC?") == 0
        assert asking.read(link) == (0, 4, b"1\n")


def test_no_thread_is_left_when_it_is_closed_with_everything_under_way(
    until: Any,
) -> None:
    before = set(threading.enumerate())
    instrument = Instrument(parse_load("constant:36W", time.monotonic), time.monotonic)
    server = Vxi11Server(instrument, "127.0.0.1", 0)
    with contextlib.ExitStack() as stack:
        lines = [Wire(server.port) for _ in range(4)]
        for line in lines:
            stack.enter_context(line.socket)
        reading, waiting, blocked, half = lines
        reading.send(READ, uint(reading.link(), 100, 60000, 0, 0, 0))
        link = waiting.link()
        waiting.write(link, b":COMM:WAIT 32768")
        waiting.write(link, b" " * (INPUT_BUFFER - 10) + b"*OPC?")
        blocked.send(
            WRITE,
            uint(blocked.link(), 60000, 0, END) + opaque(b"*OPC?;" * 400),
        )
        half.socket.sendall(uint(0x80000400) + b"half")
        server.cut(3600)
        server.close()
        until(lambda: set(threading.enumerate()) <= before)
