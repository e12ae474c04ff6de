"""Recordings of the command, read in Python: one, a series, several meters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lpirc_power import (
    DoubtfulEnergy,
    MeterError,
    Recording,
    mean_of,
    read_measurement,
    read_recorded,
)
from tests import warm_programs
from tests.power.made_recordings import Made, steady

FIXED = ["--voltage-range", "150", "--current-range", "0.5", "--update", "0.1"]


def record(*words: str) -> None:
    ended = warm_programs.run(
        ["meter", "record", "-o", "run.csv", *FIXED, "--duration", "1", *words]
    )
    assert ended.returncode == 0, ended.stderr


def test_a_series_is_a_list_whose_mean_can_be_taken(
    simulate: Any,
) -> None:
    record("--repeat", "2", "--warm-up", "1", simulate().address)
    found = read_measurement("run.json")
    assert isinstance(found, list)
    assert [str(one.path) for one in found] == ["run-1.csv", "run-2.csv"]
    assert len(mean_of(found).energies_wh) == 2
    with pytest.raises(MeterError, match="the record of a series"):
        read_recorded("run.json")


def test_several_meters_are_recordings_by_name(
    simulate: Any,
) -> None:
    record(*(f"{name}={simulate().address}" for name in ("main", "board")))
    found = read_measurement("run.json")
    assert isinstance(found, dict)
    assert [*found] == ["main", "board"]
    assert all(one.energy_wh > 0 for one in found.values())


def test_one_recording_is_what_read_recorded_gives(
    simulate: Any,
) -> None:
    record(simulate().address)
    found = read_measurement("run.json")
    assert isinstance(found, Recording)
    assert found.document() == read_recorded("run.csv").document()


def test_a_meter_that_has_no_energy_is_a_warning_that_names_it(tmp_path: Path) -> None:
    path = Made(tmp_path).group("pair", {"main": steady(6.0), "board": steady(5.0)})
    document = json.loads(path.read_text("utf-8"))
    document["members"][0]["failed"] = "No meter answers."
    path.write_text(json.dumps(document), "utf-8")
    with pytest.warns(DoubtfulEnergy, match="main has no energy: No meter answers"):
        found = read_measurement(path)
    assert isinstance(found, dict)
    assert [*found] == ["board"]
