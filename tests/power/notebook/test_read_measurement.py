"""Recordings of the command, read in Python: one, a series, several meters."""

from __future__ import annotations

import json
import math
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


LOGGED = "Stamp;Load (mW);U (V);I (mA)\n" + "".join(
    f"{second};36000,5;120,1;299,9\n" for second in range(21)
)
"""A table of another program, whose heads name all but the time."""


def test_another_programs_table_is_read_with_the_columns_that_are_stated() -> None:
    Path("old.csv").write_text(LOGGED)
    for read in (read_recorded, read_measurement):
        found = read("old.csv", columns="time:s=Stamp,power:mW=Load (mW)")
        assert isinstance(found, Recording)
        assert found.energy_wh == pytest.approx(36.0005 * 20 / 3600)
        assert math.isnan(found.uncertainty_wh)


def test_a_stated_meter_and_its_setup_give_another_programs_energy_an_uncertainty() -> (
    None
):
    Path("old.csv").write_text(LOGGED)
    found = read_recorded(
        "old.csv",
        columns="time:s=Stamp,power:mW=Load (mW)",
        model="WT310E",
        voltage_range_v=150,
        current_range_a=0.5,
    )
    assert found.uncertainty_wh > 0
    assert found.setup.voltage_range_v == 150
    assert found.setup.update_interval_s == 1


def test_a_sentence_that_names_an_option_names_the_argument_too() -> None:
    Path("old.csv").write_text(LOGGED)
    with pytest.raises(MeterError, match=r"--columns is columns=") as refused:
        read_recorded("old.csv", columns="power=Nothing")
    assert refused.value.code == "recording-columns"
    found = read_recorded("old.csv", columns="time:s=Stamp,power:mW=Load (mW)")
    assert "--voltage-range is voltage_range_v=" in found.notes[-1]


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"decimal": ";"}, r"decimal is ';'; give '\.' or ','\."),
        ({"interval_s": -1.0}, "interval_s is -1; give the seconds"),
        ({"voltage_range_v": -5.0}, "voltage_range_v is -5"),
        ({"columns": {"power": "Load"}}, "columns is {'power': 'Load'}; give a text"),
        ({"columns": None}, "columns is None; give a text"),
        ({"interval_s": "1"}, "interval_s is '1', not a number"),
        ({"model": 310}, 'model is 310; give a text as "WT310E"'),
    ],
)
def test_what_cannot_be_stated_is_refused_by_its_name(stated: Any, said: str) -> None:
    Path("old.csv").write_text(LOGGED)
    with pytest.raises(MeterError, match=said):
        read_recorded("old.csv", **stated)


def test_an_argument_that_there_is_not_is_refused() -> None:
    Path("old.csv").write_text(LOGGED)
    with pytest.raises(TypeError, match="colums"):
        read_recorded("old.csv", colums="time=Stamp")  # type: ignore[call-arg]
