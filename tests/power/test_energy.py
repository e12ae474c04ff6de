from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from power.energy import Check, energy_checks, mean_power_w, trapezoid_wh
from power.meter import Reading

Make = Callable[..., Reading]
WATTS = st.floats(0, 5000)


def checks(
    readings: list[Reading], wh: float, seconds: float = 10.0, interval_s: float = 1.0
) -> dict[str, Check]:
    found = energy_checks(readings, wh, float(int(seconds)), seconds, 0.0, seconds, interval_s)
    return {check.code: check for check in found}


def recorded(path: Path) -> tuple[list[float], list[float], float]:
    with path.open(newline="") as lines:
        rows = [[float(cell) for cell in row] for row in csv.reader(lines)]
    powers = [math.nan if row[2] > 9e37 else row[2] for row in rows]
    return [row[4] for row in rows], powers, rows[-1][3]


@given(WATTS, st.floats(0.1, 10000))
def test_constant_power_integrates_to_power_times_time(power_w: float, length_s: float) -> None:
    expected = power_w * length_s / 3600
    assert trapezoid_wh([1.0, 2.0, 3.0], [power_w] * 3, 0.0, length_s) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.tuples(st.floats(0, 100), WATTS), min_size=1, max_size=30), st.floats(0, 100))
def test_two_parts_of_a_window_add_up_to_the_whole(
    samples: list[tuple[float, float]], middle_s: float
) -> None:
    times, powers = zip(*samples, strict=True)
    if len(set(times)) < len(times):
        return  # two powers at one moment: a step, whose side an edge exactly there cannot know
    first = trapezoid_wh(times, powers, 0.0, middle_s)
    second = trapezoid_wh(times, powers, middle_s, 100.0)
    assert first + second == pytest.approx(trapezoid_wh(times, powers, 0.0, 100.0), rel=1e-6, abs=1e-9)


def test_edges_hold_the_first_and_last_finite_value() -> None:
    assert trapezoid_wh([0, 1, 2, 3], [math.nan, 3600, 7200, math.inf], 0, 4) == pytest.approx(
        1 * 1 + 1.5 + 2 * 2
    )


def test_readings_outside_the_window_shape_its_edges_only() -> None:
    assert trapezoid_wh([0, 2, 4], [0, 7200, 0], 1, 3) == pytest.approx(3.0)


def test_nothing_finite_has_no_integral() -> None:
    assert math.isnan(trapezoid_wh([], [], 0, 1))
    assert math.isnan(trapezoid_wh([1.0], [math.nan], 0, 1))
    assert math.isnan(mean_power_w(1.0, 0.0))
    assert mean_power_w(1.0, 3600.0) == 1.0


def test_a_real_wt310_integrates_like_its_readings(recordings: Path) -> None:
    times, powers, integrator_wh = recorded(recordings / "wt310_readings_user_330.csv")
    assert math.isnan(powers[0])
    assert trapezoid_wh(times, powers, times[0], times[-1]) == pytest.approx(integrator_wh, rel=0.002)


def test_a_real_wt310_without_load_integrates_its_own_noise(recordings: Path) -> None:
    times, powers, integrator_wh = recorded(recordings / "wt310_readings_lpirc.csv")
    assert times[-1] == 300
    assert trapezoid_wh(times, powers, 0.0, 300.0) == pytest.approx(integrator_wh, abs=1e-9)


def test_the_checks_of_a_real_run_hold(recordings: Path, reading: Make) -> None:
    times, powers, integrator_wh = recorded(recordings / "wt310_readings_user_330.csv")
    readings = [reading(t, power_w=p) for t, p in zip(times, powers, strict=True)]
    found = energy_checks(readings, integrator_wh, 30.0, 30.4, 0.0, 30.4, 1.0)
    assert [check.code for check in found if not check.ok] == []


def test_a_sound_run_passes_every_check(reading: Make) -> None:
    readings = [reading(0.0, power_w=math.nan), *(reading(float(t)) for t in range(1, 11))]
    found = checks(readings, 6.0 * 10 / 3600)
    assert all(check.ok for check in found.values())
    assert set(found) == {
        "integrator-trapezoid", "integrator-time", "over-range", "peak-clipping", "reading-gaps", "no-data"
    }  # fmt: skip


