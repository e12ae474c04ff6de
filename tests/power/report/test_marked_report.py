"""What is said of a recording's marks: nothing of a stretch beyond the recording is counted without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from lpirc_power.record.document import Mark
from lpirc_power.recorded_files import read_recorded
from lpirc_power.report.marked_report import marked_facts, marked_lines
from tests.power.made_recordings import Made


def test_a_stretch_that_reaches_beyond_the_recording_is_said_to_be_counted_in_part(
    tmp_path: Path,
) -> None:
    marks = [
        Mark("early", -100.0, 2.0),
        Mark("late", 8.0, 300.0),
        Mark("within", 2.0, 8.0),
        Mark("before", -20.0, -10.0),
    ]
    recorded = read_recorded(Made(tmp_path, marks=marks).recording())
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
