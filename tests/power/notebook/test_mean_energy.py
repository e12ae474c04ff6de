"""The mean of repeated recordings."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lpirc_power import MeterError, OpenMeter, Recording, mean_of, read_recorded


def recorded(
    meter: OpenMeter,
    until_measured: Any,
    name: str = "run.csv",
) -> Recording:
    with meter.recording("run.csv", force=True) as made:
        until_measured(made, 3)
    for ending in (".csv", ".json"):
        Path("run.csv").with_suffix(ending).rename(Path(name).with_suffix(ending))
    return read_recorded(name)


def test_the_mean_has_the_spread_and_what_the_attempts_have_in_common(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    attempts = [
        recorded(meter, until_measured, f"{number}.csv") for number in (1, 2, 3)
    ]
    energies = [one.energy_wh for one in attempts]
    mean = mean_of(attempts)
    assert mean.energies_wh == tuple(energies)
    assert mean.energy_wh == statistics.fmean(energies)
    assert mean.deviation_wh == statistics.stdev(energies)
    assert mean.budget is not None
    assert [term.code for term in mean.budget.terms][-1] == "spread"
    assert mean.uncertainty_wh == mean.budget.coverage_wh
    assert "on average of 3 attempts, +-" in str(mean)


def test_a_single_recording_has_the_uncertainty_that_it_has_alone(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    alone = recorded(meter, until_measured)
    mean = mean_of([alone])
    assert mean.energy_wh == alone.energy_wh
    assert mean.uncertainty_wh == pytest.approx(alone.uncertainty_wh)
    assert math.isnan(mean.deviation_wh)
    assert "of 1 attempt, " in str(mean)


def test_the_mean_of_nothing_is_refused() -> None:
    with pytest.raises(MeterError, match="no mean of no recording") as refused:
        mean_of([])
    assert refused.value.code == "mean-energy"


def test_an_attempt_that_needs_review_does_not_count(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    good = recorded(meter, until_measured)
    changed = replace(
        good.recorded, measured=replace(good.recorded.measured, changes=("its range",))
    )
    with pytest.raises(
        MeterError,
        match=r"run\.csv does not count\. The energy needs review: range-changed",
    ):
        mean_of([good, Recording(changed)])


def test_a_recording_given_twice_is_refused_since_it_would_seem_to_repeat_exactly(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    alone = recorded(meter, until_measured)
    with pytest.raises(MeterError, match="is given twice") as refused:
        mean_of([alone, read_recorded("run.json")])
    assert refused.value.code == "mean-energy"
