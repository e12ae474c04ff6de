"""The command `meter`, as its own process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from power.cli import main

METER = [sys.executable, "-m", "power"]


def meter(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*METER, *arguments], capture_output=True, text=True, timeout=60, check=False)


def test_simulate_prints_its_address_and_ends_when_told(simulate: Any) -> None:
    for ending in (signal.SIGTERM, signal.SIGINT):
        simulator = simulate()
        assert simulator.address == f"TCPIP::127.0.0.1,{simulator.port}::INSTR"
        simulator.process.send_signal(ending)
        assert simulator.process.wait(20) == 0
        assert simulator.process.stdout.read() == ""


def test_simulate_ends_with_the_process_it_serves() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as parent:
        command = [*METER, "simulate", "--parent", str(parent.pid)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as simulator:
            assert simulator.stdout is not None
            assert simulator.stdout.readline().startswith("TCPIP::")
            parent.kill()
            assert simulator.wait(20) == 0


def test_simulate_on_a_taken_port_says_so(simulate: Any) -> None:
    port = str(simulate().port)
    ended = meter("simulate", "--port", port)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"meter: The simulated meter cannot listen on 127.0.0.1 port {port}")
    assert ended.stderr.count("\n") == 1


def test_a_wrong_load_is_one_line_and_exit_one() -> None:
    ended = meter("simulate", "--load", "constant:many")
    assert ended.returncode == 1
    assert ended.stderr.startswith("meter: The load 'constant:many' cannot be used")
    assert ended.stderr.count("\n") == 1


def test_probe_shows_who_answers_and_changes_no_setting(simulate: Any) -> None:
    address = simulate("--serial", "S1").address
    ended = meter("probe", address, "--json")
    assert ended.returncode == 0, ended.stderr
    facts = json.loads(ended.stdout)
    assert facts["identity"] == {"maker": "YOKOGAWA", "model": "WT310", "serial": "S1", "firmware": "F1.03"}
    assert facts["settings"]["voltage_auto"] is True
    assert facts["settings"]["update_interval_s"] == 0.25
    assert facts["integrator"] == "RESET"
    assert facts["errors"] == []


def test_probe_starts_a_meter_of_its_own_and_leaves_nothing_behind() -> None:
    ran = CliRunner().invoke(main, ["probe", "sim:constant:5W"])
    assert ran.exit_code == 0, ran.output
    assert "identity model                   WT310" in ran.output
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    assert all("simulate" not in Path(f"/proc/{pid}/cmdline").read_text() for pid in children)


def test_watch_prints_one_object_for_each_update(simulate: Any) -> None:
    ended = meter("watch", simulate("--load", "constant:36W").address, "--count", "2", "--json")
    assert ended.returncode == 0, ended.stderr
    readings = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(readings) == 2
    assert readings[1]["power_w"] == 36.0


def test_watch_ends_cleanly_with_ctrl_c(simulate: Any) -> None:
    command = [*METER, "watch", simulate().address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        assert " W " in watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
        assert watching.wait(20) == 0
        assert watching.stderr.read() == ""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["probe", "TCPIP::127.0.0.1:80::INSTR"], 1),
        (["watch", "sim:wind"], 1),
        (["probe"], 2),
        (["watch", "sim:", "--count", "0"], 2),
        (["fly"], 2),
        (["--help"], 0),
    ],
)
def test_exit_codes(arguments: list[str], code: int) -> None:
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == code
    if code == 1:
        assert ran.stderr.startswith("meter: ")
        assert ran.stderr.count("\n") == 1
