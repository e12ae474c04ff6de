"""What a table says elsewhere than in its heads: a row of units, lines before the heading, what follows from others."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.foreign.column_names import recognized
from lpirc_power.foreign.foreign_recording import (
    ForeignRecording,
    Reader,
    read_foreign,
)
from lpirc_power.measurement_files.any_measurement import is_own, read_any


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "old.csv"


def read(path: Path, text: str, columns: str = "") -> ForeignRecording:
    path.write_text(text, encoding="utf-8")
    return read_foreign(path, Reader(columns))


def refused(path: Path, text: str, columns: str = "") -> str:
    with pytest.raises(MeterError) as caught:
        read(path, text, columns)
    return caught.value.sentence


@pytest.mark.parametrize(
    "text",
    [
        "t;P\ns;mW\n0;36000\n10;36000\n",
        "t;P;Note\n[s];[mW];\n0;36000;x\n10;36000;y\n",
        "t [s];P\ns;mW\n0;36000\n10;36000\n",
        "t;P\nms;W\n0;36\n10000;36\n",
    ],
)
def test_a_row_of_units_is_that_of_its_columns(path: Path, text: str) -> None:
    found = read(path, text)
    assert found.readings[-1].energy_wh == pytest.approx(0.1)
    assert "Line 2 has the units of the columns." in found.notes


def test_a_row_of_units_holds_for_columns_that_are_named(path: Path) -> None:
    text = "stamp;Load\ns;mW\n0;36000\n10;36000\n"
    found = read(path, text, "time=stamp,power=Load")
    assert found.readings[-1].energy_wh == pytest.approx(0.1)


def test_a_row_of_units_against_the_head_is_refused(path: Path) -> None:
    assert "known as the power" in refused(path, "t;P [W]\ns;mW\n0;36000\n1;36000\n")


def test_no_data_in_the_first_row_is_no_unit(path: Path) -> None:
    path.write_text("P;I\nNA;NA\n36;1\n36;1\n")
    found = read_foreign(path, Reader(interval_s=1.0))
    assert len(found.readings) == 3


def test_the_unit_in_the_head_of_a_column_that_is_named_counts(path: Path) -> None:
    found = read(path, "t,Load [mW]\n0,36000\n10,36000\n", "power=Load")
    assert found.readings[0].power_w == 36.0
    sentence = refused(path, "t,Load [dBm]\n0,1\n1,1\n", "power=Load")
    assert "The unit of the column 'Load [dBm]' is unknown" in sentence


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (
            "# unit: mW",
            "line 1 names the unit 'mW', and the column 'P' has none",
        ),
        (
            "Power in kW",
            "line 1 names the unit 'kW', and the column 'P' has none",
        ),
        (
            "All powers [milliwatt]",
            "the unit 'milliwatt', and the column 'P'",
        ),
        (
            "times are ms",
            "line 1 names the unit 'ms', and the column 't' has none",
        ),
    ],
)
def test_another_unit_before_the_heading_is_asked_for(
    path: Path, before: str, words: str
) -> None:
    text = f"{before}\nt,P\n0,36\n1,36\n"
    assert words in refused(path, text)
    found = read(path, text, "power:mW=P,time:s=t")
    assert found.readings[0].power_w == pytest.approx(0.036)


@pytest.mark.parametrize("before", ["# unit: W", "Range: 150 mW", "Serial: NA", "MW-3"])
def test_what_is_no_other_unit_before_the_heading_is_no_matter(
    path: Path, before: str
) -> None:
    found = read(path, f"{before}\nt,P\n0,36\n1,36\n")
    assert found.readings[0].power_w == 36.0
    assert "Column 'P' is the power, taken as W." in found.notes


def test_the_apparent_power_follows_from_the_power_factor(path: Path) -> None:
    found = read(path, "t,P,PF\n0,36,0.75\n1,36,-0.75\n2,36,0\n")
    assert [one.apparent_va for one in found.readings][:2] == [48.0, 48.0]
    assert "The apparent power is power / power factor." in found.notes


def test_the_voltage_follows_from_apparent_power_and_current(path: Path) -> None:
    found = read(path, "t,P,S,I\n0,36,48,0.4\n1,36,48,0.4\n")
    assert found.readings[0].voltage_v == pytest.approx(120.0)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "11:59:59 AM",
            "12:00:00 PM",
        ),
        (
            "11:59:59.5 p.m.",
            "12:00:00.5 a.m.",
        ),
        (
            "12:59:59 am",
            "1:00:00 am",
        ),
        (
            "2026-03-01 11:59:59 PM",
            "2026-03-02 12:00:00 AM",
        ),
        (
            "01.03.2026 12:59:59 PM",
            "01.03.2026 1:00:00 PM",
        ),
        (
            "01.03.26 12:59:59",
            "01.03.26 13:00:00",
        ),
    ],
)
def test_times_of_am_and_pm_are_read(path: Path, first: str, second: str) -> None:
    found = read(path, f"Uhrzeit;P\n{first};36\n{second};36\n")
    assert found.readings[1].monotonic_s == 1.0


def test_a_time_that_no_clock_shows_is_refused(path: Path) -> None:
    for wrong in ("13:00:00 PM", "0:00:01 AM", "10:61:00", "10:00:60"):
        assert wrong in refused(path, f"t;P\n{wrong};36\n")


def test_a_german_table_in_windows_1252_is_read(path: Path) -> None:
    text = (
        "Gerät;Zähler\nDatum;Uhrzeit;Wirkleistung [µW];Temperatur [°C]\n"
        "01.03.2026;23:59:59,5;36000000,0;20,5\n02.03.2026;00:00:09,5;36000000,0;20,5\n"
    )
    path.write_bytes(text.encode("cp1252"))
    found = read_foreign(path, Reader())
    assert found.readings[-1].energy_wh == pytest.approx(0.1)
    assert "The text is not UTF-8; it is read as Windows-1252." in found.notes


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (
            b"PK\x03\x04rest",
            "Excel or OpenDocument workbook",
        ),
        (
            b"\xd0\xcf\x11\xe0rest",
            "Excel workbook of before 2007",
        ),
        (
            b"PAR1rest",
            "it is Parquet; in Python, pandas.read_parquet",
        ),
        (
            b"\x1f\x8brest",
            "gunzip",
        ),
        (
            b"\x89HDF\r\n",
            "pandas.read_hdf",
        ),
    ],
)
def test_a_file_that_is_no_text_is_named_with_the_way_out(
    path: Path, raw: bytes, words: str
) -> None:
    path.write_bytes(raw)
    with pytest.raises(MeterError) as caught:
        read_any(path)
    assert words in caught.value.sentence
    assert "\n" not in caught.value.sentence


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    caught: list[MeterError] = []

    def ask() -> None:
        with pytest.raises(MeterError) as error:
            read_any(pipe)
        caught.append(error.value)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(20)
    assert caught
    assert "not a regular file" in caught[0].sentence


@pytest.mark.parametrize("head", [" [" * 60_000, "(" * 120_000, "[" * 120_000 + "]"])
def test_a_heading_of_brackets_costs_no_time(path: Path, head: str) -> None:
    begin_s = time.process_time()
    assert recognized(0, head) is None
    assert "columns" in refused(path, f"{head},x\n1,2\n")
    path.write_text(head)
    assert not is_own(path)
    assert time.process_time() - begin_s < 5


def test_a_head_that_stands_twice_names_no_column(path: Path) -> None:
    sentence = refused(path, "t,P,P\n0,1,5\n1,1,5\n", "power=P")
    assert "the column 'P', and several have that name" in sentence
