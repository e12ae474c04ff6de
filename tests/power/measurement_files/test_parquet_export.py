"""Readings as Parquet: every value is there again, with what else is known in the metadata."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import parquet

from lpirc_power.errors import MeterError
from lpirc_power.measurement_files.any_measurement import Stated, read_any
from lpirc_power.measurement_files.parquet_export import METADATA_KEY, write_parquet
from lpirc_power.meter import Reading
from lpirc_power.record.document import Mark
from lpirc_power.recording import COLUMNS
from lpirc_power.report.recording_report import Recorded
from tests.power.cli.conftest import meter, one_line  # noqa: F401  a fixture
from tests.power.made_recordings import Made, steady


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def test_every_reading_is_there_again(made: Made, tmp_path: Path) -> None:
    def odd(one: Reading) -> Reading:
        if 2.0 < one.monotonic_s < 3.0:
            return replace(one, power_w=math.nan, changed='range "0.5 A", not 1 A')
        if 3.0 < one.monotonic_s < 4.0:
            return replace(one, power_w=math.inf, over_range=True)
        return one

    found = read_any(made.recording(change=odd), Stated())
    assert isinstance(found, Recorded)
    path = tmp_path / "run.parquet"
    rows = write_parquet(found, path)
    table = parquet.read_table(path)
    assert table.column_names == list(COLUMNS)
    assert rows == table.num_rows == len(found.readings)
    for row, reading in zip(table.to_pylist(), found.readings, strict=True):
        for name in COLUMNS:
            value = getattr(reading, name)
            value = value.value if name == "state" else value
            is_nan = isinstance(value, float) and math.isnan(value)
            assert math.isnan(row[name]) if is_nan else row[name] == value


def test_a_recording_without_dates_has_none_in_the_file(tmp_path: Path) -> None:
    old = tmp_path / "old.csv"
    old.write_text("time_s,power_w\n0,36\n1,36\n")
    path = tmp_path / "old.parquet"
    write_parquet(read_any(old, Stated()), path)
    assert parquet.read_table(path)["utc"].to_pylist() == [None, None]


def test_a_series_without_an_attempt_has_nothing_to_export(
    made: Made, tmp_path: Path
) -> None:
    found = read_any(made.series("some", []), Stated())
    with pytest.raises(MeterError, match="nothing is exported"):
        write_parquet(found, tmp_path / "some.parquet")
    assert not (tmp_path / "some.parquet").exists()


def test_the_metadata_say_what_the_rows_do_not(made: Made, tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    write_parquet(
        read_any(made.recording(marks=(Mark("inference", 1.0, 2.0),)), Stated()), path
    )
    metadata = parquet.read_schema(path).metadata
    document = json.loads(metadata[METADATA_KEY.encode()])
    assert document["identity"]["serial"] == "C1"
    assert document["energy_wh"] == pytest.approx(6.0 * 10 / 3600)
    assert document["budget"]["terms"]
    assert document["marks"][0]["name"] == "inference"
    assert document["command"] == ["./detect", "images"]


def test_a_series_and_several_meters_are_one_file(made: Made, tmp_path: Path) -> None:
    series = made.series("s", [steady(6.0), steady(7.0)])
    group = made.group("g", {"main": steady(7.0), "board": steady(6.0)})
    for path, names in ((series, {"s-1", "s-2"}), (group, {"main", "board"})):
        out = tmp_path / "out.parquet"
        write_parquet(read_any(path, Stated()), out)
        table = parquet.read_table(out)
        assert set(table["recording"].to_pylist()) == names
        documents = json.loads(table.schema.metadata[METADATA_KEY.encode()])
        assert set(documents) == names


def test_without_pyarrow_one_sentence_says_how_to_install_it(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    found = read_any(made.recording(), Stated())
    with pytest.raises(MeterError, match="pip install pyarrow"):
        write_parquet(found, tmp_path / "run.parquet")
    assert not (tmp_path / "run.parquet").exists()


def test_the_command_overwrites_nothing_unasked(meter, made: Made) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    made.recording()
    assert meter("export", "run.csv").stdout == "101 readings are in run.parquet.\n"
    again = meter("export", "run.csv")
    assert again.returncode == 1
    assert one_line(again.stderr)
    assert meter("export", "run.csv", "--force").returncode == 0
    missing = meter("export", "none.csv")
    assert missing.returncode == 1
    assert one_line(missing.stderr)