def test_an_integral_that_does_not_fit_the_readings_fails(reading: Make) -> None:
    readings = [reading(float(t)) for t in range(601)]
    sound_wh = 6.0 * 600 / 3600
    assert checks(readings, sound_wh * 1.005, 600.0)["integrator-trapezoid"].ok
    wrong = checks(readings, sound_wh * 1.01, 600.0)["integrator-trapezoid"]
    assert not wrong.ok
    assert wrong.severity == "error"
    assert wrong.figures["difference_wh"] == pytest.approx(sound_wh * 0.01)


@pytest.mark.parametrize("seconds", [10, 60, 600])
def test_tolerance_is_half_a_percent_and_one_update_of_the_largest_power(reading: Make, seconds: int) -> None:
    readings = [reading(float(t)) for t in range(seconds + 1)]
    sound_wh, update_wh = 6.0 * seconds / 3600, 6.0 / 3600
    figures = checks(readings, sound_wh, float(seconds))["integrator-trapezoid"].figures
    assert figures["tolerance_wh"] == pytest.approx(0.00501 * sound_wh + update_wh)


def test_missing_integral_fails_the_comparison(reading: Make) -> None:
    found = checks([reading(1.0)], math.nan)["integrator-trapezoid"]
    assert not found.ok
    assert found.figures["integrator_wh"] is None


@pytest.mark.parametrize(
    ("integrator_s", "ok"), [(8.0, True), (10.0, True), (12.0, True), (7.0, False), (13.0, False)]
)
def test_integrator_time_may_differ_by_its_resolution_and_the_commands(
    reading: Make, integrator_s: float, ok: bool
) -> None:
    found = energy_checks([reading(1.0)], 0.0, integrator_s, 10.0, 0.0, 10.0, 1.0)
    assert next(check for check in found if check.code == "integrator-time").ok is ok


@pytest.mark.parametrize(
    ("flag", "code"),
    [
        ("over_range", "over-range"),
        ("voltage_peak_over", "peak-clipping"),
        ("current_peak_over", "peak-clipping"),
    ],
)
def test_one_flagged_reading_fails_its_check(reading: Make, flag: str, code: str) -> None:
    readings = [reading(float(t)) for t in range(10)]
    readings[5] = reading(5.0, **{flag: True})
    found = checks(readings, 6.0 * 10 / 3600)
    assert [check.code for check in found.values() if not check.ok] == [code]
    assert found[code].figures["flagged"] == 1
    assert found[code].figures["first_monotonic_s"] == 5.0


def test_a_flag_outside_the_window_does_not_count(reading: Make) -> None:
    readings = [*(reading(float(t)) for t in range(11)), reading(11.0, over_range=True)]
    assert checks(readings, 6.0 * 10 / 3600)["over-range"].ok


def test_gaps_are_a_warning_with_their_lengths(reading: Make) -> None:
    found = checks([reading(1.0), reading(2.0), reading(7.0)], 6.0 * 10 / 3600)["reading-gaps"]
    assert not found.ok
    assert found.severity == "warning"
    assert found.figures == {"gaps": 1, "longest_s": 5.0, "limit_s": 3.0}


def test_readings_that_begin_late_or_end_early_are_gaps(reading: Make) -> None:
    assert checks([reading(5.0)], 0.0)["reading-gaps"].figures["gaps"] == 2


def test_no_data_is_normal_at_the_start_only(reading: Make) -> None:
    start = [reading(t / 2, power_w=math.nan) for t in range(3)]
    rest = [reading(float(t)) for t in range(2, 10)]
    assert checks([*start, *rest], 0.0)["no-data"].ok
    later = checks([*start, *rest, reading(9.5, power_w=math.nan)], 0.0)["no-data"]
    assert (later.ok, later.severity) == (False, "warning")
    never = checks(start, 0.0)["no-data"]
    assert (never.ok, never.severity) == (False, "error")
