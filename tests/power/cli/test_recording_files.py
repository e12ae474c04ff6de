"""The files of `meter record`: readings and record, whatever is in their way."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.measurement_files.recorded_files import read_recorded
from lpirc_power.meter import Setup
from lpirc_power.recording import read_recording
from tests.forbidden import LOOP, loop_at
from tests.power.cli.conftest import METER, one_line
from tests.timeouts import TIMEOUT_S

FIXED = ("--voltage-range", "150", "--current-range", "0.5", "--update", "0.1")


def test_a_program_that_cannot_be_run_leaves_no_file(
    simulate: Any,
    meter: Any,
    tmp_path: Path,
) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF and nothing more")
    program.chmod(0o755)
    address = simulate().address
    for _ in range(2):
        ended = meter("record", address, "-o", "run.csv", *FIXED, "--", str(program))
        assert ended.returncode == 1
        assert one_line(ended.stderr)
        assert "cannot be run: Exec format error" in ended.stderr
        assert list(tmp_path.iterdir()) == [program]


def test_a_full_disk_in_a_run_costs_the_rest_of_the_file_but_not_the_energy(
    simulate: Any,
    tmp_path: Path,
) -> None:
    limited = [
        "sh",
        "-c",
        'ulimit -f 2; exec "$@"',
        "sh",
        *METER,
        "record",
        simulate().address,
    ]
    ended = subprocess.run(
        [*limited, "-o", "run.csv", "--duration", "3", "--json", *FIXED],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert ended.returncode == 1
    assert "run.csv is incomplete" in ended.stderr
    assert one_line(ended.stderr)
    facts = json.loads(ended.stdout)
    assert facts["energy_j"] == pytest.approx(36 * 3, rel=1e-4)
    assert 5 <= len(read_recording(tmp_path / "run.csv")) < facts["readings"]


def test_certify_refuses_a_file_that_may_not_be_looked_at_before_it_asks_the_meter(
    tmp_path: Path,
    meter: Any,
) -> None:
    place = loop_at(tmp_path / "loop") / "certify.json"
    told = meter("certify", "sim:none", "--yes", "--out", str(place))
    assert told.returncode == 1
    assert one_line(told.stderr)
    assert LOOP in told.stderr


def names_in(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_the_record_beside_a_recording_gives_back_what_was_told(
    simulate: Any,
    meter: Any,
    tmp_path: Path,
) -> None:
    address = simulate("--load", "constant:36W").address
    program = (sys.executable, "-c", "import time; time.sleep(1); raise SystemExit(7)")
    ended = meter("record", address, "-o", "run.csv", "--json", *FIXED, "--", *program)
    facts = json.loads(ended.stdout)
    assert names_in(tmp_path) == ["run.csv", "run.json"]
    for name in ("run.csv", "run.json"):
        found = read_recorded(tmp_path / name)
        assert found.energy_wh == facts["energy_wh"]
        assert found.uncertainty == pytest.approx(facts["accuracy"]["percent"] / 100)
        assert [check.sentence for check in found.checks] == [
            check["sentence"] for check in facts["checks"]
        ]
        assert found.identity.serial == facts["identity"]["serial"]
        assert found.measured.setup == Setup(150.0, 0.5, 0.1, 0)
        assert found.record is not None
        assert found.record.command == program
        assert found.record.ended is not None
        assert found.record.ended.exit_code == 7
        assert found.doubts == ()


def test_a_recording_that_is_killed_has_a_record_without_an_end(
    simulate: Any,
    started: Any,
    tmp_path: Path,
    until: Any,
) -> None:
    address = simulate("--load", "constant:36W").address
    recording = started("record", address, "-o", "run.csv", *FIXED)
    until(lambda: (tmp_path / "run.csv").exists())
    until(lambda: (tmp_path / "run.csv").read_text().count("\n") > 5)
    recording.send_signal(signal.SIGKILL)
    recording.wait()
    found = read_recorded(tmp_path / "run.csv")
    assert found.identity.maker == "YOKOGAWA"
    assert found.measured.setup.voltage_range_v == 150.0
    assert found.uncertainty is not None
    assert "was cut off" in found.doubts[0]
    assert found.energy_wh == found.readings[-1].energy_wh


def test_a_record_that_is_in_the_way_is_not_overwritten_unless_told(
    simulate: Any,
    meter: Any,
    tmp_path: Path,
) -> None:
    address = simulate().address
    run = ("record", address, "-o", "run.csv", "--duration", "0.5", *FIXED)
    meter(*run)
    (tmp_path / "run.csv").unlink()
    refused = meter(*run)
    assert (refused.returncode, one_line(refused.stderr)) == (1, True)
    assert "run.json, where the record of run.csv would be, exists" in refused.stderr
    meter(*run, "--force")
    assert read_recorded(tmp_path / "run.json").doubts == ()


@pytest.mark.parametrize("theirs", ["", '{"energy_wh": 3.1}', "notes"])
def test_a_file_that_is_no_record_is_never_overwritten(
    meter: Any,
    tmp_path: Path,
    theirs: str,
) -> None:
    (tmp_path / "run.json").write_text(theirs)
    refused = meter(
        "record", "sim:", "-o", "run.csv", "--force", "--duration", "0.5", *FIXED
    )
    assert (refused.returncode, one_line(refused.stderr)) == (1, True)
    assert "exists already and is something else" in refused.stderr
    assert (tmp_path / "run.json").read_text() == theirs
    assert names_in(tmp_path) == ["run.json"]


@pytest.mark.parametrize(
    ("several", "name"),
    [
        (("sim:",), "run.json"),
        (("sim:", "--repeat", "2"), "run.JSON"),
        (("a=sim:", "b=sim:"), "run.html"),
        (("sim:",), "run.tsv"),
    ],
)
def test_a_recording_has_no_name_of_another_format(
    meter: Any,
    tmp_path: Path,
    several: tuple[str, ...],
    name: str,
) -> None:
    refused = meter("record", *several, "-o", name, "--duration", "0.5", *FIXED)
    assert (refused.returncode, one_line(refused.stderr)) == (1, True)
    assert f"{name} would be a recording, a CSV file, whose name" in refused.stderr
    assert "write run.csv." in refused.stderr
    assert names_in(tmp_path) == []


def test_readings_whose_file_was_removed_meanwhile_still_give_energy_and_checks(
    simulate: Any,
    started: Any,
    tmp_path: Path,
    until: Any,
) -> None:
    address = simulate("--load", "constant:36W").address
    recording = started("record", address, "-o", "run.csv", "--json", *FIXED)
    until(lambda: (tmp_path / "run.csv").exists())
    until(lambda: (tmp_path / "run.csv").read_text().count("\n") > 8)
    (tmp_path / "run.csv").unlink()
    recording.send_signal(signal.SIGINT)
    told, _ = recording.communicate(timeout=TIMEOUT_S)
    facts = json.loads(told)
    assert facts["readings"] > 8
    assert facts["energy_wh"] > 0
