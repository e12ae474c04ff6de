"""What is said of a recording's marks: nothing of a stretch beyond the recording is counted without a word."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from lpirc_power.measurement_files.recorded_files import read_recorded
from lpirc_power.meter import IntegratorState, Limits, Reading
from lpirc_power.record.document import Mark
from lpirc_power.report.marked_report import (
    Marked,
    marked,
    marked_facts,
    marked_lines,
)
from tests.power.made_recordings import Made


def test_a_stretch_that_reaches_beyond_the_recording_is_said_to_be_counted_in_part(
    tmp_path: Path,
) -> None:
    marks = [
        Mark(
            "early",
            -100.0,
            2.0,
        ),
        Mark(
            "late",
            8.0,
            300.0,
        ),
        Mark(
            "within",
            2.0,
            8.0,
        ),
        Mark(
            "before",
            -20.0,
            -10.0,
        ),
    ]
    recorded = read_recorded(
        Made(
            tmp_path,
            marks=marks,
        ).recording()
    )
    facts = {one["name"]: one for one in marked_facts(recorded)}
    cut = {name: (one["count"], one["cut"]) for name, one in facts.items()}
    assert cut == {"early": (1, 1), "late": (1, 1), "within": (1, 0), "before": (0, 0)}
    assert facts["early"]["duration_s"] == pytest.approx(2.0)
    lines = {line.split()[1]: line for line in marked_lines(recorded)}
    said = "1 reaching beyond the recording, counted within it"
    assert said in lines["early:"]
    assert said in lines["late:"]
    assert said not in lines["within:"]
    assert "1 outside the recording" in lines["before:"]


def test_each_of_two_nested_stretches_has_its_own_energy_on_average(
    tmp_path: Path,
) -> None:
    marks = [
        Mark(
            "work",
            2.0,
            8.0,
        ),
        Mark(
            "work",
            2.0,
            8.0,
        ),
    ]
    (one,) = marked(
        read_recorded(
            Made(
                tmp_path,
                marks=marks,
            ).recording()
        )
    )
    assert one.count == 2
    assert one.mean_wh == pytest.approx(one.energy.energy_wh)
    assert one.energy.energy_wh == pytest.approx(
        0.01,
        rel=0.01,
    )


def test_a_mark_that_is_short_for_its_meter_is_told_how_often_to_run(
    tmp_path: Path,
) -> None:
    marks = [
        Mark(
            "short",
            2.03,
            2.09,
        ),
        Mark(
            "long",
            3.0,
            9.0,
        ),
    ]
    recorded = read_recorded(
        Made(
            tmp_path,
            marks=marks,
        ).recording()
    )
    short, long = marked(recorded)
    assert long.times_to_repeat is None
    assert short.times_to_repeat is not None
    # That often in one mark, the same edges cost less than 5 %.
    assert short.edges_share / short.times_to_repeat < 0.05
    assert short.edges_share / (short.times_to_repeat - 1) >= 0.05
    facts = [one["repeat_in_mark"] for one in marked_facts(recorded)]
    assert facts == [short.times_to_repeat, None]
    (said, _) = marked_lines(recorded)
    assert f"run the work {short.times_to_repeat} times in one mark" in said


def test_start_and_stop_count_for_a_mark_that_reaches_an_end(tmp_path: Path) -> None:
    marks = [
        Mark(
            "inside",
            0.01,
            9.99,
        ),
        Mark(
            "whole",
            -1.0,
            20.0,
        ),
    ]
    recorded = read_recorded(
        Made(
            tmp_path,
            marks=marks,
        ).recording()
    )
    codes = {one.name: terms_of(one) for one in marked(recorded)}
    assert "start-stop" not in codes["inside"]
    assert "start-stop" in codes["whole"]


def test_a_gap_counts_for_the_mark_in_which_it_is(tmp_path: Path) -> None:
    """Nobody saw the meter from 4 to 7 s: its settings may have been others."""
    marks = [
        Mark(
            "before",
            1.0,
            3.0,
        ),
        Mark(
            "during",
            3.5,
            9.0,
        ),
    ]
    made = Made(
        tmp_path,
        load=lambda at_s: 2.0 if at_s < 1.0 else 6.0,
        marks=marks,
        missing=lambda at_s: 4.0 < at_s < 7.0,
    )
    codes = {one.name: terms_of(one) for one in marked(read_recorded(made.recording()))}
    assert "gaps" not in codes["before"]
    assert codes["during"]["gaps"] > 0.1 * 0.01


def terms_of(one: Marked) -> dict[str, float]:
    """Return the standard uncertainties of a mark's terms by code."""
    assert one.budget is not None
    return {term.code: term.standard_wh or 0.0 for term in one.budget.terms}


def test_a_mark_to_the_end_has_an_uncertainty_though_the_meter_was_stopped_after_it(
    tmp_path: Path,
) -> None:
    """The reading behind the window shows a stopped meter, as it should."""
    marks = [Mark("work", 8.0, 9.99), Mark("whole", -1.0, 20.0)]
    path = Made(tmp_path, marks=marks).recording()
    for one in marked(read_recorded(path)):
        assert one.budget is not None
        assert one.budget.unknown == ""
        assert one.budget.coverage_wh is not None


def test_only_a_mark_in_which_the_integrator_stood_is_of_unknown_uncertainty(
    tmp_path: Path,
) -> None:
    """Somebody stopped it at 5 s."""

    def stopped(one: Reading) -> Reading:
        ran = IntegratorState.START if one.monotonic_s < 5.0 else IntegratorState.STOP
        return replace(one, state=ran)

    marks = [Mark("before", 1.0, 3.0), Mark("after", 6.0, 8.0)]
    path = Made(tmp_path, marks=marks, change=stopped).recording()
    before, after = marked(read_recorded(path))
    assert before.budget is not None
    assert before.budget.coverage_wh is not None
    assert after.budget is not None
    assert "the integrator did not run" in after.budget.unknown


def test_the_age_of_a_counter_counts_for_a_mark_that_reaches_an_end(
    tmp_path: Path,
) -> None:
    marks = [Mark("inside", 2.0, 5.0), Mark("first", -1.0, 5.0)]
    found = read_recorded(Made(tmp_path, marks=marks).recording())
    limits = Limits(0.003, 0.0, 0.0, 0.0, 0.0, age_s=0.1, source="its maker")
    counter = replace(found, measured=replace(found.measured, limits=limits))
    first, inside = (terms_of(one) for one in marked(counter))
    assert "age" not in inside
    # 6 W for 0.1 s.
    assert first["age"] == pytest.approx(6.0 * 0.1 / 3600.0 / math.sqrt(3.0), rel=1e-3)
