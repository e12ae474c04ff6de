"""A recording that is too short for its meter says so wherever it is shown, with the number that mends it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lpirc_power.energy.energy_budget import START_STOP
from lpirc_power.measurement_files.recorded_files import read_recorded
from lpirc_power.notebook.recording import Recording
from lpirc_power.page.recording_page import recording_page
from lpirc_power.report.advice import advice, seconds_to_record, times_to_repeat
from lpirc_power.report.check_report import check_facts, check_lines
from lpirc_power.report.recording_report import Recorded, recorded_facts
from lpirc_power.report.recording_words import figure_rows
from tests.power.made_recordings import Made


def recorded(folder: Path, length_s: float, *command: str) -> Recorded:
    made = Made(folder, length_s=length_s, command=command)
    return read_recorded(made.recording())


def cost(found: Recorded) -> float:
    """Return what start and stop may cost, as a part of the energy."""
    assert found.budget is not None
    (term,) = [one for one in found.budget.terms if one.code == START_STOP]
    return (term.limit_wh or 0.0) / found.energy_wh


def test_a_recording_without_a_command_is_told_for_how_long_to_record(
    tmp_path: Path,
) -> None:
    short = recorded(tmp_path, 2.0)
    # 0.02 s of commands and an update.
    assert cost(short) == pytest.approx(0.06)
    assert times_to_repeat(short) is None
    assert advice(short) == (
        "The recording is short for this meter: in 2 s, start and stop may cost 6.0 % of its energy. Record for 13 s: "
        "then they cost less than 1 %."
    )
    assert cost(recorded(tmp_path, 13.0)) < 0.01
    assert advice(recorded(tmp_path, 13.0)) is None
    assert cost(recorded(tmp_path, 11.9)) > 0.01


def test_a_command_is_told_how_often_to_run(tmp_path: Path) -> None:
    short = recorded(tmp_path, 2.0, "./detect")
    assert times_to_repeat(short) == 7
    said = advice(short) or ""
    assert said.startswith("COMMAND is short for this meter: in 2 s, ")
    assert said.endswith("Run it 7 times in a loop: then they cost less than 1 %.")


def test_it_stands_wherever_the_recording_is_shown(tmp_path: Path) -> None:
    short = recorded(tmp_path, 2.0)
    said = advice(short)
    assert said is not None
    assert f"advice           {said}" in check_lines(short)
    assert check_facts(short)["record_for_s"] == 13
    assert said in recording_page(short)
    shown = Recording(short)
    assert said in str(shown)
    assert said in shown._repr_html_()
    assert shown.document()["record_for_s"] == 13


def of_counter(short: Recorded, **changed: float) -> Recorded:
    """Return the recording as of a counter whose values are 0.25 s old, started and stopped within `most_s`."""
    edges = replace(short.energy.edges, age_s=0.25, **changed)
    energy = replace(short.energy, edges=edges, start_stop_share=edges.share)
    found = replace(short)
    vars(found)["energy"] = energy
    return found


def test_an_age_of_the_counter_is_named_as_what_it_is(tmp_path: Path) -> None:
    aged = of_counter(recorded(tmp_path, 2.0), most_s=0.0001)
    said = advice(aged) or ""
    assert "in 2 s, the age of the counter's values may cost 13 % of" in said
    assert said.endswith("Record for 26 s: then it costs less than 1 %.")
    accuracy = figure_rows(aged)["accuracy"]
    assert "including 13 % for the age of the counter's values" in accuracy
    assert "start and stop" not in accuracy
    facts = recorded_facts(aged)["accuracy"]
    assert isinstance(facts, dict)
    assert facts["age_percent"] == pytest.approx(12.5)
    assert facts["start_stop_percent"] == pytest.approx(0.005)


def test_both_causes_are_named_the_larger_one_first(tmp_path: Path) -> None:
    said = advice(of_counter(recorded(tmp_path, 2.0))) or ""
    named = "the age of the counter's values and start and stop may cost 19 % of its"
    assert named in said
    assert said.endswith("then they cost less than 1 %.")


def test_an_energy_that_is_not_of_the_window_has_no_such_advice(tmp_path: Path) -> None:
    """Longer would not help: somebody stopped the integrator."""
    short = recorded(tmp_path, 2.0)
    ended = replace(short.energy, ended="the integrator did not run at 1.0 s")
    vars(short)["energy"] = ended
    assert seconds_to_record(short) is None
