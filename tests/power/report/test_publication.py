"""The sentence for a paper: true of a recording, of a series, and of what must not be published."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lpirc_power.foreign.foreign_recording import Reader
from lpirc_power.measurement_files.any_measurement import UNSTATED, Stated, read_any
from lpirc_power.meter import Identity, Reading
from lpirc_power.report.publication import (
    Publication,
    publication,
    series_publication,
)
from lpirc_power.report.series_report import Series, series_lines
from lpirc_power.report.single_report import single_lines
from tests.power.made_recordings import Made, steady

ALONE = "How much attempts differ is not known from one."


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    monkeypatch.chdir(tmp_path)
    return Made(Path())


def of(path: Path) -> Publication:
    found = read_any(path)
    assert not isinstance(found, dict)
    if isinstance(found, Series):
        return series_publication(found)
    return publication(found)  # type: ignore[arg-type]


def loads(*watts: float) -> list[Callable[[float], float]]:
    return [steady(one) for one in watts]


def test_a_series_says_its_mean_coverage_number_causes_meter_and_interval(
    made: Made,
) -> None:
    found = of(made.series("s", loads(6.0, 6.05, 5.98)))
    assert found.said == (
        "The mean energy of 3 attempts is 0.01669 +- 0.00033 Wh (coverage 95.45 %, k = 2.5), measured by the meter "
        "YOKOGAWA WT310E C1 F1.03 with an update every 0.1 s. The interval covers the meter's limits of error, start "
        "and stop, the meter's resolution and the spread between the attempts."
    )
    assert found.caution == ""


def test_a_single_measurement_says_that_it_shows_no_spread(made: Made) -> None:
    found = of(made.recording())
    assert found.said.startswith("The energy of one measurement is 0.01667 +- 0.00020 ")
    assert found.said.endswith(f"the meter's resolution. {ALONE}")


def test_a_series_of_one_attempt_has_no_mean(made: Made) -> None:
    found = of(made.series("s", loads(6.0)))
    assert found.said.startswith("The energy of one attempt is ")
    assert found.said.endswith(ALONE)
    assert "spread" not in found.said


def test_an_attempt_that_was_left_out_is_counted(made: Made) -> None:
    path = made.series("s", loads(6.0, 6.1, 5.9))
    over = replace(made, change=lambda one: replace(one, over_range=True))
    over.recording("s-2", start_s=120.0)
    said = of(path).said
    assert said.startswith("The mean energy of 2 attempts (1 more was left out) is ")


def test_what_needs_review_is_not_to_be_published(made: Made) -> None:
    over = made.recording(change=lambda one: replace(one, over_range=True))
    assert of(over).said == "Nothing yet: run.csv needs review: over-range."


def test_a_recording_that_was_cut_off_is_not_to_be_published(made: Made) -> None:
    path = made.recording()
    record = path.with_suffix(".json")
    document = json.loads(record.read_text())
    document["ended"] = None
    record.write_text(json.dumps(document))
    assert of(path).said == "Nothing yet: run.csv was cut off."


def test_a_series_without_an_attempt_has_nothing_to_publish(made: Made) -> None:
    path = made.series("s", loads(6.0))
    document = json.loads(path.read_text())
    document |= {"recordings": [], "stopped": "It was interrupted."}
    path.write_text(json.dumps(document))
    assert of(path).said == "Nothing yet: no attempt counts."


def test_without_stated_limits_the_uncertainty_is_unknown_and_the_term_is_named(
    made: Made,
) -> None:
    path = made.recording()
    path.with_suffix(".json").unlink()
    found = of(path)
    assert found.said == (
        "The energy of one measurement is 0.0166667 Wh, measured by a meter that the recording does not name with a "
        "reading about every 0.1 s. Its uncertainty is unknown, since the error of the reading is. "
        f"{ALONE}"
    )
    assert found.caution == "Read first: the notes."


def test_a_simulated_meter_is_called_so(made: Made) -> None:
    identity = Identity("YOKOGAWA", "WT310E", "SIMULATED", "F1.03")
    said = of(made.recording(identity=identity)).said
    assert "by the simulated meter YOKOGAWA WT310E SIMULATED F1.03 with" in said


def test_a_meter_whose_address_is_that_of_a_simulation_is_called_so(made: Made) -> None:
    said = of(made.recording(address="GPIB0::1::INSTR@lab.yaml@sim")).said
    assert "by the simulated meter YOKOGAWA WT310E C1 F1.03 with" in said


def test_readings_further_apart_than_the_stated_updates_are_said_to_be(
    tmp_path: Path,
) -> None:
    path = tmp_path / "old.csv"
    rows = "".join(f"{second},5,120,0.05\n" for second in range(20))
    path.write_text(f"Time (s),P (W),U (V),I (A)\n{rows}")
    setup = replace(UNSTATED, update_interval_s=0.25)
    found = read_any(path, Stated(Reader(), setup, "WT310E", is_interval_stated=True))
    said = publication(found).said  # type: ignore[arg-type]
    assert "stated to be a WT310E with a reading about every 1 s. The interval" in said


def test_one_reading_does_not_show_how_often_the_meter_was_read(made: Made) -> None:
    path = made.recording()
    path.with_suffix(".json").unlink()
    first, second, *_ = path.read_text().splitlines()
    path.write_text(f"{first}\n{second}\n")
    said = of(path).said
    assert "by a meter that the recording does not name. Its uncertainty" in said


def test_a_check_that_warns_and_warnings_about_attempts_are_to_be_read_first(
    made: Made,
) -> None:
    def no_data(one: Reading) -> Reading:
        is_it = abs(one.monotonic_s % 60.0 - 5.0) < 0.04
        return replace(one, power_w=math.nan) if is_it else one

    made.change = no_data
    path = made.series("s", loads(6.0, 6.1, 6.2, 6.3, 6.4, 6.5))
    assert of(path).caution == (
        "Read first: the check no-data and the warnings about the attempts."
    )


def test_a_series_that_is_not_whole_says_so(made: Made) -> None:
    path = made.series("s", loads(6.0, 6.1, 5.9))
    document = json.loads(path.read_text()) | {"stopped": "it was interrupted."}
    path.write_text(json.dumps(document))
    assert of(path).caution == "Read first: why the series is not whole."


def test_the_lines_of_a_recording_end_with_its_sentence(made: Made) -> None:
    found = read_any(made.recording())
    line = single_lines(found)[-1]  # type: ignore[arg-type]
    assert line == publication(found).line  # type: ignore[arg-type]
    assert line.startswith("to publish       The energy of one measurement is ")


def test_a_recording_alone_does_not_say_that_all_checks_hold(made: Made) -> None:
    path = made.recording()
    path.with_suffix(".json").unlink()
    found = read_any(path)
    text = "\n".join(single_lines(found))  # type: ignore[arg-type]
    assert "all hold" not in text
    assert "not checked      range-changed, " in text
    assert "\nnote             There is no record" in text


def test_the_notes_of_attempts_are_told_once_with_their_names(made: Made) -> None:
    path = made.series("s", loads(6.0, 6.05, 5.98))
    found = read_any(path)
    assert isinstance(found, Series)
    *noted, last = found.recordings
    noted = [replace(one, doubts=("The clock was set.",)) for one in noted]
    text = "\n".join(series_lines(replace(found, recordings=(*noted, last))))
    assert "note             attempt 1, attempt 2: The clock was set." in text
