"""Faults on demand, over the real socket, seen by a real client."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.simulator.control import CONTROLS, LONGEST_LINE, ControlServer
from lpirc_power.simulator.instrument import Instrument
from lpirc_power.simulator.loads import parse_load
from lpirc_power.simulator.vxi11 import Vxi11Server
from tests.power.simulator.wire import Wire
from tests.timeouts import TIMEOUT_S

VALUES = ":NUMERIC:NORMAL:NUMBER 3;ITEM1 P;ITEM2 WH;ITEM3 TIME"


@dataclass
class Bench:
    """A meter on a clock that is moved by hand, its server, and its control socket."""

    instrument: Instrument
    server: Vxi11Server
    control: ControlServer

    def tell(
        self,
        line: str,
    ) -> str:
        host, port = self.control.address.split(":")
        with socket.create_connection(
            (host, int(port)),
            timeout=TIMEOUT_S,
        ) as connection:
            connection.sendall(line.encode() + b"\n")
            return connection.makefile().readline().rstrip("\n")

    def state(self) -> dict[str, Any]:
        verdict, _, text = self.tell("state").partition(" ")
        assert verdict == "ok"
        facts: dict[str, Any] = json.loads(text)
        return facts


@pytest.fixture
def bench(
    meter: Callable[..., Instrument],
) -> Iterator[Bench]:
    instrument = meter()
    instrument.execute(VALUES + ";:INPUT:CURRENT:RANGE 500MA;:INPUT:VOLTAGE:RANGE 150V")
    with (
        contextlib.closing(Vxi11Server(instrument, "127.0.0.1", 0)) as server,
        contextlib.closing(ControlServer(server, 0)) as control,
    ):
        yield Bench(instrument, server, control)


@pytest.fixture
def wire(bench: Bench) -> Iterator[Callable[[], Wire]]:
    with contextlib.ExitStack() as stack:

        def connect() -> Wire:
            line = Wire(bench.server.port)
            stack.enter_context(line.socket)
            return line

        yield connect


def ended(line: Wire) -> bool:
    try:
        return line.socket.recv(1) == b""
    except ConnectionResetError:
        return True


def test_it_listens_on_this_host_only(bench: Bench) -> None:
    assert bench.control.address.startswith("127.0.0.1:")


def test_a_dropped_link_is_cut_and_refused_until_it_is_healed(
    bench: Bench,
    wire: Any,
) -> None:
    line = wire()
    line.link()
    assert bench.tell("drop-link 3600") == "ok"
    assert ended(line)
    with pytest.raises(ConnectionRefusedError):
        wire()
    assert bench.tell("heal") == "ok"
    again = wire()
    link = again.link()
    again.write(link, b"*OPC?")
    assert again.read(link) == (0, 4, b"1\n")


def test_a_dropped_link_comes_back_by_itself(
    bench: Bench,
    wire: Any,
    until: Any,
) -> None:
    assert bench.tell("drop-link 0.2") == "ok"

    def back() -> bool:
        with contextlib.suppress(ConnectionRefusedError):
            return bool(wire().link())
        return False

    until(back)


def test_a_link_dropped_for_no_time_is_only_cut(
    bench: Bench,
    wire: Any,
) -> None:
    line = wire()
    line.link()
    assert bench.tell("drop-link") == "ok"
    assert ended(line)
    assert wire().link() > 0


def test_a_hung_meter_takes_connections_and_answers_nothing(
    bench: Bench,
    wire: Any,
) -> None:
    assert bench.tell("hang 3600") == "ok"
    line = wire()
    line.socket.settimeout(0.2)
    with pytest.raises(TimeoutError):
        line.link()
    assert list(bench.state()["faults"]) == ["hang"]
    assert bench.tell("heal") == "ok"
    line.socket.settimeout(20)
    assert line.receive()


def test_a_slow_meter_answers_late(
    bench: Bench,
    wire: Any,
) -> None:
    line = wire()
    link = line.link()
    bench.tell("slow 3600000")
    assert line.write(link, b"*OPC?") == 0
    assert line.read(link, timeout_ms=20)[0] == 15
    bench.tell("heal")
    assert line.read(link) == (0, 4, b"1\n")
    bench.tell("slow 30")
    began_s = time.monotonic()
    line.write(link, b"*OPC?")
    assert line.read(link) == (0, 4, b"1\n")
    assert time.monotonic() - began_s >= 0.03


def test_a_wrong_answer_is_given_once(
    bench: Bench,
    wire: Any,
) -> None:
    line = wire()
    link = line.link()
    assert bench.tell("wrong YOKOGAWA,WT500,X,F9") == "ok"
    for answer in (b"YOKOGAWA,WT500,X,F9\n", b"1\n"):
        line.write(link, b"*OPC?")
        assert line.read(link) == (0, 4, answer)


def test_no_data_over_range_and_clipping_last_as_long_as_told(
    bench: Bench,
    clock: Any,
) -> None:
    box = bench.instrument
    box.execute(":INTEGRATE:START")
    clock.pass_s(10)
    for fault, seen in (
        ("nan", "NAN;0"),
        ("over-range", "INF;64"),
        ("clip", "18.000E+00;256"),
    ):
        assert bench.tell(f"{fault} 5") == "ok"
        assert list(bench.state()["faults"]) == [fault]
        clock.pass_s(5)
        assert box.execute(":NUMERIC:VALUE? 1;:STATUS:CONDITION?").startswith(
            seen.split(";")[0]
        )
        condition = int(box.execute(":STATUS:CONDITION?") or 0)
        assert condition & ~2 == int(seen.split(";")[1])
        clock.pass_s(5)
        assert box.execute(":NUMERIC:VALUE? 1;:STATUS:CONDITION?") == "36.000E+00;2"
    box.execute(":INTEGRATE:STOP")
    facts = bench.state()
    assert facts["faults"] == {}
    assert facts["elapsed_s"] == pytest.approx(40)
    assert facts["true_energy_wh"] == pytest.approx(0.4)
    assert facts["energy_wh"] == pytest.approx(0.375)


@pytest.mark.parametrize(
    ("after", "state", "energy_wh", "later_wh"),
    [
        ("keep", "START", 0.1, 0.2),
        ("lose", "RESET", 0.0, 0.0),
        ("error", "ERROR", 0.1, 0.1),
    ],
)
def test_a_restart_drops_links_and_forgets_how_to_talk(
    bench: Bench,
    wire: Any,
    clock: Any,
    after: str,
    state: str,
    energy_wh: float,
    later_wh: float,
) -> None:
    box = bench.instrument
    box.execute(":STATUS:FILTER1 FALL;:INTEGRATE:START;:NONSENSE")
    clock.pass_s(10)
    line = wire()
    line.link()
    assert bench.tell(f"restart {after}") == "ok"
    assert ended(line)
    assert wire().link() > 0
    assert box.execute(":INPUT:CURRENT:RANGE?") == ":INP:CURR:RANG 500.0E-03"
    assert box.execute("*ESR?;:STATUS:ERROR?") == '128;0,"No error"'
    assert box.execute(":STATUS:FILTER1?") == ":STAT:FILT1 NEV"
    facts = bench.state()
    assert facts["integrator"] == state
    assert facts["energy_wh"] == pytest.approx(energy_wh)
    clock.pass_s(10)
    assert bench.state()["energy_wh"] == pytest.approx(later_wh)


def test_a_restart_may_take_a_while(
    bench: Bench,
    wire: Any,
) -> None:
    assert bench.tell("restart keep 3600") == "ok"
    with pytest.raises(ConnectionRefusedError):
        wire()


def test_a_busy_meter_loses_messages_after_a_start(
    bench: Bench,
    clock: Any,
) -> None:
    box = bench.instrument
    assert bench.tell("busy-after-start 0.2") == "ok"
    assert box.execute("*OPC?") == "1"
    box.execute(":INTEGRATE:START")
    assert box.execute(":INTEGRATE:STATE?") is None
    clock.pass_s(0.2)
    assert box.execute(":INTEGRATE:STATE?;:STATUS:ERROR?") == 'START;0,"No error"'


def test_another_load_begins_when_it_is_connected(
    bench: Bench,
    clock: Any,
) -> None:
    bench.instrument.execute(":INTEGRATE:START")
    clock.pass_s(10)
    assert bench.tell("load steps:72W@10s,18W@20s") == "ok"
    clock.pass_s(20)
    assert bench.state()["true_energy_wh"] == pytest.approx((36 + 72 + 18) * 10 / 3600)
    assert bench.tell("load wind:3").startswith("error There is no load 'wind:3'")


def test_ranges_change_by_themselves_and_by_knobs(bench: Bench) -> None:
    assert bench.tell("range-change") == "ok"
    assert bench.instrument.execute(":INPUT:CURRENT:RANGE?;AUTO?") == "1.000E+00;1"
    assert bench.tell("knob :INPUT:CURRENT:RANGE 5;RANGE?") == "ok 5.000E+00"
    assert bench.state()["settings"]["current_range_a"] == 5.0
    assert bench.tell("knob :RATE 3").startswith("error The meter refuses it: 222 ")
    assert bench.instrument.execute(":STATUS:ERROR?") == '0,"No error"'


@pytest.mark.parametrize(
    "line",
    [
        *(
            "",
            "explode",
            "hang",
            "hang soon",
            "hang -1",
            "hang nan",
            "hang 1e9",
            "nan",
            "slow x",
            "restart",
        ),
        *(
            "restart maybe",
            "restart keep x",
            "load",
            "knob",
            "heal 3",
            "unlock it",
            "state now",
            "\xff\xfe",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    bench: Bench,
    line: str,
) -> None:
    assert bench.tell(line).startswith("error ")
    assert bench.state()["faults"] == {}


def test_a_knob_that_would_wait_is_refused_and_others_are_heard(bench: Bench) -> None:
    for message in (":COMM:WAIT 32768", "*CLS;:COMMUNICATE:WAIT? 1"):
        assert bench.tell(f"knob {message}").startswith(
            "error The knob message is empty, or waits"
        )
    assert bench.tell("heal") == "ok"


LOCKED = (":SYSTEM:KLOCK ON", ":COMMUNICATE:REMOTE ON;LOCKOUT ON")


@pytest.mark.parametrize("lock", LOCKED)
def test_a_locked_panel_does_nothing_until_somebody_unlocks_it_there(
    bench: Bench,
    lock: str,
) -> None:
    bench.instrument.execute(f"{lock};:INTEGRATE:START")
    for knob in (":INTEGRATE:STOP", "LOCAL"):
        refused = bench.tell(f"knob {knob}")
        assert refused.startswith("error The meter's panel does nothing because ")
        assert refused.endswith("The command `unlock` unlocks the panel.")
    assert bench.tell("knob :INPUT:MODE?") == "ok RMS"
    assert bench.state()["integrator"] == "START"
    assert bench.tell("unlock") == "ok"
    rows = bench.instrument.execute(":SYSTEM:KLOCK?;:COMMUNICATE:REMOTE?;LOCKOUT?")
    assert rows == "0;0;0"
    assert bench.tell("knob :INTEGRATE:STOP") == "ok"
    assert bench.state()["integrator"] == "STOP"


def test_under_remote_control_alone_the_key_local_gives_the_panel_back(
    bench: Bench,
) -> None:
    bench.instrument.execute(":COMMUNICATE:REMOTE ON")
    assert "press LOCAL first: knob LOCAL" in bench.tell("knob :HOLD ON")
    assert bench.tell("knob LOCAL") == "ok"
    assert bench.state()["settings"]["remote"] is False
    assert bench.tell("knob :HOLD ON") == "ok"


def test_a_lock_that_is_half_set_locks_nothing(bench: Bench) -> None:
    bench.instrument.execute(":COMMUNICATE:LOCKOUT ON")
    assert bench.tell("knob :HOLD ON") == "ok"


def test_a_load_from_what_is_no_file_is_refused(
    bench: Bench,
    tmp_path: Path,
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero"):
        assert "it is not a regular file" in bench.tell(f"load csv:{path}")
    assert bench.tell("heal") == "ok"


def test_a_line_without_end_is_refused_and_its_rest_is_no_command(bench: Bench) -> None:
    bench.tell("hang 3600")
    host, port = bench.control.address.split(":")
    with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as connection:
        connection.sendall(b"x" * LONGEST_LINE + b"heal\n")
        with contextlib.suppress(ConnectionResetError):  # of what was not read
            assert connection.makefile().readline() == "error The line is too long.\n"
    assert list(bench.state()["faults"]) == ["hang"]


def test_several_clients_are_answered_whoever_else_is_silent(bench: Bench) -> None:
    host, port = bench.control.address.split(":")
    answers: dict[str, list[str]] = {"state": [], "range-change": []}

    def converse(command: str) -> None:
        with socket.create_connection(
            (host, int(port)),
            timeout=TIMEOUT_S,
        ) as connection:
            stream = connection.makefile("rw")
            for _ in range(50):
                stream.write(f"{command}\n")
                stream.flush()
                answers[command].append(stream.readline()[:4].strip())

    with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as silent:
        silent.sendall(b"hea")
        threads = [
            threading.Thread(target=converse, args=(command,)) for command in answers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {command: set(found) for command, found in answers.items()} == {
        "state": {"ok {"},
        "range-change": {"ok"},
    }


def test_one_connection_takes_many_commands(bench: Bench) -> None:
    host, port = bench.control.address.split(":")
    with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as connection:
        connection.sendall(b"help\nheal\nstate\n")
        answers = connection.makefile()
        lines = [answers.readline() for _ in range(3)]
    assert all(word in lines[0] for word in CONTROLS)
    assert lines[1] == "ok\n"
    assert lines[2].startswith("ok {")


def test_a_meter_can_be_closed_while_it_hangs_is_cut_and_waits(clock: Any) -> None:
    instrument = Instrument(parse_load("constant:1W", clock), clock)
    server = Vxi11Server(instrument, "127.0.0.1", 0)
    line = Wire(server.port)
    with line.socket:
        line.write(line.link(), b":COMM:WAIT 65535")
        instrument.faults.hang(3600)
        server.cut(3600)
        server.close()
