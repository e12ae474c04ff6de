"""A contest day from a fixed seed, and the planted faults that are found soon; `make simulate` finds all of them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.contest_day import ROOT
from tests.simulation.day import simulate
from tests.simulation.mutants import MUTANTS, search
from tests.timeouts import TIMEOUT_S

DAY_S = 120.0
SLOW = {
    "a_board_that_stands_still",
    "a_provisional_score_of_every_other_row",
    "a_restart_restarts_the_clock",
    "a_reboot_is_not_noticed",
    "a_meter_that_was_started_again_is_believed",
    "a_void_that_is_not_stored",
    "a_heat_that_starts_one_by_one",
    "a_provisional_score_that_is_not_finished",
    "two_runs_at_a_station",
}
"""Few seeds find them, or only the end of a day: by `make simulate` only."""


def test_everything_holds_on_a_contest_day() -> None:
    day = simulate(14, DAY_S)
    assert not day.failures, day.told()
    assert day.runs


def test_a_run_whose_meter_lost_power_has_a_score_in_review_and_none_before() -> None:
    day = simulate(5006)
    assert not day.failures, day.told()


@pytest.mark.parametrize("name", [name for name in MUTANTS if name not in SLOW])
def test_a_planted_fault_is_found(name: str) -> None:
    assert search(name) is not None, f"{name} was not found"


def test_a_seed_gives_the_same_day_in_another_process() -> None:
    """Whatever the process has done before, and however it hashes."""
    code = "from tests.simulation.day import simulate; print(simulate(2, 20.0).trace)"
    other = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    assert int(other.stdout) == simulate(2, 20.0).trace
