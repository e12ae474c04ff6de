"""Attempts of a series that fail are left out, and every part of the program counts the same ones."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from lpirc_power import DoubtfulEnergy, mean_of, read_measurement, read_recorded
from lpirc_power.measurement_files.any_measurement import read_any
from lpirc_power.page.measurement_page import measurement_page
from tests.power.cli.conftest import one_line
from tests.power.made_recordings import Made

FIXED = ("--voltage-range", "150", "--current-range", "0.5", "--update", "0.1")
NUMBERED = """
import os, pathlib, signal, socket, sys, time
place = pathlib.Path("attempts")
number = len(place.read_text()) + 1 if place.exists() else 1
place.write_text("x" * number)
time.sleep(0.6)
def cause(*words):
    host, port = sys.argv[1].split(":")
    with socket.create_connection((host, int(port))) as control:
        control.sendall(" ".join(words).encode() + b"\\n")
        control.recv(1000)
    time.sleep(0.6)
"""
"""The beginning of a COMMAND that knows its attempt, and can cause faults of the meter."""
FAULTY = """
if number == 2:
    raise SystemExit(7)
if number == 3:
    cause("over-range", "3600")
if number == 4:
    cause("heal")
    cause("restart", "lose")
if number == 5:
    os.kill(os.getpid(), signal.SIGTERM)
"""
UNPLUGGED = """
if number == 2:
    cause("drop-link", "3600")
"""


@pytest.fixture
def box(simulate: Any) -> tuple[str, str]:
    """A meter that shows 36 W: its address, and that of its control socket."""
    simulator = simulate("--load", "constant:36W", "--control", "0")
    return simulator.address, simulator.process.stdout.readline().split()[1]


def series(meter: Any, box: tuple[str, str], count: int, faults: str) -> Any:
    """Make a series; on a busy machine the first attempt may itself need review, and then it is made again."""
    address, control = box
    while True:
        Path("attempts").unlink(missing_ok=True)
        ended = meter(
            "record", address, "-o", "run.csv", *FIXED, "--repeat", str(count), "--json", "--force",
            "--", sys.executable, "-c", NUMBERED + faults, control,
        )  # fmt: skip
        if "Attempt 1 ended the series" not in ended.stderr:
            return ended


def names(files: list[str]) -> list[str]:
    return [Path(one).with_suffix(".csv").name for one in files]


def test_attempts_that_fail_are_left_out_and_the_same_ones_count_everywhere(
    meter: Any, box: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = series(meter, box, 6, FAULTY)
    assert ended.returncode == 1
    assert one_line(f"{ended.stderr.splitlines()[-1]}\n")
    facts = json.loads(ended.stdout.splitlines()[-1])
    counted = names([one["file"] for one in facts["attempts"]])
    reasons = {one["name"]: one["why"] for one in facts["left_out"]}
    assert counted[0] == "run-1.csv"
    assert (
        "run-2.csv is of a COMMAND that failed, with exit code 7"
        in reasons["attempt 2"]
    )
    assert "run-3.csv needs review: " in reasons["attempt 3"]
    assert "over-range" in reasons["attempt 3"]
    assert "run-4.csv has no energy: its integrator" in reasons["attempt 4"]
    assert "signal 15 ended its COMMAND" in reasons["attempt 5"]
    assert len(counted) + len(reasons) == 6
    assert "attempt 2 does not count: run-2.csv is of" in ended.stderr

    document = json.loads(Path("run.json").read_text())
    assert names(document["recordings"]) == counted
    assert [one["name"] for one in document["left_out"]] == [*reasons]

    checked = meter("check", "run.json")
    assert checked.returncode == 1
    for name, why in reasons.items():
        assert f"{name} does not count: {why}" in checked.stderr
    assert "not whole" not in checked.stderr

    found = read_any(Path("run.json"))
    page = measurement_page(found)
    assert all(name in page for name in reasons)

    with pytest.warns(DoubtfulEnergy) as told_in_python:
        attempts = read_measurement("run.json")
    assert len(told_in_python) == len(reasons)
    assert isinstance(attempts, list)
    assert [one.path.name for one in attempts] == counted
    singly = [read_recorded(f"run-{number}.csv") for number in range(1, 7)]
    with pytest.warns(DoubtfulEnergy) as said:
        mean = mean_of(singly)
    assert mean.energies_wh == tuple(one.energy_wh for one in attempts)
    assert len(said) == len(reasons)

    Made(tmp_path).recording("other")
    files = [f"run-{number}.csv" for number in range(1, 7)]
    for side in (["run.json"], files):
        compared = meter("compare", *side, "--with", "other.csv", "--json")
        assert compared.returncode == 0, compared.stderr
        told = json.loads(compared.stdout)
        assert names(told["sides"][0]["files"]) == counted
        assert sum("does not count" in one for one in told["warnings"]) == len(reasons)


def test_a_meter_that_stays_away_ends_the_series_after_three_attempts(
    meter: Any, box: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = series(meter, box, 9, UNPLUGGED)
    facts = json.loads(ended.stdout.splitlines()[-1])
    assert ended.returncode == 1
    assert facts["count"] == 1
    assert [one["name"] for one in facts["left_out"]] == [
        "attempt 2", "attempt 3", "attempt 4",
    ]  # fmt: skip
    assert facts["stopped"] == (
        "attempt 4 ended the series: 3 attempts in a row had no recording."
    )
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        attempts = read_measurement("run.json")
    assert isinstance(attempts, list)
    assert len(attempts) == 1


@pytest.mark.parametrize(
    ("faults", "code"),
    [("raise SystemExit(7)", 7), ("cause('over-range', '3600')", 1)],
)
def test_a_first_attempt_that_fails_ends_the_series(
    meter: Any, box: tuple[str, str], tmp_path: Path, faults: str, code: int
) -> None:
    address, control = box
    ended = meter(
        "record", address, "-o", "run.csv", *FIXED, "--repeat", "3",
        "--", sys.executable, "-c", NUMBERED + faults, control,
    )  # fmt: skip
    assert ended.returncode == code
    said = ended.stderr.splitlines()[-1]
    assert said.startswith("meter: No attempt counts. Attempt 1 ended the series.")
    assert not (tmp_path / "run-2.csv").exists()
