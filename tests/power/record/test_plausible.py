"""Records whose values have the right types, and cannot be: refused by name, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.measurement_files.recorded_files import read_recorded
from tests.power.made_recordings import Made


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("setup.update_interval_s", 0, "setup.update_interval_s is 0"),
        ("ended.measured.setup.update_interval_s", 1e-320, "update_interval_s is"),
        ("ended.measured.setup.crest_factor", 0, "crest_factor is 0"),
        ("ended.measured.setup.mode", "peak", "mode is 'peak'"),
        ("ended.measured.setup.current_range_a", -1.0, "current_range_a is -1"),
        ("ended.measured.setup.ambient_change_c", -5.0, "ambient_change_c is -5"),
        ("ended.measured.setup.ambient_change_c", "NAN", "ambient_change_c is nan"),
        ("ended.measured.start_s", "NAN", "ended.measured begins at nan s"),
        ("ended.measured.start_s", 1e9, "ended.measured ends before it begins"),
        ("ended.measured.start_stop_s", "INF", "start_stop_s is inf"),
        ("ended.measured.start_stop_s", -0.25, "start_stop_s is -0.25"),
        ("ended.measured.start_stop_s", "NAN", "start_stop_s is nan"),
        ("ended.measured.late_s", -5.0, "late_s is -5"),
        ("ended.measured.integrator_s", -10.0, "integrator_s is -10"),
        ("started.start.monotonic_s", "NAN", "started.start.monotonic_s is nan"),
    ],
)
def test_a_value_that_cannot_be_is_named(
    tmp_path: Path, place: str, value: Any, said: str
) -> None:
    path = Made(tmp_path).recording().with_suffix(".json")
    document = json.loads(path.read_text("utf-8"))
    *above, last = place.split(".")
    part = document
    for name in above:
        part = part[name]
    assert last in part
    part[last] = value
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(MeterError) as caught:
        read_recorded(path)
    assert caught.value.code == "recording-record"
    assert said in caught.value.sentence
    assert "which cannot be" in caught.value.sentence


def test_a_start_and_stop_of_no_time_may_be_below_0_by_rounding(tmp_path: Path) -> None:
    path = Made(tmp_path).recording().with_suffix(".json")
    document = json.loads(path.read_text("utf-8"))
    document["ended"]["measured"]["start_stop_s"] = -1e-12
    path.write_text(json.dumps(document), "utf-8")
    assert read_recorded(path).measured.start_stop_s == -1e-12


@pytest.mark.parametrize("folder", [".", "/"])
def test_a_folder_is_no_recording(folder: str) -> None:
    with pytest.raises(MeterError, match="it is not a regular file"):
        read_recorded(Path(folder))
