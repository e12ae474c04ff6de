"""Marks from a workload, through `meter record` and back out of its record."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.measurement_files.recorded_files import read_recorded
from lpirc_power.report.marked_report import marked
from tests.power.cli.conftest import METER, one_line
from tests.timeouts import TIMEOUT_S

FIXED = ("--voltage-range", "150", "--current-range", "0.5", "--update", "0.1")
WORKLOAD = """
import time
from lpirc_power import mark
from lpirc_power.marks.marking import instant
with mark("load"):
    time.sleep(0.4)
instant("ready")
for _ in range(3):
    with mark("inference"):
        time.sleep(0.5)
mark("never closed").__enter__()
"""


def test_the_energy_of_each_mark_is_told_and_kept(
    simulate: Any, meter: Any, tmp_path: Path
) -> None:
    address = simulate("--load", "constant:36W").address
    program = (sys.executable, "-c", WORKLOAD)
    ended = meter("record", address, "-o", "run.csv", "--json", *FIXED, "--", *program)
    facts = json.loads(ended.stdout.splitlines()[-1])
    marks = {one["name"]: one for one in facts["marks"]}
    assert list(marks) == ["load", "ready", "inference", "never closed"]
    inference = marks["inference"]
    assert inference["count"] == 3
    assert inference["duration_s"] == pytest.approx(1.5, abs=1.0)
    # On a busy host readings are late, and the limit grows with that.
    off_wh = inference["energy_wh"] - 36.0 * inference["duration_s"] / 3600.0
    assert abs(off_wh) <= inference["budget"]["guaranteed_wh"]
    assert inference["mean_wh"] == pytest.approx(inference["energy_wh"] / 3)
    assert inference["budget"]["coverage_wh"] > inference["edges_wh"] / 2
    assert len(marks["ready"]["instants_s"]) == 1
    assert marks["ready"]["energy_wh"] is None
    assert marks["never closed"]["unclosed"] == 1
    again = marked(read_recorded(tmp_path / "run.json"))
    assert [one.energy.energy_wh for one in again] == [
        one["energy_wh"] or 0.0 for one in facts["marks"]
    ]


def test_a_series_has_the_mean_of_each_mark(
    simulate: Any, meter: Any, tmp_path: Path
) -> None:
    address = simulate("--load", "constant:36W").address
    short = (
        "import time; from lpirc_power import mark\nwith mark('work'): time.sleep(0.6)"
    )
    ended = meter(
        "record", address, "-o", "run.csv", "--json", *FIXED, "--repeat", "2", "--",
        sys.executable, "-c", short,
    )  # fmt: skip
    facts = json.loads(ended.stdout.splitlines()[-1])
    (work,) = facts["marks"]
    assert (work["name"], len(work["energies_wh"])) == ("work", 2)
    assert work["mean_wh"] == pytest.approx(sum(work["energies_wh"]) / 2)
    assert "spread" in [term["code"] for term in work["budget"]["terms"]]


def test_a_program_that_is_not_there_is_not_taken_for_a_meter(meter: Any) -> None:
    ended = meter("mark", "inference", "--", "./nothere")
    assert ended.stderr.endswith("no program './nothere' that can be run.\n")


def test_a_shell_marks_moments_and_programs_and_keeps_their_exit_codes(
    simulate: Any, tmp_path: Path
) -> None:
    address = simulate("--load", "constant:36W").address
    command = shlex.join(METER)
    script = f"{command} mark ready; {command} mark work -- sh -c 'sleep 1; exit 7'"
    ended = subprocess.run(
        [*METER, "record", address, "-o", "run.csv", *FIXED, "--", "sh", "-c", script],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=TIMEOUT_S,
    )  # fmt: skip
    assert ended.returncode == 7
    assert "mark             ready: at " in ended.stderr
    assert "mark             work: 0.0" in ended.stderr


def test_a_mark_without_a_recording_is_a_warning_and_runs_the_program(
    meter: Any,
) -> None:
    ended = meter("mark", "work", "--", sys.executable, "-c", "raise SystemExit(3)")
    assert ended.returncode == 3
    assert one_line(ended.stderr)
    assert "No recording listens" in ended.stderr
    assert meter("mark", "work").returncode == 0


def test_marks_come_in_at_a_path_from_another_terminal(
    simulate: Any, started: Any, tmp_path: Path, until: Any
) -> None:
    address = simulate("--load", "constant:36W").address
    recording = started(
        "record", address, "-o", "run.csv", "--duration", "3", "--marks", "here",
        "--json", *FIXED,
    )  # fmt: skip
    until(lambda: (tmp_path / "run.csv").exists())
    until(lambda: (tmp_path / "run.csv").read_text().count("\n") > 3)
    environment = {"LPIRC_METER_MARKS": str(tmp_path / "here")}
    subprocess.run([*METER, "mark", "now"], env=environment, check=True)
    told, _ = recording.communicate(timeout=TIMEOUT_S)
    facts = json.loads(told)
    assert [one["name"] for one in facts["marks"]] == ["now"]
    assert not (tmp_path / "here").exists()


def test_a_path_for_marks_that_is_taken_is_refused_before_the_meter_is_asked(
    meter: Any, tmp_path: Path
) -> None:
    (tmp_path / "here").write_text("precious")
    refused = meter(
        "record", "sim:none", "-o", "run.csv", "--duration", "1", "--marks", "here"
    )
    assert (refused.returncode, one_line(refused.stderr)) == (1, True)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["here"]


FOLLOWED = """
import pathlib
import time
from lpirc_power import mark

