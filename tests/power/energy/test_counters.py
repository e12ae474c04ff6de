"""A counter whose values have an age: no limit is broken, and a steady load fails no check."""

from __future__ import annotations

import math
import os
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from lpirc_power.energy import budget_of, energy_checks, energy_of
from tests.power.energy.known_counters import AGE_S, LIMITS, LOADS, recording

RECORDINGS = int(os.environ.get("KNOWN_COUNTERS", "500"))
LEAST = 0.93
STATED_BY = (LIMITS, replace(LIMITS, age_s=None))


@pytest.mark.parametrize("limits", STATED_BY, ids=["stated", "not-stated"])
def test_no_energy_is_beyond_its_guaranteed_limit_and_93_of_100_are_in_the_interval(
    limits: object,
) -> None:
    taken = Counter[str]()
    held = Counter[str]()
    broken = []
    for seed in range(RECORDINGS):
        load = LOADS[seed % len(LOADS)]
        known = recording(load, np.random.default_rng(seed), limits)  # type: ignore[arg-type]
        inside = known.measured.inside(known.readings)
        budget = budget_of(energy_of(inside, known.measured))
        assert budget.coverage_wh is not None
        assert budget.guaranteed_wh is not None
        error_wh = abs(known.measured.integrator_wh - known.true_wh)
        taken[load] += 1
        held[load] += error_wh <= budget.coverage_wh
        if error_wh > budget.guaranteed_wh:
            broken.append((seed, load, error_wh / budget.guaranteed_wh))
    assert broken == []
    parts = {load: held[load] / taken[load] for load in taken}
    assert min(parts.values()) >= LEAST, parts


@pytest.mark.parametrize("limits", STATED_BY, ids=["stated", "not-stated"])
def test_a_steady_load_on_a_counter_fails_no_check(limits: object) -> None:
    for seed in range(RECORDINGS // 5):
        known = recording("steady", np.random.default_rng(seed), limits)  # type: ignore[arg-type]
        failed = [
            one.code
            for one in energy_checks(known.readings, known.measured)
            if not one.ok and one.code not in ("official-meter",)
        ]
        assert failed == [], seed


def test_a_time_4_ms_shorter_costs_as_much_as_one_4_ms_longer() -> None:
    known = recording("steady", np.random.default_rng(1))
    halves_wh = []
    for more_s in (-0.004, 0.004):
        elapsed_s = known.measured.elapsed_s
        measured = replace(known.measured, integrator_s=elapsed_s + more_s)
        budget = budget_of(energy_of(measured.inside(known.readings), measured))
        assert budget.coverage_wh is not None
        halves_wh.append(budget.coverage_wh)
    assert math.isclose(*halves_wh, rel_tol=2e-3)


def test_the_term_of_the_age_says_whether_the_driver_states_it() -> None:
    known = recording("edges", np.random.default_rng(2))
    inside = known.measured.inside(known.readings)
    stated, taken = (
        next(
            one
            for one in budget_of(
                energy_of(inside, replace(known.measured, limits=limits))
            ).terms
            if one.code == "age"
        )
        for limits in STATED_BY
    )
    assert stated.half_width == AGE_S
    assert stated.source == "the driver: a value is up to 0.1 s old"
    assert taken.half_width == known.measured.setup.update_interval_s
    assert "the driver states no age" in taken.source
