"""Contest days from fixed seeds, and planted faults that they find; `make simulate` plays many more."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import chain

import pytest

from tests.contest_day import ROOT
from tests.patience import PATIENCE_S
from tests.simulation.day import Outcome, simulate
from tests.simulation.mutants import MUTANTS, planted

SHORT_S = 120.0
DAYS = (1, 2, 3, 7, 14)
FURTHER = range(1, 30)
"""The seeds tried for a fault after the one below, which found it soon when this was written."""
FOUND_BY = {
    "a_commit_of_several_loses_one": 2,
    "a_failed_commit_is_acknowledged": 3,
    "a_reboot_is_not_noticed": 7,
    "a_meter_that_was_started_again_is_believed": 14,
    "a_provisional_score_that_is_not_finished": 2,
    "void_runs_are_ranked": 2,
}
"""Those that the first seed does not find."""


def told(day: Outcome) -> str:
    return "\n".join((*day.steps, *day.log, *day.record, *day.failures, f"seed {day.seed}"))


@pytest.mark.parametrize("seed", DAYS)
def test_everything_holds_on_a_contest_day(seed: int) -> None:
    day = simulate(seed, SHORT_S)
    assert not day.failures, told(day)
    assert day.runs


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_fault_is_found(name: str) -> None:
    for seed in chain([FOUND_BY.get(name, 1)], FURTHER):
        with planted(name):
            day = simulate(seed, SHORT_S)
        if day.failures:
            break
    else:
        pytest.fail(f"{name} was not found")
    if seed not in DAYS:
        assert not simulate(seed, SHORT_S).failures, "the unchanged product fails on that day, too"


def test_a_seed_gives_the_same_day_in_another_process() -> None:
    """Whatever the process has done before, and however it hashes."""
    code = "from tests.simulation.day import simulate; print(simulate(2, 30.0).trace)"
    other = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert int(other.stdout) == simulate(2, 30.0).trace
