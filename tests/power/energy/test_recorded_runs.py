"""Recorded runs of a real WT310, as its 2015 driver wrote them: its integrator against its own readings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lpirc_power.energy import Check, Measurement, energy_checks
from lpirc_power.meter import Setup
from lpirc_power.recording import read_recording


@pytest.fixture
def checked(recordings: Path) -> Callable[[str], tuple[Measurement, dict[str, Check]]]:
    """Every check of a recorded run of 1 s updates, over the time that its integrator ran."""

    def check(name: str) -> tuple[Measurement, dict[str, Check]]:
        readings = read_recording(recordings / name)
        last = readings[-1]
        setup = Setup(None, None, 1.0, 0)
        measured = Measurement(
            last.energy_wh,
            last.integrator_s,
            0.0,
            last.integrator_s,
            setup,
            "WT310",
            None,
            start_stop_s=0.0,
        )
        return measured, {
            check.code: check for check in energy_checks(readings, measured)
        }

    return check


def test_a_recorded_run_has_one_energy_by_integrator_and_by_trapezoid(
    checked: Callable[[str], tuple[Measurement, dict[str, Check]]],
) -> None:
    measured, checks = checked("wt310_readings_user_330.csv")
    assert measured.integrator_wh == 0.000729776
    assert measured.integrator_s == 30.0
    assert checks["integrator-trapezoid"].figures["trapezoid_wh"] == pytest.approx(
        0.000729776,
        rel=0.002,
    )
    assert [code for code, check in checks.items() if not check.ok] == []


def test_a_recorded_run_without_load_is_told_as_one(
    checked: Callable[[str], tuple[Measurement, dict[str, Check]]],
) -> None:
    measured, checks = checked("wt310_readings_lpirc.csv")
    assert checks["integrator-trapezoid"].figures["trapezoid_wh"] == pytest.approx(
        measured.integrator_wh,
        abs=1e-9,
    )
    assert checks["low-load"].ok is False
    assert checks["low-load"].severity == "error"
