from __future__ import annotations

import contextlib
import json
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.meter import IntegratorState
from lpirc_power.recording import read_recording
from lpirc_power.visa.link import Link
from tests.power.cli.conftest import one_line, start_stop_j, went_well
from tests.timeouts import TIMEOUT_S

FIXED = ("--voltage-range", "150", "--current-range", "0.5", "--update", "0.1")


def lines_in(path: Path) -> int:
    return path.read_text().count("\n") if path.exists() else 0


def test_energy_is_load_times_time_and_every_reading_is_in_the_file(
    simulate: Any,
    meter: Any,
    tmp_path: Path,
) -> None:
    address = simulate("--load", "constant:36W", "--serial", "S1").address
    ended = meter(
        "record", address, "-o", "run.csv", "--duration", "2", *FIXED, "--json"
    )
    assert ended.returncode == 0
    assert ended.stderr == ""
    facts = json.loads(ended.stdout)
    failed = {check["code"] for check in facts["checks"] if not check["ok"]}
    assert {"official-meter"} <= failed <= {"official-meter", "reading-gaps"}
    # Ended by the meter's own timer: six digits of 36 W x 2 s.
    assert facts["energy_wh"] == pytest.approx(0.02, rel=1e-5)
    assert facts["energy_j"] == pytest.approx(72.0, rel=1e-5)
    assert facts["integrator_s"] == 2.0
    # However late this program came to see that the time was over, the timer had ended it.
    assert facts["duration_s"] == pytest.approx(2.0, abs=1e-3)
    assert facts["accuracy"]["percent"] == pytest.approx(
        100 * (0.036 + 0.075) / 36,
        rel=0.01,
    )
    readings = read_recording(tmp_path / "run.csv")
    assert len(readings) == facts["readings"]
    assert 3 <= len(readings) <= 25
    assert readings[-1].energy_wh == facts["energy_wh"]
    assert readings[-1].state is IntegratorState.TIMEUP
    assert {reading.power_w for reading in readings[2:]} == {36.0}
    assert "voltage_v,current_a," in (tmp_path / "run.csv").read_text().splitlines()[0]


def test_a_steadier_room_is_stated_and_makes_the_limit_of_a_board_on_dc_smaller(
    simulate: Any,
    meter: Any,
) -> None:
    address = simulate("--load", "constant:6W,volts=12V").address
    ranges = ("--voltage-range", "15", "--current-range", "0.5", "--update", "0.1")
    ended = meter(
        "record",
        address,
        "-o",
        "run.csv",
        "--duration",
        "1",
        *ranges,
        "--ambient-change",
        "1",
        "--json",
    )
    facts = json.loads(ended.stdout)
    assert facts["setup"]["ambient_change_c"] == 1.0
    # For one degree 0.02 % of 15 V x 0.5 A, and 500 uA x 12 V.
    assert facts["accuracy"]["drift_percent"] == pytest.approx(
        100 * (0.003 * 0.5 + 0.0005 * 12) / 6,
        rel=0.01,
    )
    returncode = meter(
        "record", address, "-o", "other.csv", "--ambient-change", "-1"
    ).returncode
    assert returncode == 2


def test_a_recorder_that_is_held_up_past_its_time_counts_what_the_timer_did(
    simulate: Any,
    started: Any,
    asked: Any,
    tmp_path: Path,
    until: Any,
) -> None:
    address = simulate("--load", "constant:36W").address
    recording = started(
        "record", address, "-o", "run.csv", "--duration", "2", *FIXED, "--json"
    )
    # The first reading may have no data.
    until(lambda: lines_in(tmp_path / "run.csv") > 3)
    recording.send_signal(signal.SIGSTOP)
    until(lambda: "TIM" in asked(address, ":INTEGRATE:STATE?")[0])
    held_s = time.monotonic()
    until(lambda: time.monotonic() > held_s + 2.5)
    recording.send_signal(signal.SIGCONT)
    told, complaint = recording.communicate(timeout=TIMEOUT_S)
    # Held up between a question and its answer, it takes the link for lost.
    others = [
        line
        for line in complaint.splitlines()
        if not re.search("is lost|is back", line)
    ]
    assert recording.returncode == 0
    assert others == []
    facts = json.loads(told)
    assert facts["duration_s"] == pytest.approx(2.0, abs=1e-3)
    assert facts["integrator_s"] == 2.0
    assert facts["mean_power_w"] == pytest.approx(36.0, rel=1e-4)


