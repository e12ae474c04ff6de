"""Recordings of other programs: what each head, unit and time means, and one clear sentence for what cannot be read."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.errors import MeterError
from lpirc_power.foreign.cell_values import number
from lpirc_power.foreign.column_names import recognized
from lpirc_power.foreign.foreign_recording import (
    ForeignRecording,
    Reader,
    read_foreign,
)

PTD = "Time,01-22-2021 15:05:{second:02}.322,Watts,{watts:f},Volts,227.370000,Amps,0.225410,PF,0.500600,Mark,{mark}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "old.csv"


def read(path: Path, text: str, columns: str = "", **given: object) -> ForeignRecording:
    path.write_text(text, encoding="utf-8")
    return read_foreign(path, Reader(columns, **given))  # type: ignore[arg-type]


def refused(path: Path, text: str, columns: str = "") -> MeterError:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MeterError) as caught:
        read_foreign(path, Reader(columns))
    assert str(path) in caught.value.sentence or "--columns" in caught.value.sentence
    return caught.value


@pytest.mark.parametrize(
    ("head", "quantity", "size"),
    [
        (
            "P",
            "power",
            1.0,
        ),
        (
            "Watts",
            "power",
            1.0,
        ),
        (
            "Power (W)",
            "power",
            1.0,
        ),
        (
            "power.draw [W]",
            "power",
            1.0,
        ),
        (
            "power_mw",
            "power",
            1e-3,
        ),
        (
            "Power(\N{MICRO SIGN}W)",
            "power",
            1e-6,
        ),
        (
            "Active Power [kW]",
            "power",
            1e3,
        ),
        (
            "Volts",
            "voltage",
            1.0,
        ),
        (
            "Urms (V)",
            "voltage",
            1.0,
        ),
        (
            "Amps",
            "current",
            1.0,
        ),
        (
            "current(uA)",
            "current",
            1e-6,
        ),
        (
            "A",
            "current",
            1.0,
        ),
        (
            "S",
            "apparent",
            1.0,
        ),
        (
            "s",
            "time",
            1.0,
        ),
        (
            "Lambda",
            "factor",
            1.0,
        ),
        (
            "PF",
            "factor",
            1.0,
        ),
        (
            "Wh",
            "energy",
            1.0,
        ),
        (
            "J",
            "energy",
            1 / 3600,
        ),
        (
            "energy_kwh",
            "energy",
            1e3,
        ),
        (
            "energy",
            "energy",
            None,
        ),
        (
            "T",
            "time",
            None,
        ),
        (
            "timestamp(ms)",
            "time",
            1e-3,
        ),
        (
            "elapsed_s",
            "time",
            1.0,
        ),
        (
            "Seconds",
            "time",
            1.0,
        ),
        (
            "Date/Time",
            "time",
            None,
        ),
        (
            "Mark",
            "mark",
            1.0,
        ),
    ],
)
def test_a_head_tells_quantity_and_unit(
    head: str, quantity: str, size: float | None
) -> None:
    found = recognized(0, head)
    assert found is not None
    assert found.quantity == quantity
    assert found.size == (size if size is None else pytest.approx(size))


@pytest.mark.parametrize(
    "head", ["GPU utilization", "Power (MW)", "temperature", "", "x"]
)
def test_a_head_that_may_mean_anything_is_not_guessed_at(head: str) -> None:
    assert recognized(0, head) is None


def test_a_table_of_yoko_tool_is_read(path: Path) -> None:
    found = read(
        path, "T,P\n1690000000.1,  36.0\n1690000000.6,  36.0\n1690000001.1, 36.0\n"
    )
    assert [one.monotonic_s for one in found.readings] == pytest.approx([0, 0.5, 1.0])
    assert found.readings[-1].energy_wh == pytest.approx(0.01)
    assert found.readings[0].utc == datetime.fromtimestamp(1690000000.1, UTC)


def test_a_log_of_ptdaemon_is_read_with_its_marks_and_its_missing_values(
    path: Path,
) -> None:
    lines = [
        "01-22-2021 15:05:09.000: Waiting for a connection...",
        PTD.format(second=10, watts=25.0, mark="notset"),
        PTD.format(second=11, watts=25.0, mark="loadgen"),
        PTD.format(second=12, watts=-1.0, mark="loadgen"),
        PTD.format(second=13, watts=25.0, mark="notset")
        + ",Ch1,Watts,12.0,Volts,1.0,Amps,1.0,PF,1.0",
    ]
    found = read(path, "\n".join(lines))
    assert [one.power_w for one in found.readings][:2] == [25.0, 25.0]
    assert math.isnan(found.readings[2].power_w)
    assert [(one.name, one.begin_s, one.end_s) for one in found.stretches] == [
        ("loadgen", 1.0, 2.0)
    ]
    assert "Lines that are no samples: 1, first line 1." in found.notes


def test_what_ptdaemon_prints_is_read_and_a_log_of_temperatures_is_not(
    path: Path,
) -> None:
    stamp = "09-23-2020 14:40:{second}.964"
    printed = [
        stamp.format(second=second) + ",Watts,25.0,Volts,230.0,Mark,notset"
        for second in (10, 11)
    ]
    answer = "09-23-2020 14:40:11.999: Response to client sent: Watts,25.0"
    found = read(path, "\n".join([*printed, answer]))
    assert [one.power_w for one in found.readings] == [25.0, 25.0]
    warm = stamp.format(second=10) + ",Temp,29.6,Humidity,0.0,Mark,notset"
    assert refused(path, f"{warm}\n{warm}").code.startswith("recording-")


def test_a_table_of_nvidia_smi_is_read_with_the_units_in_its_cells(path: Path) -> None:
    text = "timestamp, power.draw [W]\n2026/03/01 12:00:00.500, 30.10 W\n2026/03/01 12:00:01.500, [N/A]\n"
    found = read(path, text)
    assert found.readings[0].power_w == 30.1
    assert math.isnan(found.readings[1].power_w)
    assert found.readings[1].monotonic_s == 1.0


def test_semicolons_decimal_commas_and_a_byte_order_mark_are_read(path: Path) -> None:
    text = "\ufeffSerial;1234\nZeit;Leistung (W)\n0,0;2,5\n0,5;1.002,5\n"
    found = read(path, text)
    assert [one.power_w for one in found.readings] == [2.5, 1002.5]


def test_a_file_in_utf_16_is_read(path: Path) -> None:
    path.write_bytes("time\tpower\n0\t1\n1\t2\n".encode("utf-16"))
    assert len(read_foreign(path, Reader()).readings) == 2


def test_a_clock_without_a_date_passes_midnight(path: Path) -> None:
    found = read(path, "Time,Watts\n23:59:59,3\n00:00:00.5,3\n")
    assert found.readings[1].monotonic_s == 1.5


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "1690000000",
            "1690000001",
        ),
        (
            "1690000000000",
            "1690000001000",
        ),
        (
            "1690000000000000",
            "1690000001000000",
        ),
        (
            "1690000000000000000",
            "1690000001000000000",
        ),
        (
            "2023-07-22T04:26:40Z",
            "2023-07-22T06:26:41+02:00",
        ),
        (
            "2023-07-22 04:26:40,000",
            "2023-07-22 04:26:41,000",
        ),
        (
            "22.07.2023 04:26:40",
            "22.07.2023 04:26:41",
        ),
    ],
)
def test_every_form_of_a_time_is_the_same_second(
    path: Path, first: str, second: str
) -> None:
    found = read(path, f"time;power\n{first};1\n{second};1\n")
    assert found.readings[1].monotonic_s == pytest.approx(1.0, abs=1e-6)
    assert abs(found.readings[0].utc.timestamp() - 1690000000) < 1e-3


def test_columns_that_are_named_count_before_the_heads(path: Path) -> None:
    text = "stamp,load,P\n0,2500,9\n1000,2500,9\n"
    found = read(path, text, "time:ms=stamp,power:mW=load")
    assert [one.power_w for one in found.readings] == [2.5, 2.5]
    assert found.readings[1].monotonic_s == 1.0


def test_a_file_without_heads_is_read_by_places(path: Path) -> None:
    found = read(path, "0,1.5\n1,2.5\n", "time=1,power=2")
    assert [one.power_w for one in found.readings] == [1.5, 2.5]


def test_readings_without_times_have_those_of_the_interval(path: Path) -> None:
    found = read(path, "P,V\n1,2\n1,2\n1,2\n", interval_s=0.5)
    assert [one.monotonic_s for one in found.readings] == [0.0, 0.5, 1.0]


def test_voltage_times_current_is_the_power_of_dc_alone(path: Path) -> None:
    text = "time,volts,amps\n0,5,0.2\n1,5,0.4\n"
    assert refused(path, text).code == "recording-columns"
    found = read(path, text, is_dc=True)
    assert [one.power_w for one in found.readings] == [1.0, 2.0]


def test_voltage_times_current_is_the_apparent_power(path: Path) -> None:
    found = read(path, "time,P,V,A\n0,20,120,0.2\n1,20,120,0.2\n")
    assert found.readings[0].apparent_va == pytest.approx(24.0)
    assert found.readings[0].power_w == 20.0


def test_an_energy_of_the_file_counts_from_its_first_reading(path: Path) -> None:
    found = read(path, "time,P,kWh\n0,36,5.00000\n100,36,5.00100\n")
    assert found.readings[-1].energy_wh == pytest.approx(1.0)
    assert "energy" in found.quantities


def test_an_energy_without_a_unit_is_not_used_and_said(path: Path) -> None:
    found = read(path, "time,P,energy\n0,36,5\n100,36,6\n")
    assert "energy" not in found.quantities
    assert any("--columns energy:Wh=energy" in one for one in found.notes)


def test_an_unused_column_with_the_unit_of_an_energy_names_its_option(
    path: Path,
) -> None:
    text = "time;P;Z\N{LATIN SMALL LETTER A WITH DIAERESIS}hler [kWh];Note [x]\n0;36;5;a\n100;36;5.0010;b\n"
    found = read(path, text)
    (note,) = [one for one in found.notes if one.startswith("Not used")]
    option = "'energy:kWh=Z\N{LATIN SMALL LETTER A WITH DIAERESIS}hler [kWh]'"
    assert f"is the meter's energy, --columns {option} uses it." in note
    used = read(path, text, option.strip("'"))
    assert used.readings[-1].energy_wh == pytest.approx(1.0)
    assert not any("uses it" in one for one in used.notes)


HEADED = (
    "Logger X;serial 7\nbegin;noon\n\n"
    "Uhr;Watt;Volt;Ampere;Note;More\n"
    "0;1.5;120;0.1;a;b\n1;2.5;120;0.1;a;b\n"
)


def test_places_name_the_columns_below_a_heading_and_lines_before_it(
    path: Path,
) -> None:
    found = read(path, HEADED, "time:s=1,power:W=2")
    assert [one.power_w for one in found.readings] == [1.5, 2.5]
    without = HEADED.replace("Uhr;Watt;Volt;Ampere;Note;More\n", "")
    found = read(path, without, "time:s=1,power:W=2")
    assert [one.power_w for one in found.readings] == [1.5, 2.5]


def test_a_first_row_without_data_is_no_heading(path: Path) -> None:
    found = read(
        path,
        "2026-01-01 12:00:00,---\n2026-01-01 12:00:01,2.5\n2026-01-01 12:00:02,2.5\n",
        "time=1,power=2",
    )
    assert len(found.readings) == 3


def test_repeated_rows_are_left_out_and_equal_times_are_said(path: Path) -> None:
    found = read(path, "t,P\n0,1\n1,2\n1,2\n1,3\n2,3\n")
    assert len(found.readings) == 4
    assert any("Rows that repeat" in one and "line 4" in one for one in found.notes)
    assert any("the times are coarse" in one and "line 5" in one for one in found.notes)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (
            "",
            "recording-empty",
            "holds no reading",
        ),
        (
            "\n \n",
            "recording-empty",
            "holds no reading",
        ),
        (
            "t,P\n",
            "recording-empty",
            "but no reading",
        ),
        (
            "t,P\n0,1\n1,hello\n",
            "recording-value",
            "line 3: P is 'hello'",
        ),
        (
            "t,P\n0,1\n1\n",
            "recording-value",
            "line 3, has 1 cells",
        ),
        (
            "t,P\n0,1\nlater,1\n",
            "recording-value",
            "line 3: t is 'later'",
        ),
        (
            "t,P\nsoon,1\n",
            "recording-value",
            "line 2: t is 'soon'",
        ),
        (
            "t,P\n01/02/2026 10:00:00,1\n",
            "recording-value",
            "its day or its month",
        ),
        (
            "t,P\n0,1e400\n",
            "recording-value",
            "line 2: P is '1e400'",
        ),
        (
            "t,P\n0,1\n5,1\n4,1\n",
            "recording-order",
            "line 4: the time goes back from '5' to '4'",
        ),
        (
            "t,P\n0,1\nt,P\n0,1\n",
            "recording-order",
            "line 3, repeats the heading",
        ),
        (
            "t,P\n0,1,\n1,1,\n",
            "recording-value",
            "its heading has 2 cells, its lines have 3 (line 2); a separator is missing",
        ),
        (
            "t,P\n0,1,\n1\n",
            "recording-unreadable",
            "most of its lines have not as many cells as the first",
        ),
        (
            "t,x\n0,1\n",
            "recording-columns",
            "it has 't', 'x'",
        ),
        (
            "P,V\n0,1\n",
            "recording-columns",
            "known as the time",
        ),
        (
            "t,P,power\n0,1,2\n",
            "recording-columns",
            "'P', 'power'",
        ),
        (
            "t,P1,P2\n0,1,2\n",
            "recording-columns",
            "'P1', 'P2'",
        ),
        (
            "t,P-1 (W),P-SUM (W)\n0,1,2\n",
            "recording-columns",
            "'P-1 (W)', 'P-SUM (W)'",
        ),
        (
            "0,1.5\n1,1.5\n",
            "recording-format",
            "names no columns",
        ),
        (
            "just a letter\n",
            "recording-format",
            "does not name the power, and the file has one column",
        ),
    ],
)
def test_what_cannot_be_read_is_one_sentence_with_line_and_value(
    path: Path, text: str, code: str, words: str
) -> None:
    error = refused(path, text)
    assert error.code == code
    assert words in error.sentence
    assert "\n" not in error.sentence


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            "power",
            "'power'",
        ),
        (
            "load=P",
            "'load=P'",
        ),
        (
            "power=Q",
            "'Q'",
        ),
        (
            "power=9",
            "'9'",
        ),
        (
            "power:furlong=P",
            "'furlong'",
        ),
        (
            "power=P,energy=P",
            "takes 'P' for power and for energy",
        ),
        (
            "energy=P",
            "unit of the column 'P'",
        ),
    ],
)
def test_columns_that_cannot_be_are_named(path: Path, columns: str, words: str) -> None:
    error = refused(path, "t,P\n0,1\n1,1\n", columns)
    assert error.code == "recording-columns"
    assert words in error.sentence


def test_bytes_that_are_no_text_are_refused(path: Path) -> None:
    for text in (b"t,P\n\x81\xfe\xfa\n", b"t,P\n0,1\n\0\0\0\n"):
        path.write_bytes(text)
        with pytest.raises(MeterError, match="not text in UTF-8"):
            read_foreign(path, Reader())


@pytest.mark.parametrize("word", ["", "NaN", "n/a", "[N/A]", "--", "9.91E+37", "null"])
def test_words_for_no_data_are_no_data(word: str) -> None:
    assert math.isnan(number(word, has_decimal_comma=False))


@pytest.mark.parametrize("word", ["inf", "OL", "-OL-", "over range", "9.9E+37"])
def test_words_for_over_range_are_infinite(word: str) -> None:
    assert math.isinf(number(word, has_decimal_comma=False))


@given(st.text(max_size=200))
def test_whatever_stands_in_a_file_is_read_or_refused_in_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.mktemp("any") / "any.csv"
    path.write_text(f"t,P\n{text}", encoding="utf-8", errors="replace")
    sentence = ""
    try:
        read_foreign(path, Reader())
    except MeterError as error:
        sentence = error.sentence
    assert "\n" not in sentence
