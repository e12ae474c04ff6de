from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

from tests.timeouts import TIMEOUT_S

METER = [sys.executable, "-m", "lpirc_power"]


def test_simulate_prints_its_address_and_ends_when_told(simulate: Any) -> None:
    for ending in (signal.SIGTERM, signal.SIGINT):
        simulator = simulate()
        assert simulator.address == f"TCPIP::127.0.0.1,{simulator.port}::INSTR"
        simulator.process.send_signal(ending)
        assert simulator.process.wait(TIMEOUT_S) == 0
        assert simulator.process.stdout.read() == ""


def test_simulate_ends_with_the_process_it_serves() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "input()"],
        stdin=subprocess.PIPE,
    ) as parent:
        command = [*METER, "simulate", "--parent", str(parent.pid)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as simulator:
            assert simulator.stdout is not None
            assert simulator.stdout.readline().startswith("TCPIP::")
            parent.kill()
            assert simulator.wait(TIMEOUT_S) == 0


def test_simulate_on_a_taken_port_says_so(
    simulate: Any,
    meter: Any,
) -> None:
    port = str(simulate().port)
    ended = meter("simulate", "--port", port)
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.startswith(
        f"meter: The simulated meter cannot listen on 127.0.0.1 port {port}"
    )
    assert ended.stderr.count("\n") == 1


def test_a_wrong_load_is_one_line_and_exit_one(meter: Any) -> None:
    ended = meter("simulate", "--load", "constant:many")
    assert ended.returncode == 1
    assert ended.stderr.startswith("meter: The load 'constant:many' cannot be used")
    assert ended.stderr.count("\n") == 1


def test_a_meter_without_what_a_real_one_may_lack_is_simulated(
    simulate: Any,
    asked: Any,
) -> None:
    address = simulate(
        "--without", "lock", "--without", "filters", "--dialect", "free-running"
    ).address
    asked(address, "*OPC?;:STATUS:FILTER2?", "*OPC?;:SYSTEM:KLOCK?")
    assert [
        answer.split(",")[0] for answer in asked(address, *2 * [":STATUS:ERROR?"])
    ] == ["114", "113"]
