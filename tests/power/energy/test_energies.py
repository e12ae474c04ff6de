from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.energy import above_idle_wh, mean_power_w, trapezoid_wh

WATTS = st.floats(0, 5000)
# Readings closer than a nanosecond make slopes that no float holds.
MOMENTS = st.floats(0, 100).map(lambda moment_s: round(moment_s, 9))
SAMPLES = st.lists(
    st.tuples(MOMENTS, WATTS),
    min_size=1,
    max_size=30,
    unique_by=lambda one: one[0],
)


def recorded(path: Path) -> tuple[list[float], list[float], float]:
    with path.open(newline="") as lines:
        rows = [[float(cell) for cell in row] for row in csv.reader(lines)]
    powers = [math.nan if row[2] > 9e37 else row[2] for row in rows]
    return [row[4] for row in rows], powers, rows[-1][3]


@given(WATTS, st.floats(0.1, 10000))
def test_constant_power_integrates_to_power_times_time(
    power_w: float,
    length_s: float,
) -> None:
    expected = power_w * length_s / 3600
    assert trapezoid_wh([1.0, 2.0, 3.0], [power_w] * 3, 0.0, length_s) == pytest.approx(
        expected,
        rel=1e-9,
    )


@given(st.floats(-50, 50), st.floats(-100, 100), st.floats(0, 50), st.floats(0.1, 50))
def test_a_ramp_integrates_exactly_however_it_is_cut(
    slope: float,
    power_w: float,
    start_s: float,
    length_s: float,
) -> None:
    times = [float(second) for second in range(101)]
    powers = [power_w + slope * second for second in times]
    expected = (power_w + slope * (start_s + length_s / 2)) * length_s / 3600
    found = trapezoid_wh(times, powers, start_s, start_s + length_s)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


# Two powers at one moment are a step, whose side an edge exactly there cannot know: hence unique moments.
@given(SAMPLES, st.floats(0, 100))
def test_two_parts_of_a_window_add_up_to_the_whole(
    samples: list[tuple[float, float]],
    middle_s: float,
) -> None:
    times, powers = zip(*samples, strict=True)
    first = trapezoid_wh(times, powers, 0.0, middle_s)
    second = trapezoid_wh(times, powers, middle_s, 100.0)
    assert first + second == pytest.approx(
        trapezoid_wh(times, powers, 0.0, 100.0),
        rel=1e-6,
        abs=1e-9,
    )


@given(SAMPLES, st.floats(0, 100))
def test_more_power_is_more_energy_and_the_mean_is_between_least_and_largest(
    samples: list[tuple[float, float]],
    more_w: float,
) -> None:
    times, powers = zip(*samples, strict=True)
    energy_wh = trapezoid_wh(times, powers, 0.0, 100.0)
    more_wh = trapezoid_wh(times, [power + more_w for power in powers], 0.0, 100.0)
    assert more_wh - energy_wh == pytest.approx(more_w * 100 / 3600, rel=1e-6, abs=1e-6)
    assert min(powers) - 1e-6 <= mean_power_w(energy_wh, 100.0) <= max(powers) + 1e-6


@given(SAMPLES, st.randoms(use_true_random=False))
def test_the_order_of_the_readings_does_not_matter(
    samples: list[tuple[float, float]],
    random: object,
) -> None:
    shuffled = list(samples)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    energies = [
        trapezoid_wh(*zip(*some, strict=True), 0.0, 100.0)
        for some in (samples, shuffled)
    ]
    assert energies[0] == energies[1]


def test_edges_hold_the_first_and_last_finite_value() -> None:
    assert trapezoid_wh(
        [0, 1, 2, 3],
        [math.nan, 3600, 7200, math.inf],
        0,
        4,
    ) == pytest.approx(1 * 1 + 1.5 + 2 * 2)


def test_readings_outside_the_window_shape_its_edges_only() -> None:
    assert trapezoid_wh([0, 2, 4], [0, 7200, 0], 1, 3) == pytest.approx(3.0)


def test_nothing_finite_has_no_integral() -> None:
    assert math.isnan(trapezoid_wh([], [], 0, 1))
    assert math.isnan(trapezoid_wh([1.0], [math.nan], 0, 1))
    assert math.isnan(mean_power_w(1.0, 0.0))
    assert mean_power_w(1.0, 3600.0) == 1.0


@given(WATTS, WATTS, st.floats(0, 10000))
def test_above_idle_is_what_the_power_above_idle_makes(
    power_w: float,
    idle_w: float,
    elapsed_s: float,
) -> None:
    energy_wh = power_w * elapsed_s / 3600
    expected = (power_w - idle_w) * elapsed_s / 3600
    assert above_idle_wh(energy_wh, idle_w, elapsed_s) == pytest.approx(
        expected,
        abs=1e-6,
    )


def test_above_idle_may_be_below_nothing() -> None:
    assert above_idle_wh(1.0, 2.0, 3600.0) == -1.0


def test_a_real_wt310_integrates_like_its_readings(recordings: Path) -> None:
    times, powers, integrator_wh = recorded(recordings / "wt310_readings_user_330.csv")
    assert math.isnan(powers[0])
    assert trapezoid_wh(times, powers, times[0], times[-1]) == pytest.approx(
        integrator_wh,
        rel=0.002,
    )


def test_a_real_wt310_without_load_integrates_its_own_noise(recordings: Path) -> None:
    times, powers, integrator_wh = recorded(recordings / "wt310_readings_lpirc.csv")
    assert times[-1] == 300
    assert trapezoid_wh(times, powers, 0.0, 300.0) == pytest.approx(
        integrator_wh,
        abs=1e-9,
    )
