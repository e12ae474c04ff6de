"""The energy of a mark by a counter whose values have an age: its limit has the age in it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from lpirc_power.energy.marked_energy import PowerCourse, Span, StretchEnergy
from lpirc_power.energy.measurement import Measurement
from lpirc_power.meter import Limits, Reading, Setup

Make = Callable[..., Reading]
LASTS_S = 20.0
AGE_S = 0.1
WORK_W = 9.0
LIMITS = Limits(0.003, 0.0, 0.0, 0.0, 0.0, age_s=AGE_S, source="its maker")
AGELESS = replace(LIMITS, age_s=0.0)


def until(at_s: float, mark: Span) -> float:
    """Return the energy in Wh until a moment of a load that is on while it is marked."""
    return WORK_W * float(np.clip(at_s, *mark) - mark[0]) / 3600.0


def found(seed: int, reading: Make, limits: Limits) -> tuple[StretchEnergy, float]:
    """Return the energy of a mark by drawn readings of a counter, and its error."""
    dice = np.random.default_rng(seed)
    update_s = float(dice.choice([0.1, 0.25, 0.5]))
    begin_s = float(dice.uniform(1.0, 8.0))
    mark = (begin_s, begin_s + float(dice.uniform(0.3, 6.0)))
    phase_s = float(dice.uniform(0.0, AGE_S))
    readings = []
    before_wh = 0.0
    for at_s in np.arange(update_s, LASTS_S, update_s).tolist():
        # It latches its values every 0.1 s, whenever it is read.
        latched_s = at_s - (at_s - phase_s) % AGE_S
        energy_wh = until(latched_s, mark)
        power_w = 3600.0 * (energy_wh - before_wh) / update_s
        readings.append(reading(at_s, power_w=power_w, energy_wh=energy_wh))
        before_wh = energy_wh
    whole_wh = until(LASTS_S, mark)
    setup = Setup(None, None, update_s, 0)
    measured = Measurement(whole_wh, LASTS_S, 0.0, LASTS_S, setup, "counter", limits)
    energy = PowerCourse(readings, measured).of([mark])
    return energy, abs(energy.energy_wh - whole_wh)


@pytest.mark.parametrize("seed", range(300))
def test_no_error_of_a_mark_is_beyond_the_limit_of_its_edges(
    reading: Make, seed: int
) -> None:
    energy, error_wh = found(seed, reading, LIMITS)
    assert error_wh <= energy.edges_wh + 1e-12


def test_without_the_age_some_would_be_beyond_it(reading: Make) -> None:
    drawn = [found(seed, reading, AGELESS) for seed in range(300)]
    assert any(error_wh > energy.edges_wh + 1e-12 for energy, error_wh in drawn)
    assert all(math.isfinite(energy.edges_wh) for energy, _ in drawn)
