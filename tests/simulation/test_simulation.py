"""Contest days from fixed seeds; `make simulate` plays many more."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.contest_day import ROOT
from tests.simulation.day import simulate
from tests.simulation.mutants import MUTANTS, planted

SHORT_S = 120.0
DAYS = range(1, 6)
FURTHER = 8
"""Of days that may be tried for a fault after the one that is known to show it."""


@pytest.mark.parametrize("seed", DAYS)
def test_everything_holds_on_a_contest_day(seed: int) -> None:
    day = simulate(seed, SHORT_S)
    assert not day.failures, "\n".join((*day.steps, *day.log, *day.record, *day.failures))
    assert day.runs