def powers_w():
    lines = pathlib.Path("run.csv").read_text().splitlines()
    return [float(one.split(",")[5]) for one in lines[1:] if one.count(",") > 5]

def until(holds):
    while not holds():
        time.sleep(0.01)

def ten_readings():
    before = len(powers_w())
    until(lambda: len(powers_w()) >= before + 10)

working = pathlib.Path("working")
working.touch()
until(lambda: powers_w()[-1:] > [30.0])
with mark("inference"):
    ten_readings()
working.unlink()
until(lambda: powers_w()[-1] < 30.0)
with mark("rest"):
    ten_readings()
"""
"""Works while the meter shows it, and rests while the meter shows that."""


def recorded_above_idle(
    simulate: Any, meter: Any, folder: Path, busy: str
) -> dict[str, Any]:
    load = f"while:{folder / 'working'},idle=20W,busy={busy}"
    address = simulate("--load", load).address
    options = ("-o", "run.csv", "--force", "--idle", "1", "--json", *FIXED)
    ended = meter("record", address, *options, "--", sys.executable, "-c", FOLLOWED)
    facts: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return facts


def test_each_mark_has_its_energy_above_the_idle_power_that_was_measured_before(
    simulate: Any, meter: Any, tmp_path: Path
) -> None:
    facts = recorded_above_idle(simulate, meter, tmp_path, "36W")
    assert facts["idle_power_w"] == pytest.approx(20.0, abs=0.1)
    marks = {one["name"]: one for one in facts["marks"]}
    for name, net_w in (("inference", 16.0), ("rest", 0.0)):
        one = marks[name]
        off_wh = one["above_idle_wh"] - net_w * one["duration_s"] / 3600.0
        budget = one["above_idle_budget"]
        assert abs(off_wh) <= budget["guaranteed_wh"], name
        idle_wh = facts["idle_power_w"] * one["duration_s"] / 3600.0
        assert one["above_idle_wh"] == pytest.approx(one["energy_wh"] - idle_wh)
        codes = {term["code"] for term in budget["terms"]}
        assert {"marks", "idle-spread"} <= codes
    again = json.loads(meter("check", "run.json", "--json").stdout)
    assert again["marks"] == facts["marks"]


def test_the_energies_of_a_mark_above_idle_are_compared(
    simulate: Any, meter: Any, tmp_path: Path
) -> None:
    nets_wh = []
    for name, busy in (("a", "36W"), ("b", "52W")):
        facts = recorded_above_idle(simulate, meter, tmp_path, busy)
        (work,) = [one for one in facts["marks"] if one["name"] == "inference"]
        nets_wh.append(work["above_idle_wh"])
        for ending in ("csv", "json"):
            (tmp_path / f"run.{ending}").rename(tmp_path / f"{name}.{ending}")
    choice = ("--mark", "inference", "--above-idle", "--json")
    found = json.loads(meter("compare", "a.json", "b.json", *choice).stdout)
    assert (found["mark"], found["above_idle"]) == ("inference", True)
    assert found["ratio"] == pytest.approx(nets_wh[1] / nets_wh[0])


def test_a_mark_names_the_place_where_no_recording_listens(
    meter: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gone = str(tmp_path / "gone")
    monkeypatch.setenv("LPIRC_METER_MARKS", gone)
    ended = meter("mark", "work")
    assert ended.returncode == 0
    assert one_line(ended.stderr)
    assert f"No recording listens at {gone}, so marks do nothing" in ended.stderr


def test_a_line_for_a_shell_as_one_argument_is_told_how_to_be_written(
    meter: Any,
) -> None:
    ended = meter("record", "sim:constant:36W", "-o", "a.csv", "--", "sleep 1; true")
    assert ended.returncode == 1
    assert one_line(ended.stderr)
    assert "a line for a shell as sh -c 'sleep 1; true'." in ended.stderr
