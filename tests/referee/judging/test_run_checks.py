from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Check
from lpirc_power.meter import Reading
from referee.judging.run_checks import is_scorable, measured_run
from referee.store.records import Run, RunState
from tests.referee.factories import reading, run_record


def closed(energy_wh: float | None = 0.1, **different: object) -> Run:
    values = {
        "elapsed_s": 10.0,
        "meter_changes": (),
        "integrator_s": 10.0,
        "state": RunState.CLOSED,
        "energy_wh": energy_wh,
    }
    return run_record(**(values | different))


def run_checks(
    run: Run,
    readings: Sequence[Reading],
    start_s: float,
    **given: str,
) -> tuple[Check, ...]:
    return measured_run(
        run,
        readings,
        start_s,
        limits=limits_of("WT310"),
        **given,
    ).checks


def failed(checks: tuple[Check, ...]) -> list[str]:
    return [check.code for check in checks if not check.ok]


READINGS = [
    reading(
        100 + tenth / 10,
        energy_wh=36 * tenth / 36000,
        integrator_s=float(tenth // 10),
    )
    for tenth in range(101)
]


def test_a_sound_run_passes_every_check() -> None:
    checks = run_checks(closed(), READINGS, start_s=100.0)
    assert failed(checks) == []
    assert len({check.code for check in checks}) == len(checks) == 15


@pytest.mark.parametrize("energy_wh", [None, 0.0, -0.1, math.inf, math.nan, 1e200])
def test_a_run_without_energy_fails_the_check_that_it_was_measured(
    energy_wh: float | None,
) -> None:
    first = run_checks(closed(energy_wh), READINGS, start_s=100.0)[0]
    assert first.code == "energy-measured"
    assert first.ok is False
    assert first.severity == "error"
    assert not is_scorable(energy_wh)


def test_a_missing_energy_is_told_apart_from_none_used() -> None:
    missing, none_used = (
        run_checks(closed(energy_wh), [], 0.0)[0] for energy_wh in (None, 0.0)
    )
    assert "There is no energy" in missing.sentence
    told = run_checks(closed(None), [], 0.0, missing="Its cable is out.")[0]
    assert told.sentence.endswith("so there is no score: Its cable is out.")
    assert "0 Wh; a score needs an energy above 0 Wh" in none_used.sentence
    absurd = run_checks(closed(1e200), [], 0.0)[0]
    assert (
        "1e+200 Wh; a score needs an energy above 0 Wh and at most" in absurd.sentence
    )


def test_an_energy_that_covers_more_than_the_run_is_found() -> None:
    checks = run_checks(
        closed(energy_wh=6.0, integrator_s=600.0),
        READINGS,
        start_s=100.0,
    )
    assert failed(checks) == ["integrator-trapezoid", "integrator-time"]


def test_settings_that_nobody_read_back_count_as_changed() -> None:
    checks = run_checks(closed(meter_changes=None), READINGS, start_s=100.0)
    assert failed(checks) == ["range-changed"]
    assert "not read back" in next(check.sentence for check in checks if not check.ok)


def test_a_run_without_readings_is_found() -> None:
    codes = failed(run_checks(closed(), [], start_s=100.0))
    assert {"integrator-trapezoid", "reading-gaps", "no-data"} <= set(codes)
