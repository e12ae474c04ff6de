"""Files that a power failure or a full disk has cut anywhere are read, or refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.measurement_files.any_measurement import read_any
from lpirc_power.measurement_files.recorded_files import Series, read_measurement
from lpirc_power.report.check_report import check_lines, failure_of, what_lacks
from lpirc_power.report.recording_report import Recorded
from tests.power.made_recordings import SIX_WATTS, Made

TRUE_WH = 6.0 * 2.0 / 3600.0
STEP = 7
"""Bytes between two cuts; all were tried once, and those between are alike."""
ROW_WH = 6.0 * 0.1 / 3600.0


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Made(tmp_path, length_s=2.0).recording("run")


def without_end(run: Path) -> None:
    path = run.with_suffix(".json")
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"ended": None}))


def checked(path: Path) -> Recorded:
    """Read a recording and say all that `meter check` says of it."""
    found = read_any(path)
    assert isinstance(found, Recorded)
    assert check_lines(found)
    failure_of(found)
    return found


def test_a_table_cut_in_its_last_rows_keeps_the_energy_of_its_record(run: Path) -> None:
    whole = run.read_bytes()
    rows = whole.splitlines(keepends=True)
    for length in range(len(whole) - len(rows[-1]) - len(rows[-2]), len(whole), STEP):
        run.write_bytes(whole[:length])
        found = checked(run)
        assert found.energy_wh == pytest.approx(TRUE_WH)
        assert " of 21 readings are not in " in " ".join(found.doubts)
    for length in range(0, len(rows[0]) + len(rows[1]), STEP):
        run.write_bytes(whole[:length])
        assert checked(run).energy_wh == pytest.approx(TRUE_WH)


def test_a_table_cut_without_an_end_has_the_energy_of_its_last_whole_row(
    run: Path,
) -> None:
    without_end(run)
    whole = run.read_bytes()
    rows = whole.splitlines(keepends=True)
    stop = len(whole) - len(rows[-1])
    for length in range(stop - len(rows[-2]), len(whole), STEP):
        for rest in (b"", b"\0" * (len(whole) - length)):
            run.write_bytes(whole[:length] + rest)
            found = checked(run)
            lost = length < stop
            assert found.energy_wh == pytest.approx(TRUE_WH - lost * ROW_WH)
            assert "The recording was cut off: " in found.doubts[0]


def test_a_record_without_its_end_beside_a_table_that_has_it(run: Path) -> None:
    """What a disk leaves that is full at the stop, and has room for the last row."""
    without_end(run)
    found = checked(run)
    assert found.energy_wh == pytest.approx(TRUE_WH)
    assert found.failed == ()
    assert "by the last row the integrator was stopped about 2.0 s" in found.doubts[0]


def test_a_record_cut_at_any_length_is_said_to_be_no_json(run: Path) -> None:
    path = run.with_suffix(".json")
    whole = path.read_bytes().rstrip()
    for length in range(0, len(whole), STEP):
        path.write_bytes(whole[:length])
        with pytest.raises(MeterError) as refused:
            read_any(path)
        sentence = refused.value.sentence
        said = "not JSON, or was cut short." if length else "record again."
        assert sentence.endswith(said)
        found = read_any(run)
        assert isinstance(found, Recorded)
        assert "The readings of" in found.doubts[0]
        assert found.energy_wh == pytest.approx(TRUE_WH)


def test_an_attempt_that_cannot_be_read_is_left_out_and_named(tmp_path: Path) -> None:
    path = Made(tmp_path).series("s", [SIX_WATTS] * 3)
    (tmp_path / "s-1.json").unlink()
    (tmp_path / "s-2.json").write_text("{")
    found = read_measurement(path)
    assert isinstance(found, Series)
    assert [Path(one.file).name for one in found.recordings] == ["s-3.csv"]
    assert what_lacks(found) == [
        f"attempt in s-1.json does not count: The recording {tmp_path / 's-1.json'} cannot be read: "
        "No such file or directory.",
        f"attempt in s-2.json does not count: {tmp_path / 's-2.json'} cannot be used: it is not JSON, or was cut "
        "short.",
    ]