def test_a_program_keeps_its_output_and_its_exit_code(
    simulate: Any,
    meter: Any,
) -> None:
    address = simulate("--load", "constant:36W").address
    program = (
        sys.executable,
        "-c",
        "import time; time.sleep(1); print('found'); raise SystemExit(7)",
    )
    ended = meter("record", address, "-o", "run.csv", *FIXED, "--", *program)
    assert ended.returncode == 7
    assert ended.stdout == "found\n"
    assert float(re.search(r"energy +(\S+) Wh", ended.stderr)[1]) > 36 / 3600  # type: ignore[index]
    assert float(re.search(r"over (\S+) s", ended.stderr)[1]) > 1.0  # type: ignore[index]
    again = meter(
        "record", address, "-o", "run.csv", "--force", "--json", *FIXED, "--", *program
    )
    assert again.returncode == 7
    facts = json.loads(again.stdout.splitlines()[-1])
    assert facts["duration_s"] > 1.0
    assert facts["energy_j"] == pytest.approx(
        36 * facts["duration_s"],
        abs=start_stop_j(facts),
    )


def test_a_program_that_is_killed_gives_the_exit_code_of_a_shell(
    simulate: Any,
    meter: Any,
) -> None:
    program = (sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")
    returncode = meter(
        "record", simulate().address, "-o", "run.csv", "--", *program
    ).returncode
    assert returncode == 137


def test_the_former_settings_are_back_afterwards(
    simulate: Any,
    meter: Any,
    knobs: Any,
) -> None:
    address = simulate().address
    with contextlib.closing(Link(address)) as knob:
        for setting in (
            ":INPUT:VOLTAGE:RANGE 600V",
            ":INPUT:CURRENT:RANGE 5A",
            ":RATE 500MS",
            ":INPUT:MODE DC",
        ):
            knob.write(setting)
    before = knobs(address)
    ended = meter("record", address, "-o", "run.csv", "--duration", "0.5", *FIXED)
    assert went_well(ended), ended.stderr
    assert knobs(address) == before
    refused = meter(
        "record", address, "-o", "other.csv", "--duration", "1", "--voltage-range", "77"
    )
    assert refused.returncode == 1
    assert one_line(refused.stderr)
    assert knobs(address)[:-1] == before[:-1]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_a_whole_file_and_tells_the_energy(
    simulate: Any,
    started: Any,
    tmp_path: Path,
    until: Any,
    knobs: Any,
    ending: signal.Signals,
) -> None:
    address = simulate("--load", "constant:36W").address
    before = knobs(address)[4:]
    recording = started("record", address, "-o", "run.csv", "--json", *FIXED)
    until(lambda: lines_in(tmp_path / "run.csv") > 8)
    recording.send_signal(ending)
    told, complaint = recording.communicate(timeout=TIMEOUT_S)
    assert recording.returncode == 0
    assert complaint == ""
    facts = json.loads(told)
    readings = read_recording(tmp_path / "run.csv")
    assert len(readings) == facts["readings"]
    assert readings[-1].energy_wh == facts["energy_wh"]
    assert facts["energy_j"] == pytest.approx(
        36 * facts["duration_s"],
        abs=start_stop_j(facts),
    )
    assert knobs(address)[4:] == before


def test_ctrl_c_ends_the_program_too(
    simulate: Any,
    started: Any,
    tmp_path: Path,
    until: Any,
) -> None:
    # A program that leaves the signal to its default ends by the SIGTERM that follows.
    program = (sys.executable, "-c", "import time; time.sleep(60)")
    recording = started(
        "record", simulate().address, "-o", "run.csv", *FIXED, "--", *program
    )
    until(lambda: lines_in(tmp_path / "run.csv") > 3)
    recording.send_signal(signal.SIGINT)
    assert recording.wait(TIMEOUT_S) == 143


def test_who_waits_for_slow_updates_is_told_for_what(
    simulate: Any,
    started: Any,
) -> None:
    recording = started("record", simulate().address, "-o", "run.csv", *FIXED[:-1], "5")
    assert "when the meter has settled, in 10 s or more." in recording.stderr.readline()
    recording.send_signal(signal.SIGINT)
    recording.wait(TIMEOUT_S)


def test_a_killed_recorder_has_lost_no_reading(
    simulate: Any,
    started: Any,
    tmp_path: Path,
    until: Any,
) -> None:
    recording = started("record", simulate().address, "-o", "run.csv", *FIXED)
    until(lambda: lines_in(tmp_path / "run.csv") > 5)
    recording.kill()
    recording.wait()
    assert len(read_recording(tmp_path / "run.csv")) >= 5


def test_a_cut_cable_is_told_and_costs_no_energy(
    simulate: Any,
    relay: Any,
    started: Any,
    tmp_path: Path,
    until: Any,
) -> None:
    cable = relay(simulate("--load", "constant:36W").port)
    recording = started("record", cable.address, "-o", "run.csv", "--json", *FIXED)
    until(lambda: lines_in(tmp_path / "run.csv") > 5)
    cable.cut()
    assert "is lost" in recording.stderr.readline()
    before = lines_in(tmp_path / "run.csv")
    cable.mend()
    assert "is back" in recording.stderr.readline()
    until(lambda: lines_in(tmp_path / "run.csv") > before + 3)
    recording.send_signal(signal.SIGINT)
    told, complaint = recording.communicate(timeout=TIMEOUT_S)
    assert recording.returncode == 0
    assert complaint == ""
    facts = json.loads(told)
    assert facts["link_losses"] == 1
    assert facts["energy_j"] == pytest.approx(
        36 * facts["duration_s"],
        abs=start_stop_j(facts),
    )


def test_a_meter_that_is_gone_at_the_end_is_a_failure_with_the_readings_kept(
    simulate: Any,
    started: Any,
    tmp_path: Path,
    until: Any,
) -> None:
    box = simulate()
    recording = started("record", box.address, "-o", "run.csv", "--json", *FIXED)
    until(lambda: lines_in(tmp_path / "run.csv") > 5)
    box.kill()
    assert recording.stderr.readline().startswith("meter: ")
    recording.send_signal(signal.SIGINT)
    told, complaint = recording.communicate(timeout=TIMEOUT_S)
    assert recording.returncode == 1
    assert told == ""
    assert "The energy could not be read" in complaint.splitlines()[-1]
    assert "Traceback" not in complaint
    assert len(read_recording(tmp_path / "run.csv")) >= 5


def test_a_meter_in_use_is_only_taken_over_when_told(
    simulate: Any,
    meter: Any,
    tmp_path: Path,
) -> None:
    address = simulate().address
    with contextlib.closing(Link(address)) as other:
        other.write(":INTEGRATE:START")
        busy = meter("record", address, "-o", "run.csv", "--duration", "1")
        assert busy.returncode == 1
        assert one_line(busy.stderr)
        assert "--take-over" in busy.stderr
        assert not (tmp_path / "run.csv").exists()
        other.write(":COMMUNICATE:HEADER OFF;VERBOSE ON")
        assert other.query(":INTEGRATE:STATE?") == "START"
    taken = meter("record", address, "-o", "run.csv", "--duration", "1", "--take-over")
    assert went_well(taken), taken.stderr


@pytest.mark.parametrize("command", ["record", "range"])
def test_an_energy_that_nobody_may_have_read_is_only_given_up_when_told(
    simulate: Any,
    meter: Any,
    tmp_path: Path,
    until: Any,
    command: str,
) -> None:
    address = simulate("--load", "constant:36W").address
    word, *options = command.split()
    file = ("-o", "run.csv") if word == "record" else ()
    with contextlib.closing(Link(address)) as other:
        other.write(":COMMUNICATE:HEADER OFF;VERBOSE ON;:INTEGRATE:TIMER 0,0,1;START")
        until(lambda: other.query(":INTEGRATE:STATE?") == "TIMEUP")
        held = ended_energy(other)
        refused = meter(word, address, *file, "--duration", "1", *options)
        assert refused.returncode == 1
        assert one_line(refused.stderr)
        assert (
            "still holds the energy of a run (state TIMEUP); read it with `meter probe`"
            in refused.stderr
        )
        assert ("--take-over" in refused.stderr) is (word == "record")
        assert ended_energy(other) == held
    assert list(tmp_path.iterdir()) == []
    if word == "record":
        assert went_well(
            meter(word, address, *file, "--duration", "1", *options, "--take-over")
        )


def ended_energy(panel: Link) -> list[str]:
    return [panel.query(":INTEGRATE:STATE?"), panel.query(":NUMERIC:NORMAL:VALUE? 6")]


def test_the_idle_power_comes_first_and_off(
    simulate: Any,
    meter: Any,
) -> None:
    address = simulate("--load", "constant:36W").address
    facts = json.loads(
        meter(
            "record",
            address,
            "-o",
            "r.csv",
            "--duration",
            "1",
            "--idle",
            "0.5",
            "--json",
            *FIXED,
        ).stdout
    )
    assert facts["idle_power_w"] == 36.0
    assert abs(facts["energy_above_idle_wh"]) < 36 * 0.2 / 3600


def test_a_file_is_not_overwritten_unless_told(
    simulate: Any,
    meter: Any,
    tmp_path: Path,
) -> None:
    address = simulate().address
    (tmp_path / "run.csv").write_text("precious")
    refused = meter("record", address, "-o", "run.csv", "--duration", "0.3")
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert (
        refused.stderr
        == "meter: run.csv exists already; choose another name, or add --force.\n"
    )
    assert (tmp_path / "run.csv").read_text() == "precious"
    # A meter that is not there must not cost the old file either.
    gone = simulate()
    gone.kill()
    failed = meter(
        "record", gone.address, "-o", "run.csv", "--duration", "0.3", "--force"
    )
    assert failed.returncode == 1
    assert (tmp_path / "run.csv").read_text() == "precious"
    assert went_well(
        meter("record", address, "-o", "run.csv", "--duration", "0.3", "--force")
    )
    assert read_recording(tmp_path / "run.csv")


def test_a_disk_that_takes_no_more_costs_the_file_but_not_the_energy(
    simulate: Any,
    meter: Any,
) -> None:
    ended = meter(
        "record",
        simulate().address,
        "-o",
        "/dev/full",
        "--force",
        "--duration",
        "0.5",
        "--json",
    )
    assert ended.returncode == 1
    assert one_line(ended.stderr)
    assert "No space left on device" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (
            ("SIM", "-o", "no/such/run.csv", "--duration", "1"),
            1,
            "There is no folder 'no/such'",
        ),
        (
            ("SIM", "-o", "run.csv", "--", "no-such-program"),
            1,
            "There is no program 'no-such-program'",
        ),
        (("SIM", "-o", "run.csv", "--duration", "-1"), 2, "--duration"),
        (("SIM", "-o", "run.csv", "--duration", "nan"), 2, "--duration"),
        (("SIM", "-o", "run.csv", "--duration", "inf"), 2, "--duration"),
        (("SIM", "-o", "run.csv", "--voltage-range", "0"), 2, "--voltage-range"),
        (("SIM", "-o", "run.csv", "--duration", "1", "--", "true"), 2, "not both"),
        (
            ("SIM", "b=TCPIP:no", "-o", "run.csv", "--duration", "1"),
            2,
            "'b=TCPIP:no' was taken for a COMMAND",
        ),
        (
            ("SIM", "b=TCPIP:no", "-o", "run.csv"),
            1,
            "that can be run. It is not the address of a meter, either.",
        ),
        (
            ("SIM", "./detect", "-o", "run.csv", "--", "images"),
            2,
            "'./detect' stands before -- and is not the address of a meter",
        ),
        (
            ("SIM", "b=TCPIP:no", "-o", "run.csv", "--", "true"),
            2,
            "'b=TCPIP:no' stands before --",
        ),
        (("SIM", "--duration", "1"), 2, "-o"),
        (("-o", "run.csv"), 2, "ADDRESS"),
        (("127.0.0.1:5025", "-o", "run.csv", "--duration", "1"), 1, "TCPIP::"),
        (
            ("SIM", "-o", "run.csv", "--duration", "1", "--current-range", "3"),
            1,
            "current range 3 A",
        ),
        (("SIM", "-o", "run.csv", "--duration", "1", "--element", "3"), 1, "element"),
    ],
)
def test_bad_input_is_said_and_nothing_is_written(
    simulate: Any,
    meter: Any,
    tmp_path: Path,
    arguments: tuple[str, ...],
    code: int,
    told: str,
) -> None:
    address = simulate().address if "SIM" in arguments and code == 1 else "sim:"
    ended = meter("record", *(address if word == "SIM" else word for word in arguments))
    assert ended.returncode == code
    assert ended.stdout == ""
    assert told in ended.stderr
    assert code == 2 or one_line(ended.stderr)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("ending", "name"),
    [
        (signal.SIGINT, "Ctrl-C"),
        (signal.SIGTERM, "SIGTERM"),
    ],
)
def test_ctrl_c_before_the_start_puts_the_settings_back(
    simulate: Any,
    started: Any,
    tmp_path: Path,
    until: Any,
    asked: Any,
    knobs: Any,
    ending: signal.Signals,
    name: str,
) -> None:
    address = simulate().address
    before = knobs(address)[4:]
    recording = started("record", address, "-o", "run.csv", "--idle", "60", *FIXED)
    until(lambda: asked(address, ":COMMUNICATE:HEADER OFF;:RATE?")[0].startswith("100"))
    recording.send_signal(ending)
    assert recording.wait(TIMEOUT_S) == 128 + ending
    assert (
        recording.stderr.read()
        == f"meter: Ended by {name}, before there was a result.\n"
    )
    assert knobs(address)[4:] == before
    assert list(tmp_path.iterdir()) == []


def test_two_elements_and_their_sum_are_recorded(
    simulate: Any,
    meter: Any,
) -> None:
    address = simulate("--model", "WT333E", "--load", "constant:36W").address
    joules = {}
    for element in ("2", "sum"):
        ended = meter(
            "record",
            address,
            "-o",
            f"{element}.csv",
            "--duration",
            "1",
            "--element",
            element,
            *FIXED,
            "--json",
        )
        joules[element] = json.loads(ended.stdout)["energy_j"]
    assert joules == {
        "2": pytest.approx(12.0, rel=1e-4),
        "sum": pytest.approx(36.0, rel=1e-4),
    }


def test_a_meter_in_use_is_not_taken_over_for_a_range_that_it_does_not_have(
    simulate: Any,
    meter: Any,
    asked: Any,
) -> None:
    address = simulate().address
    asked(address, ":INTEGRATE:START;*OPC?")
    ended = meter(
        "record",
        address,
        "-o",
        "run.csv",
        "--duration",
        "1",
        "--take-over",
        "--voltage-range",
        "77",
    )
    assert ended.returncode == 1
    assert "no voltage range 77 V" in ended.stderr
    assert one_line(ended.stderr)
    assert "STAR" in asked(address, ":INTEGRATE:STATE?")[0]
