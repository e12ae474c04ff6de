"""Power as steps: few, where they are, and none from noise; the idle floor of measured and of unmeasured boards."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from referee.judging.power_steps import (
    ALIKE,
    MOST_LEVELS,
    MOST_STEPS,
    FloorSource,
    PowerLevel,
    PowerStep,
    idle_floor,
    levels_of,
    power_steps,
)
from tests.contest_day import shared
from tests.referee.factories import run_record

Floats = np.ndarray


def noise(seed: int, count: int, alike: float = 0.0) -> Floats:
    """Normal noise of 0.5 W; `alike` is how far neighbours follow each other."""
    drawn = np.random.default_rng(seed).normal(0, 0.5, count)
    for place in range(1, count):
        drawn[place] += alike * drawn[place - 1]
    return drawn


@pytest.mark.parametrize("alike", [0.0, 0.8])
def test_noise_about_one_power_makes_no_step(alike: float) -> None:
    when_s = np.arange(3000) / 10
    made = [
        len(power_steps(when_s, 10 + noise(seed, 3000, alike), 300.0))
        for seed in range(30)
    ]
    assert made.count(1) >= 29


def test_idle_work_and_rest_are_three_steps_at_their_times() -> None:
    when_s = np.arange(6000) / 10
    true_w = np.where(when_s < 50, 5.0, np.where(when_s < 500, 12.0, 8.0))
    steps = power_steps(when_s, true_w + noise(1, 6000), 600.0)
    assert [one.power_w for one in steps] == pytest.approx([5.0, 12.0, 8.0], abs=0.1)
    ends = [one.end_s for one in steps]
    assert ends == pytest.approx([50.0, 500.0, 600.0], abs=2.0)
    assert [one.start_s for one in steps] == [0.0, *ends[:-1]]


def test_a_power_that_comes_again_is_one_level() -> None:
    when_s = np.arange(600.0)
    true_w = np.where(when_s // 100 % 2 == 0, 5.0, 12.0)
    steps = power_steps(when_s, true_w + noise(2, 600) / 5, 600.0)
    levels = levels_of(steps)
    assert len(steps) == 6
    assert [one.power_w for one in levels] == pytest.approx([5.0, 12.0], abs=0.1)
    assert sum(one.elapsed_s for one in levels) == pytest.approx(600.0)


def test_a_restless_power_has_few_steps_and_levels() -> None:
    when_s = np.arange(2000.0)
    true_w = 10 + 8 * np.random.default_rng(3).random(20).repeat(100)
    steps = power_steps(when_s, true_w, 2000.0)
    assert 2 <= len(steps) <= MOST_STEPS
    levels = [one.power_w for one in levels_of(steps)]
    assert len(levels) <= MOST_LEVELS
    assert (np.diff(levels) >= ALIKE * true_w.mean() * 0.9).all()


def test_the_meter_of_2015_saw_one_level() -> None:
    with shared("lpirc2015", "wt310_readings_user_330.csv").open(newline="") as lines:
        rows = np.array([[float(one) for one in row] for row in csv.reader(lines)])[1:]
    (step,) = power_steps(rows[:, 4], rows[:, 2], float(rows[-1, 4]))
    assert step.power_w == pytest.approx(rows[:, 2].mean())


def test_no_or_few_readings_are_no_or_one_step() -> None:
    none = np.zeros(0)
    assert power_steps(none, none, 10.0) == ()
    few = power_steps(np.array([1.0, 2.0]), np.array([3.0, 5.0]), 10.0)
    assert few == (PowerStep(0.0, 10.0, 4.0),)
    late = power_steps(np.array([11.0]), np.array([3.0]), 10.0)
    assert late == ()


def test_the_floor_is_the_measured_one_else_the_lowest_steady_level() -> None:
    levels = (
        PowerLevel(1.0, 0.5),
        PowerLevel(4.0, 30.0),
        PowerLevel(9.0, 69.5),
    )
    over = {"elapsed_s": 100.0, "energy_wh": 0.2}
    floor = idle_floor(run_record(idle_power_w=3.6, **over), levels)
    assert floor is not None
    assert floor.source is FloorSource.MEASURED
    assert floor.energy_wh == pytest.approx(0.1)
    assert floor.share == pytest.approx(0.5)
    floor = idle_floor(run_record(**over), levels)
    assert floor is not None
    assert (floor.source, floor.power_w) == (FloorSource.LOWEST, 4.0)
    assert idle_floor(run_record(**over), ()) is None
    assert idle_floor(run_record(**over), levels[2:]) is None
    assert idle_floor(run_record(elapsed_s=100.0), levels) is None
