from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.cli.watch import RETRY_S
from tests.power.cli.conftest import one_line
from tests.timeouts import TIMEOUT_S


def test_watch_prints_one_object_for_each_update(
    simulate: Any,
    meter: Any,
) -> None:
    ended = meter(
        "watch", simulate("--load", "constant:36W").address, "--count", "2", "--json"
    )
    assert ended.returncode == 0, ended.stderr
    readings = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(readings) == 2
    assert readings[1]["power_w"] == 36.0
    assert readings[1]["monotonic_s"] > readings[0]["monotonic_s"]


def test_watch_ends_cleanly_with_ctrl_c(
    simulate: Any,
    started: Any,
) -> None:
    watching = started("watch", simulate().address)
    assert " W " in watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    assert watching.wait(TIMEOUT_S) == 0
    assert watching.stderr.read() == ""


def test_watch_tells_of_a_lost_link_and_goes_on(
    simulate: Any,
    relay: Any,
    started: Any,
) -> None:
    cable = relay(simulate("--load", "constant:36W").port)
    watching = started("watch", cable.address, "--json")
    assert watching.stdout.readline()
    cable.cut()
    assert "is lost" in watching.stderr.readline()
    cable.mend()
    assert "is back" in watching.stderr.readline()
    assert any(
        json.loads(watching.stdout.readline())["power_w"] == 36.0 for _ in range(20)
    )
    watching.send_signal(signal.SIGINT)
    assert watching.wait(TIMEOUT_S) == 0


def test_a_sensor_that_is_away_is_back_with_its_next_reading_and_told_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    started: Any,
) -> None:
    zone = tmp_path / "class/powercap/intel-rapl:0"
    zone.mkdir(parents=True)
    for name, text in (
        ("name", "package-0"),
        ("max_energy_range_uj", "1000000"),
        ("energy_uj", "1"),
    ):
        (zone / name).write_text(f"{text}\n")
    monkeypatch.setenv("METER_SYSFS", str(tmp_path))
    watching = started("watch", "rapl:", "--json")
    assert watching.stdout.readline()
    (zone / "energy_uj").rename(tmp_path / "away")
    assert "Trying again" in watching.stderr.readline()
    # Long enough for three attempts, each of which finds the meter, but no reading.
    time.sleep(4 * RETRY_S)
    (tmp_path / "away").rename(zone / "energy_uj")
    assert "is back" in watching.stderr.readline()
    watching.send_signal(signal.SIGINT)
    assert watching.wait(TIMEOUT_S) == 0
    assert watching.stderr.read() == ""


def test_watch_ends_if_another_meter_answers(
    simulate: Any,
    started: Any,
) -> None:
    first = simulate("--serial", "S1")
    watching = started("watch", first.address)
    assert watching.stdout.readline()
    first.kill()
    simulate("--port", str(first.port), "--serial", "S2")
    _, told = watching.communicate(timeout=TIMEOUT_S)
    assert watching.returncode == 1
    assert told.splitlines()[-1].startswith(
        "meter: Another meter answers: YOKOGAWA WT310 SIMULATED-S2"
    )


def test_watch_of_an_element_that_is_not_there_is_one_line(
    simulate: Any,
    meter: Any,
) -> None:
    ended = meter("watch", simulate().address, "--element", "2", "--count", "1")
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert one_line(ended.stderr)


def test_watch_that_nobody_reads_any_more_ends_without_a_trace(simulate: Any) -> None:
    address = simulate().address
    command = '"$0" -m lpirc_power watch "$1" | head -n 1'
    ended = subprocess.run(
        ["bash", "-c", command, sys.executable, address],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.stdout.count("\n") == 1
    assert ended.stderr == ""
