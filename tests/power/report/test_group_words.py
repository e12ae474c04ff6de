"""What is said of two meters on one clock when the uncertainty of one is unknown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lpirc_power.measurement_files.recorded_files import Group, read_measurement
from lpirc_power.report.group_report import Loss, group_lines
from tests.power.made_recordings import IDENTITY, Made, steady


def test_an_efficiency_whose_uncertainty_is_unknown_says_so_after_the_figure(
    tmp_path: Path,
) -> None:
    made = Made(tmp_path, identity=replace(IDENTITY, model="X1"))
    path = made.group("pair", {"main": steady(6.0), "board": steady(5.0)})
    group = read_measurement(path)
    assert isinstance(group, Group)
    line = next(one for one in group_lines(group) if one.startswith("efficiency"))
    assert "83.333 % of main reaches board; the uncertainty is unknown" in line


def test_the_offset_of_two_windows_is_an_error_of_known_size(
    tmp_path: Path,
) -> None:
    """As a rectangle, an interval of 95.45 % made of it alone would never hold the truth."""
    made = Made(tmp_path)
    path = made.group("pair", {"main": steady(6.0), "board": steady(5.0)})
    group = read_measurement(path)
    assert isinstance(group, Group)
    budget = Loss(group, "main", "board").budget
    assert budget is not None
    offset = budget.terms[-1]
    assert offset.code == "offset"
    assert offset.standard_wh == offset.limit_wh
