"""Whether one range was used throughout is decided by the setup, the readings, and what the driver states."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from lpirc_power.comparison.alike import common_errors
from lpirc_power.comparison.attempts import Choice, side_of
from lpirc_power.energy.common_error import Common, in_one_range, is_common
from lpirc_power.energy.energy_budget import NAMES
from lpirc_power.energy.limit_parts import LINE_FILTER, RANGE, READING
from lpirc_power.measurement_files.recorded_files import read_recorded
from lpirc_power.meter import Limits, Reading, Setup
from lpirc_power.report.recording_report import Recorded
from lpirc_power.sampling.polling import Idle
from tests.power.made_recordings import SETUP, Made, steady

SENSOR = Limits(0.003, 0.0, 0.0, 0.0, 0.0, age_s=0.0, source="its maker")
AUTOMATIC = replace(SETUP, voltage_range_v=None, current_range_a=None)
IDLE = Idle(2.0, 5.0, 50, 0.02, 0.005, 9.0, 120.0, 2.0 / 120.0, 2.0)


def unnamed(one: Reading) -> Reading:
    """Return a reading that names no range."""
    return replace(one, voltage_range_v=math.nan, current_range_a=math.nan)


def recorded(
    folder: Path,
    limits: Limits | None,
    setup: Setup = AUTOMATIC,
    *,
    names_ranges: bool = False,
    watts: float = 6.0,
) -> Recorded:
    kept = (lambda one: one) if names_ranges else unnamed
    made = Made(folder, setup=setup, load=steady(watts), idle=IDLE, change=kept)
    found = read_recorded(made.recording(f"of-{watts:g}"))
    return replace(found, measured=replace(found.measured, limits=limits))


def test_fixed_ranges_are_one_range(tmp_path: Path) -> None:
    assert in_one_range(recorded(tmp_path, SENSOR, SETUP).energy)
    assert in_one_range(recorded(tmp_path, None, SETUP).energy)


def test_a_meter_without_ranges_is_in_one(tmp_path: Path) -> None:
    assert in_one_range(recorded(tmp_path, SENSOR).energy)


@pytest.mark.parametrize(
    "limits",
    [None, replace(SENSOR, range_share=0.001, smallest_range_w=1.0)],
    ids=["unknown", "of-a-range"],
)
def test_nothing_is_taken_of_a_meter_whose_driver_does_not_say_so(
    tmp_path: Path, limits: Limits | None
) -> None:
    assert not in_one_range(recorded(tmp_path, limits).energy)


def test_a_meter_whose_readings_name_ranges_has_some(tmp_path: Path) -> None:
    named = recorded(tmp_path, SENSOR, names_ranges=True)
    assert not in_one_range(named.energy)


def test_a_comparison_and_the_energy_above_idle_decide_alike(tmp_path: Path) -> None:
    """The same device measures two loads, and its idle power: the reading's error cancels in both, or in none."""
    for limits, cancels in ((SENSOR, True), (replace(SENSOR, range_share=0.001), False)):  # fmt: skip
        both = [recorded(tmp_path, limits, watts=watts) for watts in (6.0, 3.0)]
        sides = [side_of(one.file, [one], Choice()) for one in both]
        common = common_errors(*sides)
        assert (common is Common.READING) == cancels
        net = both[0].above_idle_budget
        assert net is not None
        assert ("idle-reading" not in [one.code for one in net.terms]) == cancels


def test_between_other_loads_only_the_reading_is_common(tmp_path: Path) -> None:
    filtered = replace(SETUP, line_filter=True)
    found = read_recorded(Made(tmp_path, setup=filtered).recording())
    assert found.budget is not None
    terms = {one.code: one for one in found.budget.terms}
    assert {READING, RANGE, LINE_FILTER} <= {*terms} & {*NAMES}
    held = [one for one in terms.values() if is_common(one, Common.READING)]
    assert [one.code for one in held] == [READING]
    assert is_common(terms[LINE_FILTER], Common.ALL)
    assert not is_common(terms[READING], Common.NOTHING)
