"""`meter simulate` and `meter fault` as their own processes."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from lpirc_power.cli.fault import fault
from lpirc_power.cli.simulate import simulate as simulate_command
from lpirc_power.errors import MeterError
from lpirc_power.visa.link import Link
from tests.timeouts import TIMEOUT_S


@contextlib.contextmanager
def simulated(*options: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    command = [sys.executable, "-m", "lpirc_power", "simulate", *options]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield (
                process,
                [
                    process.stdout.readline().strip()
                    for _ in range(1 + ("--control" in options))
                ],
            )
        finally:
            process.kill()


def test_a_controlled_meter_announces_both_addresses_and_ends_when_told() -> None:
    with simulated("--model", "wt333e", "--control", "0") as (
        process,
        (address, control),
    ):
        assert address.startswith("TCPIP::127.0.0.1,")
        word, place = control.split()
        assert word == "control"
        with contextlib.closing(Link(address)) as link:
            assert link.query("*IDN?") == "YOKOGAWA,WT333E,SIMULATED,F1.03"
        ran = CliRunner().invoke(fault, [place, "state"])
        assert ran.exit_code == 0
        assert json.loads(ran.output)["model"] == "WT333E"
        output = CliRunner().invoke(fault, [place, "load", "constant:-5W"]).output
        assert output == "ok\n"
        ran = CliRunner().invoke(fault, [place, "restart", "never"])
        assert isinstance(ran.exception, MeterError)
        assert ran.exception.sentence.startswith(
            "restart takes one of keep, lose, error"
        )
        port = address.split(",")[1].partition(":")[0]
        ran = CliRunner().invoke(fault, [f"127.0.0.1:{port}", "drop-link", "3"])
        assert isinstance(ran.exception, MeterError)
        assert "it is no control socket" in ran.exception.sentence
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_meter_that_hangs_and_is_cut_ends_when_told() -> None:
    with (
        simulated("--control", "0") as (process, (address, control)),
        contextlib.closing(Link(address)) as link,
    ):
        link.write(":COMMUNICATE:WAIT 65535")
        for line in (
            ["hang", "3600"],
            ["slow", "3600000"],
            ["drop-link", "3600"],
        ):
            output = CliRunner().invoke(fault, [control.split()[1], *line]).output
            assert output == "ok\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT_S) == 0


@pytest.mark.parametrize(
    "address",
    ["5025", "host", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:x"],
)
def test_a_control_address_is_a_host_and_a_port(address: str) -> None:
    ran = CliRunner().invoke(fault, [address, "state"])
    assert isinstance(ran.exception, MeterError)
    assert ran.exception.code == "simulator-control"
    assert repr(address) in ran.exception.sentence


def test_nobody_at_the_control_address_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    ran = CliRunner().invoke(fault, [f"127.0.0.1:{port}", "heal"])
    assert isinstance(ran.exception, MeterError)
    assert "--control" in ran.exception.sentence


def test_a_taken_control_port_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [
            sys.executable,
            "-m",
            "lpirc_power",
            "simulate",
            "--control",
            str(port),
        ]
        ended = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert f"control socket cannot listen on 127.0.0.1 port {port}" in ended.stderr


def test_a_model_that_cannot_be_simulated_is_a_usage_error() -> None:
    assert CliRunner().invoke(simulate_command, ["--model", "WT500"]).exit_code == 2


def test_the_commands_are_printed() -> None:
    ran = CliRunner().invoke(simulate_command, ["--commands"])
    assert ran.exit_code == 0
    assert ":INTEGrate:TIMer <h>,<m>,<s>, :INTEGrate:TIMer? (R)" in ran.output


def test_importing_the_simulator_takes_nothing_heavy() -> None:
    code = "import lpirc_power.simulator.simulator_process, lpirc_power.cli.simulate, sys; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert {"numpy", "pyvisa", "requests", "random"} & set(
        ended.stdout.split()
    ) == set()
