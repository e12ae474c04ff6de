"""Meters at home under the sampler: its own threads, real files."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lpirc_power.energy import Check, Measurement, energy_checks
from lpirc_power.meter import IntegratorState, Reading, Setup
from lpirc_power.meter_standing import counts_by_identity
from lpirc_power.sampling.sampler import LinkEvent, Sampler
from tests.power.busy_host import failed

SETUP = Setup(
    voltage_range_v=150.0,
    current_range_a=1.0,
    update_interval_s=0.1,
    integrator_timer_s=600,
)
RANGE_UJ = 262143328850
WATTS = 20.0
COMPARED = (
    "integrator-trapezoid",
    "integrator-time",
    "reading-gaps",
    "no-data",
    "negative-power",
)


class Burner:
    """A counter that has always counted 20 W when somebody looks at the clock; it soon begins anew."""

    def __init__(
        self,
        root: Path,
    ) -> None:
        self._folder = root / "class/powercap/intel-rapl:0"
        self._folder.mkdir(parents=True)
        (self._folder / "name").write_text("package-0\n")
        (self._folder / "max_energy_range_uj").write_text(f"{RANGE_UJ}\n")
        self._guard = threading.Lock()
        self._began_s = time.monotonic()
        self.monotonic()

    def monotonic(self) -> float:
        with self._guard:
            now_s = time.monotonic()
            if self._folder.exists():
                counted_uj = (
                    RANGE_UJ - 10_000_000 + round(WATTS * 1e6 * (now_s - self._began_s))
                )
                fresh = self._folder / "fresh"
                fresh.write_text(f"{counted_uj % RANGE_UJ}\n")
                fresh.replace(self._folder / "energy_uj")
            return now_s

    def unplug(self) -> None:
        with self._guard:
            self._folder.rename(self._folder.with_name("away"))

    def plug(self) -> None:
        with self._guard:
            self._folder.with_name("away").rename(self._folder)


class Recorder:
    """Takes readings and lets a test wait for them."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []
        self._changed = threading.Condition()

    def __call__(
        self,
        reading: Reading,
    ) -> None:
        with self._changed:
            self.readings.append(reading)
            self._changed.notify_all()

    def until_s(
        self,
        integrator_s: float,
    ) -> None:
        with self._changed:
            assert self._changed.wait_for(
                lambda: (
                    bool(self.readings)
                    and self.readings[-1].integrator_s >= integrator_s
                ),
                20,
            )


def compared(
    readings: list[Reading],
    run: Sampler,
    start_s: float,
    end_s: float,
) -> list[Check]:
    final = run.stop()
    ran_s = run.ran_s
    assert ran_s is not None
    measured = Measurement(
        final.energy_wh, final.integrator_s, start_s, end_s, SETUP, "rapl", None, official=False,
        start_stop_s=ran_s - (end_s - start_s),  # on a busy machine starting and stopping take a while themselves
    )  # fmt: skip
    return [
        check for check in energy_checks(readings, measured) if check.code in COMPARED
    ]


def test_a_whole_run_on_an_energy_counter(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("METER_SYSFS", str(tmp_path))
    burner = Burner(tmp_path)
    recorder = Recorder()
    events: list[LinkEvent] = []
    run = Sampler(
        "rapl:",
        SETUP,
        recorder,
        burner.monotonic,
        lambda: datetime.now(UTC),
        on_link=events.append,
    )
    try:
        identity = run.arm()
        assert not counts_by_identity(identity)
        run.start()
        start_s = time.monotonic()
        recorder.until_s(1.5)
        end_s = time.monotonic()
        final = run.stop()
    finally:
        run.close()
    assert final.state is IntegratorState.STOP
    assert final.energy_wh == pytest.approx(WATTS * final.integrator_s / 3600, rel=0.01)
    assert failed(compared(recorder.readings, run, start_s, end_s)) == []
    assert events == []


def test_a_counter_that_was_away_for_a_while_costs_no_energy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    until: Callable[..., None],
) -> None:
    monkeypatch.setenv("METER_SYSFS", str(tmp_path))
    burner = Burner(tmp_path)
    recorder = Recorder()
    events: list[LinkEvent] = []
    run = Sampler(
        "rapl:",
        SETUP,
        recorder,
        burner.monotonic,
        lambda: datetime.now(UTC),
        on_link=events.append,
    )
    try:
        run.arm()
        run.start()
        recorder.until_s(0.3)
        burner.unplug()
        until(lambda: run.link_error)
        assert run.link_error is not None
        assert run.link_error.code == "meter-lost"
        burner.plug()
        until(lambda: run.link_error is None)
        final = run.stop()
    finally:
        run.close()
    assert [event.kind for event in events] == ["meter-lost", "meter-back"]
    assert final.energy_wh == pytest.approx(WATTS * final.integrator_s / 3600, rel=0.01)


def test_a_board_sensor_is_integrated_until_the_timer(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("METER_SYSFS", str(tmp_path))
    chip = tmp_path / "class/hwmon/hwmon2"
    chip.mkdir(parents=True)
    for name, content in (
        ("name", "ina219"),
        ("in1_input", 5000),
        ("curr1_input", 720),
        ("power1_input", 3600000),
    ):
        (chip / name).write_text(f"{content}\n")
    recorder = Recorder()
    setup = Setup(None, None, 0.1, 1)
    run = Sampler("hwmon:", setup, recorder, time.monotonic, lambda: datetime.now(UTC))
    try:
        run.arm()
        run.start()
        recorder.until_s(1.0)
        final = run.stop()
    finally:
        run.close()
    assert final.state is IntegratorState.TIMEUP
    assert final.integrator_s == pytest.approx(1.0)
    assert final.energy_wh == pytest.approx(0.001)
    assert final.power_factor == pytest.approx(1.0)
