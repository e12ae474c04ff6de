"""Recorded runs of a real WT310, sampled again by a fast clock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from power.energy import Measurement, energy_checks, trapezoid_wh
from power.meter import IntegratorState, Reading, Setup


class FastClock:
    """A clock that a pause puts forward at once, until it is told to stand still at `end_s`."""

    def __init__(self, end_s: float) -> None:
        self.now_s = 0.0
        self._end_s = end_s
        self._stood_still = threading.Event()

    def monotonic(self) -> float:
        return self.now_s

    def wait(self, event: threading.Event, seconds: float) -> object:
        if self.now_s + seconds > self._end_s and threading.current_thread().name == "sampler":
            self._stood_still.set()
            return event.wait()
        self.now_s += seconds
        return event.is_set()

    def wait_for_the_end(self) -> None:
        assert self._stood_still.wait(20)


@pytest.fixture
def played(sampler: Any, recordings: Path) -> Callable[[str, float], tuple[Any, Measurement]]:
    """Sample a recording of so long, once a second and a second more; gives the sampler and its measurement."""

    def play(name: str, window_s: float) -> tuple[Any, Measurement]:
        clock = FastClock(window_s + 1.0)
        setup = Setup(None, None, 1.0, 0)
        run = sampler(f"replay:{recordings / name}", setup, monotonic=clock.monotonic, wait=clock.wait)
        identity = run.arm()
        run.start()
        clock.wait_for_the_end()
        final = run.stop()
        measured = Measurement(
            final.energy_wh, final.integrator_s, 0.0, window_s, setup, identity.model, None, identity.official
        )
        return run, measured

    return play


def integral_wh(readings: list[Reading], measured: Measurement) -> float:
    times, powers = [one.monotonic_s for one in readings], [one.power_w for one in readings]
    return trapezoid_wh(times, powers, measured.start_s, measured.end_s)


def test_a_recorded_run_has_one_energy_by_integrator_and_by_trapezoid(played: Any, recorder: Any) -> None:
    run, measured = played("wt310_readings_user_330.csv", 30.0)
    readings = recorder.readings
    assert integral_wh(readings, measured) == pytest.approx(measured.integrator_wh, rel=0.002)
    assert measured.integrator_wh == pytest.approx(0.000729776, rel=1e-6)  # the last row's
    assert run.last.state is IntegratorState.TIMEUP
    failed = [check.code for check in energy_checks(readings, measured) if not check.ok]
    assert failed == ["official-meter"]


def test_each_row_of_a_recording_is_sampled_once(played: Any, recorder: Any) -> None:
    played("wt310_readings_user_330.csv", 30.0)
    seconds = [round(reading.monotonic_s) for reading in recorder.readings]
    assert seconds == sorted(set(seconds))
    assert set(range(1, 30)) <= set(seconds)


def test_a_recorded_run_without_load_is_told_as_one(played: Any, recorder: Any) -> None:
    _, measured = played("wt310_readings_lpirc.csv", 300.0)
    readings = recorder.readings
    assert integral_wh(readings, measured) == pytest.approx(measured.integrator_wh, abs=1e-9)
    checks = {check.code: check for check in energy_checks(readings, measured)}
    assert (checks["low-load"].ok, checks["low-load"].severity) == (False, "error")
