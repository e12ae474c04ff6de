"""A counter whose values have an age: no limit is broken, and a steady load fails no check."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from lpirc_power.energy import Measurement, Term, budget_of, energy_checks, energy_of
from lpirc_power.meter import IntegratorState, Reading
from tests.power.energy.known_counters import (
    AGE_S,
    LIMITS,
    LOADS,
    Counted,
    recording,
)

RECORDINGS = int(os.environ.get("KNOWN_COUNTERS", "500"))
LEAST = 0.93
STATED_BY = (
    LIMITS,
    replace(
        LIMITS,
        age_s=None,
    ),
)


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
        budget = budget_of(
            energy_of(
                inside,
                known.measured,
            )
        )
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
            for one in energy_checks(
                known.readings,
                known.measured,
            )
            if not one.ok and one.code not in ("official-meter",)
        ]
        assert failed == [], seed


def test_a_time_4_ms_shorter_costs_as_much_as_one_4_ms_longer() -> None:
    known = recording("steady", np.random.default_rng(1))
    halves_wh = []
    for more_s in (-0.004, 0.004):
        elapsed_s = known.measured.elapsed_s
        measured = replace(
            known.measured,
            integrator_s=elapsed_s + more_s,
        )
        budget = budget_of(energy_of(measured.inside(known.readings), measured))
        assert budget.coverage_wh is not None
        halves_wh.append(budget.coverage_wh)
    assert math.isclose(
        *halves_wh,
        rel_tol=2e-3,
    )


def steady() -> Counted:
    """Return a recording of a steady load that is at least 20 s long."""
    seeds = (np.random.default_rng(seed) for seed in range(100))
    drawn = (recording("steady", one) for one in seeds)
    return next(one for one in drawn if one.measured.elapsed_s > 20.0)


def test_a_counter_that_began_anew_behind_an_outage_is_an_error() -> None:
    known = steady()
    start_s = known.measured.start_s
    whole = [
        one
        for one in known.readings
        if not start_s + 5.0 < one.monotonic_s < start_s + 15.0
    ]
    middle_s = start_s + 10.0
    lost = [one for one in whole if one.monotonic_s <= middle_s]
    later = whole[len(lost) :]
    lost += [
        replace(
            one,
            energy_wh=one.energy_wh - 0.02,
        )
        for one in later
    ]
    final_wh = known.measured.integrator_wh
    for readings, energy_wh, is_error in (
        (whole, final_wh, False),
        (lost, final_wh - 0.02, True),
    ):
        measured = replace(
            known.measured,
            integrator_wh=energy_wh,
        )
        checks = {
            one.code: one
            for one in energy_checks(
                readings,
                measured,
            )
        }
        found = checks["unseen-energy"]
        assert (not found.ok and found.severity == "error") is is_error
        assert ("its counter may have begun anew" in found.sentence) is is_error


def test_an_energy_whose_counter_began_anew_has_no_uncertainty_and_says_when() -> None:
    known = steady()
    start_s = known.measured.start_s
    readings = [
        replace(
            one,
            state=IntegratorState.ERROR,
        )
        if one.monotonic_s > start_s + 8.0
        else one
        for one in known.readings
    ]
    energy = energy_of(
        readings,
        known.measured,
    )
    budget = budget_of(energy)
    assert energy.ended.startswith("the counter began anew, or the meter's power ")
    assert "by 8." in energy.ended
    assert budget.coverage_wh is None
    assert budget.guaranteed_wh is None
    assert energy.ended in budget.unknown


def test_the_manual_of_another_meter_is_not_cited() -> None:
    known = steady()
    inside = known.measured.inside(known.readings)
    terms = budget_of(
        energy_of(
            inside,
            known.measured,
        )
    ).terms
    assert not any("WT310" in one.source for one in terms)


def age_term(
    inside: Sequence[Reading],
    measured: Measurement,
) -> Term:
    """Return the term of the age in the budget of a recording."""
    terms = budget_of(
        energy_of(
            inside,
            measured,
        )
    ).terms
    return next(one for one in terms if one.code == "age")


def test_the_term_of_the_age_says_whether_the_driver_states_it() -> None:
    known = recording("edges", np.random.default_rng(2))
    inside = known.measured.inside(known.readings)
    stated, taken = (
        age_term(
            inside,
            replace(
                known.measured,
                limits=limits,
            ),
        )
        for limits in STATED_BY
    )
    assert stated.half_width == AGE_S
    assert stated.source == "the driver: a value is up to 0.1 s old"
    assert taken.half_width == known.measured.setup.update_interval_s
    assert "the driver states no age" in taken.source
