"""What is said of a recording whose files somebody has altered by hand: the table in docs/lab.md.

The recording is of 60 s: 8 W in each mark of 4 s, 6 W between them, and 2 W idle before.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.measurement_files.any_measurement import read_any
from lpirc_power.record.document import Mark
from lpirc_power.report.marked_report import marked
from lpirc_power.report.recording_report import Recorded
from lpirc_power.sampling.polling import Idle
from tests.power.made_recordings import Made

IDLE = Idle(2.0, 5.0, 50, 0.01, 0.002, 9.0, 120.0, 2.0 / 120.0, 2.0)
MARKS = tuple(Mark("inference", begin, begin + 4.0) for begin in range(0, 60, 10))
ENERGY_WH = (8.0 * 24.0 + 6.0 * 36.0) / 3600.0
POWERS = ("power_w", "current_a", "apparent_va")


@dataclass
class Altered:
    """The rows of a recording by their columns, and its record, to be altered and written again."""

    path: Path
    rows: list[dict[str, str]]
    record: dict[str, Any]

    def scale(self, names: tuple[str, ...], by: float, first: int = 0) -> None:
        for one in self.rows[first:]:
            for name in names:
                one[name] = repr(float(one[name]) * by)

    def write(self, *, is_hashed_again: bool) -> Path:
        with self.path.open("w", newline="") as file:
            writer = csv.DictWriter(file, [*self.rows[0]], lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        if is_hashed_again:
            ended = self.record["ended"]
            ended["sha256"] = hashlib.sha256(self.path.read_bytes()).hexdigest()
            ended["row"] = ",".join(self.rows[-1].values())
        self.path.with_suffix(".json").write_text(json.dumps(self.record))
        return self.path

    def read(self, *, is_hashed_again: bool = True) -> Recorded:
        found = read_any(self.write(is_hashed_again=is_hashed_again))
        assert isinstance(found, Recorded)
        return found


@pytest.fixture
def altered(tmp_path: Path) -> Altered:
    def load(since_s: float) -> float:
        return 8.0 if (since_s - 1e-6) % 10.0 < 4.0 else 6.0

    made = Made(tmp_path, load=load, length_s=60.0, idle=IDLE, marks=MARKS)
    path = made.recording()
    with path.open(newline="") as file:
        rows = [*csv.DictReader(file)]
    return Altered(path, rows, json.loads(path.with_suffix(".json").read_text()))


def mark_wh(recorded: Recorded) -> float:
    (found,) = marked(recorded)
    return found.energy.energy_wh


def move_energy_out_of_the_marks(found: Altered) -> None:
    """Lower WH where a mark ends, and raise it again until the next one begins."""
    for one in found.rows:
        since_s = float(one["monotonic_s"]) % 10.0
        part = min(since_s / 4.0, (10.0 - since_s) / 6.0)
        one["energy_wh"] = repr(float(one["energy_wh"]) - 0.001 * part)


def test_untouched_it_holds_all_checks(altered: Altered) -> None:
    found = altered.read(is_hashed_again=False)
    assert found.energy_wh == pytest.approx(ENERGY_WH)
    assert mark_wh(found) == pytest.approx(8.0 * 24.0 / 3600.0)
    assert all(one.ok for one in found.checks)
    assert found.doubts == ()


@pytest.mark.parametrize(
    "alter", [move_energy_out_of_the_marks, lambda found: found.scale(POWERS, 0.5, 300)]
)
def test_other_rows_beside_the_record_are_refused(
    altered: Altered, alter: Callable[[Altered], None]
) -> None:
    alter(altered)
    with pytest.raises(MeterError, match="or were changed") as refused:
        altered.read(is_hashed_again=False)
    assert refused.value.code == "recording-record"


def test_other_rows_that_pass_for_a_cut_file_are_said_to_be_of_unknown_origin(
    altered: Altered,
) -> None:
    move_energy_out_of_the_marks(altered)
    del altered.rows[-1]
    found = altered.read(is_hashed_again=False)
    assert found.energy_wh == pytest.approx(ENERGY_WH)
    (doubt,) = found.doubts
    assert doubt.startswith("1 of 601 readings are not in ")
    assert "Whether these are as they were recorded is not known" in doubt


def test_powers_that_are_altered_do_not_change_the_energy_and_fail_beside_it(
    altered: Altered,
) -> None:
    altered.scale(POWERS, 0.5, 300)
    found = altered.read()
    assert found.energy_wh == pytest.approx(ENERGY_WH)
    assert "integrator-trapezoid" in found.failed


@pytest.mark.parametrize("share", [0.5, 0.97, 0.9999])
def test_an_energy_that_is_altered_alone_fails(altered: Altered, share: float) -> None:
    altered.record["ended"]["measured"]["integrator_wh"] *= share
    assert "integrator-steps" in altered.read(is_hashed_again=False).failed


def test_times_that_are_stretched_fail(altered: Altered) -> None:
    altered.scale(("monotonic_s",), 1.1)
    altered.record["ended"]["measured"]["end_s"] *= 1.1
    altered.record["ended"]["end"]["monotonic_s"] *= 1.1
    found = altered.read()
    wanted = {"integrator-trapezoid", "integrator-time", "integrator-steps"}
    assert wanted <= {*found.failed}


def test_a_window_that_is_shortened_fails(altered: Altered) -> None:
    altered.record["ended"]["measured"]["end_s"] = 55.0
    found = altered.read(is_hashed_again=False)
    assert {"integrator-trapezoid", "integrator-time"} <= {*found.failed}


def test_a_time_of_day_that_is_altered_is_said(altered: Altered) -> None:
    altered.record["started"]["start"]["utc"] = "2025-12-31T00:00:00+00:00"
    found = altered.read(is_hashed_again=False)
    assert found.energy_wh == pytest.approx(ENERGY_WH)
    assert "times of day are off" in " ".join(found.doubts)


def all_lower(found: Altered) -> None:
    found.scale((*POWERS, "energy_wh"), 0.9)
    found.record["ended"]["measured"]["integrator_wh"] *= 0.9


def moved_marks(found: Altered) -> None:
    for one in found.record["ended"]["marks"]:
        one["begin_s"] += 2.0
        one["end_s"] += 2.0


def idle_raised(found: Altered) -> None:
    found.record["started"]["idle"]["power_w"] = 4.0


@pytest.mark.parametrize("alter", [all_lower, moved_marks, idle_raised])
def test_a_record_that_is_written_anew_and_fits_its_rows_is_believed(
    altered: Altered, alter: Callable[[Altered], None]
) -> None:
    """No file can show this, and docs/lab.md says so: a change that makes it fail has to change that page."""
    alter(altered)
    found = altered.read()
    assert all(one.ok for one in found.checks)
    assert found.doubts == ()
