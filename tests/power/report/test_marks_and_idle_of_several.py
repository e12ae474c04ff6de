"""Marks and the energy above idle of a series, of several meters, and of both sides of a comparison."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path

import pytest
from click.testing import CliRunner

from lpirc_power.cli.check import check
from lpirc_power.comparison.attempts import Choice, Compared, side_in_files, side_of
from lpirc_power.comparison.comparing import compared
from lpirc_power.comparison.comparison_report import comparison_facts, comparison_lines
from lpirc_power.errors import MeterError
from lpirc_power.measurement_files.any_measurement import Stated
from lpirc_power.measurement_files.recorded_files import (
    Group,
    Series,
    read_measurement,
    read_recorded,
)
from lpirc_power.notebook.mean_energy import mean_of
from lpirc_power.notebook.recording import Recording
from lpirc_power.page.group_page import group_page
from lpirc_power.page.recording_page import recording_page
from lpirc_power.page.series_page import series_page
from lpirc_power.record.document import Mark
from lpirc_power.report.check_report import what_lacks
from lpirc_power.report.group_report import group_facts, group_lines
from lpirc_power.report.recording_report import Recorded
from lpirc_power.report.series_marks import (
    series_mark_facts,
    series_mark_lines,
    series_marks,
)
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


TWICE = tuple(
    Mark("work", 60.0 * attempt + begin_s, 60.0 * attempt + begin_s + 1.0)
    for attempt in (1, 2, 3)
    for begin_s in (1.0, 3.0)
)
"""Two stretches of 1 s in each attempt; those of the others lie outside of it."""
ABOVE_WH = (6.0 - 2.0) * 2.0 / 3600.0


def test_a_series_tells_what_a_mark_has_above_idle_and_each_of_its_stretches(
    tmp_path: Path,
) -> None:
    series = series_of(tmp_path, marks=TWICE)
    (mark,) = series_marks(series)
    assert mark.above_idle is not None
    assert mark.above_idle.energy_wh == pytest.approx(ABOVE_WH, rel=1e-3)
    assert mark.above_idle.terms[-1].code == "spread"
    assert mark.each_wh == pytest.approx(6.0 / 3600.0, rel=1e-3)
    (line,) = series_mark_lines(series)
    assert line.endswith(" above idle")
    assert " each; " in line
    (facts,) = series_mark_facts(series)
    assert facts["above_idle_wh"] == mark.above_idle.energy_wh
    assert facts["each_wh"] == mark.each_wh
    page = series_page(series)
    for heading in ("each", "above idle"):
        assert f'scope="col">{heading}</th>' in page


def test_a_mark_above_idle_has_a_mean_and_is_compared(tmp_path: Path) -> None:
    series = series_of(tmp_path, marks=TWICE)
    attempts = [Recording(one) for one in series.recordings]
    mean = mean_of(attempts, mark="work", above_idle=True)
    assert mean.energy_wh == pytest.approx(ABOVE_WH, rel=1e-3)
    energies = Compared("work", is_above_idle=True)
    side = side_of("A", series.recordings, Choice(energies))
    assert side.energies_wh == mean.energies_wh
    assert {one.of_load for one in side.attempts} != {one.budget for one in side.attempts}  # fmt: skip
    assert energies.words == "those of the mark 'work' above idle"


def test_a_mark_above_idle_of_a_recording_without_idle_power_is_refused(
    tmp_path: Path,
) -> None:
    made = Made(tmp_path, marks=MARKS)
    found = Recording(read_recorded(made.recording()))
    with pytest.raises(MeterError, match="has no idle power; record with --idle 30"):
        mean_of([found], mark="work", above_idle=True)


def recordings_of(path: Path) -> tuple[Recorded, ...]:
    """Return the attempts of a series."""
    found = read_measurement(path)
    assert isinstance(found, Series)
    return found.recordings


MARKS = (Mark("work", 1.0, 4.0), Mark("load", 5.0, 7.0))


def test_each_mark_tells_its_energy_above_idle(tmp_path: Path) -> None:
    """6 W for 3 s, of which 2 W are idle."""
    found = Recording(read_recorded(Made(tmp_path, idle=IDLE, marks=MARKS).recording()))
    work = found.marks["work"]
    assert work.above_idle_wh == pytest.approx((6.0 - 2.0) * 3.0 / 3600.0, rel=1e-3)
    assert 0.0 < work.above_idle_uncertainty_wh < math.inf
    codes = [one["code"] for one in found.document()["marks"][0]["above_idle_budget"]["terms"]]  # fmt: skip
    assert {"marks", "idle-range", "idle-spread"} <= {*codes}
    said = [line for line in str(found).splitlines() if line.startswith("mark")]
    assert all(" above idle" in line for line in said)
    assert recording_page(found.recorded).count(" above idle") >= 2


def test_a_mark_without_an_idle_power_tells_nothing_above_idle(tmp_path: Path) -> None:
    found = Recording(read_recorded(Made(tmp_path, marks=MARKS).recording()))
    assert math.isnan(found.marks["work"].above_idle_wh)
    assert "above idle" not in str(found)


def cut_down(folder: Path, name: str) -> Path:
    """Return a series of which the record names three of five attempts, and not why."""
    path = Made(folder, marks=MARKS).series(name, LOADS)
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"wanted": 5}))
    return path


def test_a_series_that_lacks_attempts_says_so_wherever_its_mean_is(
    tmp_path: Path,
) -> None:
    path = cut_down(tmp_path, "run")
    series = read_measurement(path)
    assert isinstance(series, Series)
    said = "its record names 3 of 5 attempts, and not why."
    assert any(said in line for line in series_lines(series))
    assert said in series_page(series)
    assert said in " ".join(what_lacks(series))
    whole = Made(tmp_path).series("other", LOADS)
    sides = [side_in_files(one.name, [one], Stated(), Choice()) for one in (path, whole)]  # fmt: skip
    assert any(said in one for one in compared(*sides, is_paired=False, least=0.02).warnings)  # fmt: skip
    assert not any("not whole" in one for one in sides[1].left_out)


def test_the_check_of_a_series_tells_the_mean_of_each_mark(tmp_path: Path) -> None:
    # An attempt a minute; of the marks, each has its own within it.
    marks = [
        Mark(one.name, 60.0 * number + one.begin_s, 60.0 * number + (one.end_s or 0.0))
        for number in (1, 2, 3)
        for one in MARKS
    ]
    path = Made(tmp_path, marks=marks).series("run", LOADS)
    told = CliRunner().invoke(check, [str(path)])
    assert "mark             work: 0.00" in told.output
    assert told.output.count(", the mean of 3") == 2
    facts = json.loads(CliRunner().invoke(check, [str(path), "--json"]).output)
    assert [one["name"] for one in facts[0]["series_marks"]] == ["work", "load"]
