"""How far the energy at a moment may be off: a number at each moment, also at the first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from referee.judging.energy_course import energies_at, energy_limits_wh
from tests.referee.factories import House
from tests.referee.judging.sent_runs import closed_run, guesses


def test_the_limit_at_the_start_is_that_of_the_moment_after_it(
    build: Callable[..., House],
) -> None:
    contest = build().contest
    run = closed_run(contest, guesses(contest, 0.5))
    course = (np.array([0.0, 2.0, 4.0]), np.array([0.0, 0.02, 0.04]))
    at_s = np.array([0.0, 1e-6, 1.0])
    limits = energy_limits_wh(contest, run, course, at_s)
    assert np.isfinite(limits).all()
    assert limits[0] == pytest.approx(limits[1])
    assert limits[0] > 0.02, "the energy between two readings, and start and stop"
    nothing = (np.array([0.0, 0.0]), np.array([0.0, 0.0]))
    assert energy_limits_wh(contest, run, nothing, at_s[:1]).tolist() == [0.0]


def test_a_final_energy_below_the_last_reading_is_shared_among_no_parts_of_the_run(
    build: Callable[..., House],
) -> None:
    """Else an image took a million times the energy of the run, and the idle end less than none."""
    contest = build().contest
    run = closed_run(contest, guesses(contest, 0.5), energy_wh=0.1)
    moments_s = np.array([5.0, 10.0])
    energies = energies_at(contest, run, moments_s)
    assert energies is not None
    assert energies[-1] == pytest.approx(0.1)
    for less_wh in (0.0, 1e-9, 0.09):
        assert energies_at(contest, replace(run, energy_wh=less_wh), moments_s) is None
