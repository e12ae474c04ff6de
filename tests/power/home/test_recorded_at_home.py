"""Recordings of meters whose integrator is in this process and that have no ranges."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lpirc_power import open_meter
from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterError, MeterRangeError
from lpirc_power.measurement_files.recorded_files import read_recorded
from lpirc_power.meter import Setup
from lpirc_power.record.document import Part
from lpirc_power.recording_run.recorder import Order, Recorder
from tests.power.home.test_runs import Burner

FIXED = Setup(150.0, None, 0.1, 0)
AUTOMATIC = replace(FIXED, voltage_range_v=None)


@pytest.fixture
def burner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Burner:
    sysfs = tmp_path / "sys"
    monkeypatch.setenv("METER_SYSFS", str(sysfs))
    return Burner(sysfs)


def clocks_of(burner: Burner) -> Clocks:
    return Clocks(burner.monotonic, lambda: datetime.now(UTC), time.sleep)


def test_ranges_that_the_meter_lacks_are_refused_and_nothing_is_written(
    burner: Burner, tmp_path: Path
) -> None:
    order = Order("rapl:", FIXED, tmp_path / "run.csv")
    recorder = Recorder(order, clocks_of(burner))
    with pytest.raises(MeterRangeError) as raised:
        recorder.arm()
    recorder.close()
    told = str(raised.value)
    assert "has no ranges to set, and 150 V would change nothing" in told
    assert not (tmp_path / "run.csv").exists()
    with pytest.raises(MeterRangeError, match="has no ranges to set, and 1 A would"):
        open_meter("rapl:", current_range_a=1.0)


def test_one_of_a_group_shares_its_options_and_records_that_it_has_no_range(
    burner: Burner, tmp_path: Path
) -> None:
    output = tmp_path / "run.board.csv"
    part = Part("group", "run.json", "board")
    order = Order("rapl:", FIXED, output, part=part)
    recorder = Recorder(order, clocks_of(burner))
    recorder.arm()
    with recorder.files():
        recorder.start()
        recorder.note_start()
        time.sleep(0.3)
        recorder.stop()
    recorder.recorded()
    recorder.close()
    assert read_recorded(output).measured.setup.voltage_range_v is None


def test_an_energy_that_could_not_be_read_is_not_said_to_wait_in_the_meter(
    burner: Burner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lpirc_power.sampling.sampler.FINAL_S", 0.5)
    order = Order("rapl:", AUTOMATIC, tmp_path / "run.csv")
    recorder = Recorder(order, clocks_of(burner))
    recorder.arm()
    with recorder.files():
        recorder.start()
        burner.unplug()
        with pytest.raises(MeterError) as raised:
            recorder.stop()
    recorder.close()
    told = str(raised.value)
    assert "and the meter keeps none when this program ends." in told
    assert "may still be integrating" not in told
    assert "meter probe" not in told
