"""Marks and the energy above idle of a series, of several meters, and of both sides of a comparison."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import pytest

from lpirc_power.comparison.attempts import Choice, Compared, side_of
from lpirc_power.comparison.comparing import compared
from lpirc_power.comparison.comparison_report import comparison_facts, comparison_lines
from lpirc_power.errors import MeterError
from lpirc_power.measurement_files.recorded_files import Group, Series, read_measurement
from lpirc_power.notebook.mean_energy import mean_of
from lpirc_power.notebook.recording import Recording
from lpirc_power.page.group_page import group_page
from lpirc_power.page.series_page import series_page
from lpirc_power.record.document import Mark
from lpirc_power.report.group_report import group_facts, group_lines
from lpirc_power.report.recording_report import Recorded
from lpirc_power.report.series_report import series_facts, series_lines
from lpirc_power.sampling.polling import Idle
from tests.power.made_recordings import Made, steady

IDLE = Idle(
    2.0,
    5.0,
    50,
    0.02,
    0.005,
    9.0,
    120.0,
    2.0 / 120.0,
    2.0,
)
LOADS = (steady(6.0), steady(6.1), steady(5.9))


def series_of(folder: Path, name: str = "run", **different: object) -> Series:
    found = read_measurement(
        Made(
            folder,
            idle=IDLE,
        ).series(
            name,
            LOADS,
            **different,
        )
    )
    assert isinstance(
        found,
        Series,
    )
    return found


def test_a_series_tells_the_mean_energy_above_idle_with_the_spread(
    tmp_path: Path,
) -> None:
    series = series_of(tmp_path)
    each_wh = [one.above_idle_wh or math.nan for one in series.recordings]
    budget = series.above_idle_budget
    assert budget is not None
    assert budget.energy_wh == pytest.approx(statistics.fmean(each_wh))
    (spread,) = [one for one in budget.terms if one.code == "spread"]
    assert spread.standard_wh == pytest.approx(
        statistics.stdev(each_wh) / math.sqrt(len(each_wh))
    )
    assert series_facts(series)["above_idle_wh"] == pytest.approx(budget.energy_wh)
    (line,) = [one for one in series_lines(series) if one.startswith("above idle")]
    assert "+-" in line
    assert "idle 2 W on average" in line
    page = series_page(series)
    assert "above idle" in page
    assert "+-" not in page


def test_a_series_without_idle_power_tells_nothing_above_idle(tmp_path: Path) -> None:
    series = series_of(
        tmp_path,
        idle=None,
    )
    assert series.above_idle_budget is None
    assert series_facts(series)["above_idle_wh"] is None
    assert not [one for one in series_lines(series) if one.startswith("above idle")]


def test_each_of_several_meters_tells_its_energy_above_idle_and_its_marks(
    tmp_path: Path,
) -> None:
    made = Made(
        tmp_path,
        idle=IDLE,
        marks=[
            Mark(
                "work",
                2.0,
                8.0,
            )
        ],
    )
    path = made.group(
        "pair",
        {"main": steady(6.0), "board": steady(5.0)},
    )
    group = read_measurement(path)
    assert isinstance(
        group,
        Group,
    )
    names = [one.split()[0] for one in group_lines(group)]
    assert names.count("above") == 2
    assert names.count("mark") == 2
    meters = group_facts(group)["meters"]
    assert isinstance(
        meters,
        dict,
    )
    energies = [meters[name]["marks"][0]["energy_wh"] for name in ("main", "board")]
    assert energies == pytest.approx(
        [0.01, 5.0 * 6.0 / 3600.0],
        rel=0.01,
    )
    page = group_page(group)
    assert "Marks, main" in page
    assert "Marks, board" in page
    assert "above idle" in page


def test_a_comparison_of_marks_states_each_side_with_its_interval(
    tmp_path: Path,
) -> None:
    sides = []
    for name, power_w in (("A", 6.0), ("B", 5.0)):
        # The attempts begin a minute apart.
        marks = [
            Mark(
                "work",
                62.0,
                68.0,
            ),
            Mark(
                "work",
                122.0,
                128.0,
            ),
        ]
        made = Made(
            tmp_path,
            marks=marks,
        )
        path = made.series(
            name,
            [steady(power_w), steady(power_w + 0.01)],
        )
        sides.append(
            side_of(
                name,
                recordings_of(path),
                Choice(Compared("work")),
            )
        )
    found = compared(
        *sides,
        0.02,
        is_paired=False,
    )
    facts = comparison_facts(found)["sides"]
    assert isinstance(
        facts,
        list,
    )
    for side, fact in zip(
        sides,
        facts,
        strict=True,
    ):
        assert side.budget is not None
        assert fact["coverage_wh"] == side.budget.coverage_wh
        assert "spread" in [one.code for one in side.budget.terms]
    told = comparison_lines(found)[1:3]
    assert [one[:2] for one in told] == ["A ", "B "]
    assert all(" +-" in one for one in told)


def test_the_mean_of_a_mark_and_above_idle_in_python(tmp_path: Path) -> None:
    series = series_of(
        tmp_path,
        marks=[],
    )
    attempts = [Recording(one) for one in series.recordings]
    above = mean_of(
        attempts,
        above_idle=True,
    )
    assert above.energy_wh == pytest.approx(statistics.fmean(above.energies_wh))
    assert above.budget is not None
    assert above.budget.terms[-1].code == "spread"
    with pytest.raises(
        MeterError,
        match="no stretch that is marked 'work'",
    ):
        mean_of(
            attempts,
            mark="work",
        )
    with pytest.raises(
        MeterError,
        match="not both",
    ):
        mean_of(
            attempts,
            mark="work",
            above_idle=True,
        )


def recordings_of(path: Path) -> tuple[Recorded, ...]:
    """Return the attempts of a series."""
    found = read_measurement(path)
    assert isinstance(found, Series)
    return found.recordings
