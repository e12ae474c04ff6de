"""The mean power is that over the integrated time, and its interval holds the truth."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from lpirc_power.energy import Measurement, budget_of, energy_of
from lpirc_power.energy.mean_power import MeanPower, mean_power_of
from lpirc_power.meter import Reading

Make = Callable[..., Reading]
Measured = Callable[..., Measurement]
TRUE_W = 6.0
RANGES: dict[str, object] = {"update_interval_s": 0.1, "integrator_timer_s": 0}


def found(reading: Make, measured: Measurement, power_w: float = TRUE_W) -> MeanPower:
    """Return the mean power of a recording that shows a steady one."""
    times_s = np.arange(0.1, measured.elapsed_s, 0.1).tolist()
    inside = [reading(at_s, power_w=power_w) for at_s in times_s]
    energy = energy_of(inside, measured)
    return mean_power_of(energy, budget_of(energy), measured)


def ran(
    measurement: Measured, window_s: float, longer_s: float, **different: object
) -> Measurement:
    """Return a measurement of 6 W whose integrator ran so much longer than its window."""
    energy_wh = TRUE_W * (window_s + longer_s) / 3600.0
    given: dict[str, object] = {
        "setup": RANGES,
        "end_s": window_s,
        "integrator_wh": energy_wh,
        "integrator_s": float(int(window_s + longer_s)),
        "start_stop_s": 0.26,
    }
    return measurement(**(given | different))


def test_a_short_recording_has_no_power_that_is_too_large_by_start_and_stop(
    reading: Make, measurement: Measured
) -> None:
    """Of 4 s, 0.26 s more are 6.5 %."""
    measured = ran(measurement, 4.0, 0.26)
    assert measured.mean_power_w > 1.06 * TRUE_W
    mean = found(reading, measured)
    assert mean.half_w is not None
    assert abs(mean.power_w - TRUE_W) < mean.half_w < 0.05 * TRUE_W
    assert mean.time.lasted_s == pytest.approx(4.18)
    assert mean.time.half_s == pytest.approx(0.18)


def test_the_interval_holds_the_true_power_in_93_to_97_of_100_recordings(
    reading: Make, measurement: Measured
) -> None:
    """2,000 of them: chance moves a true 95.45 % by 0.5 % (one sigma)."""
    dice = np.random.default_rng(1)
    mean = found(reading, ran(measurement, 4.0, 0.18))
    assert mean.half_w is not None
    # Of the meter: 0.1 % of reading, 0.05 % of the range of 15 W.
    of_reading = 0.001 * TRUE_W
    of_range = 0.0005 * 15.0
    held = 0
    for _ in range(2000):
        longer_s = dice.uniform(0.0, 0.36)
        shown_w = TRUE_W + dice.uniform(-of_reading, of_reading) + dice.uniform(-of_range, of_range)  # fmt: skip
        power_w = shown_w * (4.0 + longer_s) / mean.time.lasted_s
        held += abs(power_w - TRUE_W) <= mean.half_w
    assert 0.93 <= held / 2000 <= 0.97


def test_a_time_that_the_meter_tells_is_that_of_the_mean(
    reading: Make, measurement: Measured
) -> None:
    own = found(reading, ran(measurement, 4.0, 0.31, integrator_s=4.31))
    assert own.time.lasted_s == 4.31
    assert own.time.half_s == 0.0
    assert own.power_w == pytest.approx(TRUE_W)
    timer = RANGES | {"integrator_timer_s": 4}
    by_timer = found(reading, ran(measurement, 4.2, -0.2, setup=timer))
    assert by_timer.time.lasted_s == 4.0
    assert by_timer.power_w == pytest.approx(TRUE_W)


def test_a_sum_of_readings_is_over_the_window(
    reading: Make, measurement: Measured
) -> None:
    mean = found(reading, ran(measurement, 4.0, 0.0, start_stop_s=0.0))
    assert mean.power_w == pytest.approx(TRUE_W)
    assert mean.time.half_s == pytest.approx(0.1)


def test_a_time_far_from_the_window_is_the_integrators(
    reading: Make, measurement: Measured
) -> None:
    mean = found(reading, ran(measurement, 20.0, -8.0))
    assert mean.time.lasted_s == 12.0
    assert mean.power_w == pytest.approx(TRUE_W)


def test_without_a_time_or_limits_nothing_is_made_up(
    reading: Make, measurement: Measured
) -> None:
    none = found(reading, ran(measurement, 0.0, 0.0, integrator_s=0.0, start_stop_s=0.0))  # fmt: skip
    assert math.isnan(none.power_w)
    assert none.half_w is None
    unknown = found(reading, ran(measurement, 4.0, 0.0, model="replay"))
    assert unknown.half_w is None
    assert unknown.power_w == pytest.approx(TRUE_W * 4.0 / 4.18)
