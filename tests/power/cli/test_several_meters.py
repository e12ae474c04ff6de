"""Several meters that record one run on one clock."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.cli.meters_and_command import looks_like_address
from lpirc_power.measurement_files.recorded_files import read_measurement, read_recorded
from lpirc_power.report.group_report import Group
from tests.power.cli.conftest import one_line
from tests.timeouts import TIMEOUT_S

FIXED = ("--voltage-range", "150", "--current-range", "0.5", "--update", "0.1")
PROGRAM = ("--", sys.executable, "-c", "import time; time.sleep(2)")


def test_two_meters_have_a_file_each_and_the_loss_between_them(
    simulate: Any, meter: Any, tmp_path: Path
) -> None:
    main = simulate("--load", "constant:36W", "--serial", "S1").address
    board = simulate("--load", "constant:30W", "--serial", "S2").address
    ended = meter(
        "record", f"main={main}", f"board={board}", "-o", "run.csv", "--json", *FIXED,
        *PROGRAM,
    )  # fmt: skip
    facts = json.loads(ended.stdout.splitlines()[-1])
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "run.board.csv", "run.board.json", "run.json", "run.main.csv", "run.main.json",
    ]  # fmt: skip
    assert list(facts["meters"]) == ["main", "board"]
    (loss,) = facts["losses"]
    assert (loss["supply"], loss["load"]) == ("main", "board")
    energies_wh = [one["energy_wh"] for one in facts["meters"].values()]
    assert loss["lost_wh"] == pytest.approx(energies_wh[0] - energies_wh[1])
    truth = 30.0 / 36.0
    assert abs(loss["ratio"] - truth) < loss["ratio_interval"]
    truth_wh = 6.0 * facts["meters"]["main"]["duration_s"] / 3600.0
    assert abs(loss["lost_wh"] - truth_wh) < loss["budget"]["coverage_wh"]
    offset_s = facts["meters"]["board"]["start_offset_s"]
    found = read_measurement(tmp_path / "run.json")
    assert isinstance(found, Group)
    assert found.start_offsets_s == {"main": 0.0, "board": offset_s}
    assert found.losses[0].lost_wh == loss["lost_wh"]
    assert read_recorded(tmp_path / "run.board.csv").identity.serial.endswith("S2")


def test_a_file_without_an_ending_gives_each_meter_one_with_it(
    meter: Any, tmp_path: Path
) -> None:
    meter("record", "main=sim:", "board=sim:", "-o", "two meters", "--duration", "1")
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "two meters.board.csv", "two meters.board.json", "two meters.json",
        "two meters.main.csv", "two meters.main.json",
    ]  # fmt: skip


def test_meters_without_names_are_numbered(
    simulate: Any, meter: Any, tmp_path: Path
) -> None:
    addresses = [simulate("--serial", f"S{number}").address for number in (1, 2)]
    ended = meter("record", *addresses, "-o", "run.csv", "--duration", "1", *FIXED)
    assert "loss " in ended.stdout
    assert (tmp_path / "run.meter-2.csv").exists()


def test_a_meter_that_is_gone_at_the_end_does_not_cost_the_others_energy(
    simulate: Any, started: Any, tmp_path: Path, until: Any
) -> None:
    main = simulate("--load", "constant:36W", "--serial", "S1")
    board = simulate("--load", "constant:30W", "--serial", "S2")
    run = started(
        "record", f"main={main.address}", f"board={board.address}", "-o", "run.csv",
        "--json", *FIXED,
    )  # fmt: skip
    csv = tmp_path / "run.board.csv"
    until(lambda: csv.exists() and csv.read_text().count("\n") > 5)
    board.kill()
    run.send_signal(signal.SIGINT)
    told, complaint = run.communicate(timeout=TIMEOUT_S)
    facts = json.loads(told)
    assert run.returncode == 1
    assert "board: " in complaint.splitlines()[-1]
    assert (
        "meter: board: The link to the meter at " in complaint
        or "meter: board: No meter" in complaint
    )
    assert facts["meters"]["main"]["energy_wh"] > 0
    assert "The energy could not be read" in facts["failed"]["board"]
    assert facts["losses"] == []
    found = read_measurement(tmp_path / "run.json")
    assert isinstance(found, Group)
    assert list(found.recordings) == ["main"]
    # What there is of the other one can still be read.
    assert "was cut off" in read_recorded(csv).doubts[0]


def test_a_meter_that_is_not_there_ends_the_run_before_it_begins(
    simulate: Any, meter: Any, tmp_path: Path
) -> None:
    main = simulate("--load", "constant:36W")
    gone = simulate()
    gone.kill()
    ended = meter(
        "record", f"main={main.address}", f"board={gone.address}", "-o", "run.csv",
        "--", sys.executable, "-c", "open('ran', 'w')",
    )  # fmt: skip
    assert (ended.returncode, one_line(ended.stderr)) == (1, True)
    assert "board: " in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_one_meter_may_not_be_given_twice(simulate: Any, meter: Any) -> None:
    address = simulate().address
    ended = meter("record", address, f"again={address}", "-o", "run.csv", *PROGRAM)
    assert (ended.returncode, one_line(ended.stderr)) == (1, True)
    assert "is given twice" in ended.stderr


@pytest.mark.parametrize("serial", [("--serial", "S1"), ()])
def test_two_addresses_of_one_meter_are_noticed_before_the_start(
    simulate: Any, meter: Any, tmp_path: Path, serial: tuple[str, ...]
) -> None:
    address = simulate(*serial).address
    alias = address.replace("127.0.0.1", "localhost")
    ended = meter("record", f"a={address}", f"b={alias}", "-o", "run.csv", *PROGRAM)
    assert (ended.returncode, one_line(ended.stderr)) == (1, True)
    assert "a and b are the same meter" in ended.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("a=sim:", "a=sim:constant:5W"), "Two meters have the name a"),
        (("sim:", "sim:", "--repeat", "2"), "A series is of one meter"),
    ],
)
def test_wrong_use_of_several_meters_is_said(
    meter: Any, words: tuple[str, ...], told: str
) -> None:
    ended = meter("record", *words, "-o", "run.csv", "--duration", "1")
    assert ended.returncode == 2
    assert told in ended.stderr


def test_a_lone_meter_with_a_name_is_one_recording(
    simulate: Any, meter: Any, tmp_path: Path
) -> None:
    address = simulate().address
    meter("record", f"main={address}", "-o", "run.csv", "--duration", "0.6", *FIXED)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run.csv", "run.json"]


def test_a_command_without_dashes_is_still_a_command(simulate: Any, meter: Any) -> None:
    address = simulate().address
    ended = meter("record", address, "-o", "run.csv", *FIXED, "echo", "ran")
    assert ended.stdout == "ran\n"


def test_dashes_before_the_address_end_the_options_alone(
    simulate: Any, meter: Any
) -> None:
    address = simulate().address
    ended = meter("record", "-o", "run.csv", *FIXED, "--", address, "echo", "ran")
    assert ended.stdout == "ran\n"
    without = meter("record", *FIXED, "--", address, "echo", "ran")
    assert (without.returncode, "-o" in without.stderr) == (2, True)


@pytest.mark.parametrize(
    ("word", "is_one"),
    [
        ("sim:", True), ("sim:constant:36W", True), ("board=hwmon:", True), ("TCPIP::1.2.3.4::INSTR", True),
        ("./detect", False), ("python", False), ("C:\\detect.exe", False), ("http://host/a", False), ("A=b", False),
        ("ASRL/dev/ttyUSB0::INSTR?baud=9600", True),
    ],
)  # fmt: skip
def test_what_looks_like_an_address(word: str, is_one: bool) -> None:
    assert looks_like_address(word) is is_one
