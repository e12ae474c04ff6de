from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import astuple, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.energy import trapezoid_wh
from lpirc_power.errors import MeterError
from lpirc_power.meter import IntegratorState, Reading
from lpirc_power.recording import (
    COLUMNS,
    NO_DATE,
    header_line,
    read_recording,
    row,
)

Make = Callable[..., Reading]
NUMBERS = st.floats()
READINGS = st.builds(
    Reading,
    monotonic_s=st.floats(allow_nan=False, allow_infinity=False),
    utc=st.datetimes(
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=9))]),
        min_value=datetime(2, 1, 1),  # noqa: DTZ001
    ),
    voltage_v=NUMBERS,
    current_a=NUMBERS,
    apparent_va=NUMBERS,
    power_w=NUMBERS,
    power_factor=NUMBERS,
    energy_wh=NUMBERS,
    integrator_s=NUMBERS,
    state=st.sampled_from(IntegratorState),
    over_range=st.booleans(),
    voltage_peak_over=st.booleans(),
    current_peak_over=st.booleans(),
    voltage_range_v=NUMBERS,
    current_range_a=NUMBERS,
    changed=st.text(st.characters(blacklist_categories=["C"])).map(str.strip),
    stopped=st.booleans(),
)


def same(
    one: Reading,
    other: Reading,
) -> bool:
    return all(
        a == b
        or (
            isinstance(a, float)
            and isinstance(b, float)
            and math.isnan(a)
            and math.isnan(b)
        )
        for a, b in zip(astuple(one), astuple(other), strict=True)
    )


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "run.csv"
        path.write_text(text)
        return path

    return write


@given(st.lists(READINGS, min_size=1, max_size=5))
def test_what_is_written_is_read_back_exactly(
    tmp_path_factory: pytest.TempPathFactory,
    readings: list[Reading],
) -> None:
    readings.sort(key=lambda reading: reading.monotonic_s)
    path = tmp_path_factory.mktemp("round") / "trip.csv"
    path.write_text("\n".join((header_line(), *map(row, readings))))
    back = read_recording(path)
    assert len(back) == len(readings)
    assert all(map(same, readings, back))


def test_every_physical_column_carries_its_unit() -> None:
    assert header_line() == ",".join(COLUMNS)
    bare = {
        "utc",
        "power_factor",
        "state",
        "over_range",
        "voltage_peak_over",
        "current_peak_over",
    }
    assert {
        name.rpartition("_")[2] for name in set(COLUMNS) - bare - {"changed", "stopped"}
    } == {
        "s",
        "v",
        "a",
        "va",
        "w",
        "wh",
    }


def test_no_data_is_nan_and_over_range_is_inf(reading: Make) -> None:
    cells = row(
        reading(
            1.5,
            power_w=math.nan,
            current_a=math.inf,
            over_range=True,
        )
    ).split(",")
    shown = dict(zip(COLUMNS, cells, strict=True))
    assert shown["power_w"] == "NAN"
    assert shown["current_a"] == "INF"
    assert shown["over_range"] == "1"
    assert shown["utc"] == "2026-01-01T00:00:00+00:00"
    assert shown["state"] == "START"


@pytest.mark.parametrize("last", ["changed", "current_peak_over"])
def test_recordings_that_end_before_later_columns_are_read(
    written: Callable[[str], Path],
    reading: Make,
    last: str,
) -> None:
    taken = reading(1.0, voltage_range_v=math.nan, current_range_a=math.nan)
    width = COLUMNS.index(last) + 1
    text = "\n".join(
        ",".join(line.split(",")[:width]) for line in (header_line(), row(taken))
    )
    (read,) = read_recording(written(text))
    assert same(read, taken)
    assert not read.stopped


def test_spreadsheets_line_ends_and_marks_do_no_harm(
    written: Callable[[str], Path],
    reading: Make,
) -> None:
    assert read_recording(
        written(f"\ufeff{header_line()}\r\n{row(reading(1.0))}\r\n\r\n")
    ) == [reading(1.0)]


def test_the_2015_driver_is_recognised(written: Callable[[str], Path]) -> None:
    path = written(
        "9.91e+037,9.91e+037,9.91e+037,0,0\r\n121.1,0.02,1.211,2.5e-005,1\r\n0,0,0,3e-5,3\r\n"
    )
    empty, loaded, dark = read_recording(path)
    assert math.isnan(empty.voltage_v)
    assert math.isnan(empty.power_factor)
    assert empty.energy_wh == 0.0
    assert empty.integrator_s == 0.0
    assert empty.monotonic_s == 0.0
    assert loaded.apparent_va == pytest.approx(2.422)
    assert loaded.power_factor == pytest.approx(0.5)
    assert loaded.utc == NO_DATE + timedelta(seconds=1)
    assert not loaded.over_range
    assert math.isnan(dark.power_factor)
    assert [reading.monotonic_s for reading in read_recording(path)] == [0.0, 1.0, 3.0]


def test_over_range_of_2015_is_infinite_and_flagged(
    written: Callable[[str], Path],
) -> None:
    (reading,) = read_recording(written("120,9.9e+037,9.9e+037,0,0\n"))
    assert math.isinf(reading.current_a)
    assert reading.over_range


def test_a_real_recording_of_2015_keeps_its_energy(recordings: Path) -> None:
    readings = read_recording(recordings / "wt310_readings_user_330.csv")
    times, powers = zip(
        *((reading.monotonic_s, reading.power_w) for reading in readings),
        strict=True,
    )
    assert trapezoid_wh(times, powers, times[0], times[-1]) == pytest.approx(
        readings[-1].energy_wh,
        rel=0.002,
    )


def test_a_recording_of_2015_is_written_in_our_form_without_loss(
    recordings: Path,
    tmp_path: Path,
) -> None:
    readings = read_recording(recordings / "wt310_readings_lpirc.csv")
    path = tmp_path / "ours.csv"
    path.write_text("\n".join((header_line(), *map(row, readings))))
    assert all(map(same, readings, read_recording(path)))


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", "recording-empty", "no reading"),
        (header_line() + "\n", "recording-empty", "no reading"),
        ("seconds,power_w\n0,1\n", "recording-format", "line 1"),
        ("1,2,3,4\n", "recording-format", "line 1"),
        ("1,2,3,4,0\n1,2,x,4,1\n", "recording-value", "line 2: power_w is 'x'"),
        ("1,2,3,4,0\n1,2,3\n", "recording-value", "line 2, has 3 cells where 5"),
        ("1,2,3,4,9.91e37\n", "recording-value", "line 1: integrator_s"),
        (
            "1,1,1,1,0\n1,1,1,1,1e30\n",
            "recording-value",
            "line 2: integrator_s is '1e30'",
        ),
        ("1,1,1,1,-1e12\n", "recording-value", "line 1: integrator_s is '-1e12'"),
        ("1,1,1,1,0\n1_0,1,1,1,1\n", "recording-value", "line 2: voltage_v is '1_0'"),
        (
            "1,1,1,1,0\n1,1,\u0661,1,1\n",
            "recording-value",
            "'\u0661' where a number should be",
        ),
        (
            f"1,1,1,1,0\n1,1,{'9' * 400},1,1\n",
            "recording-value",
            "9999'... where a number should be",
        ),
        (
            "1,2,3,4,5\n\n1,2,3,4,4\n",
            "recording-order",
            "line 3: the time goes back from 5 s to 4 s",
        ),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(
    written: Callable[[str], Path],
    text: str,
    code: str,
    said: str,
) -> None:
    path = written(text)
    with pytest.raises(MeterError) as caught:
        read_recording(path)
    assert caught.value.code == code
    assert said in caught.value.sentence
    assert str(path) in caught.value.sentence


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("utc", "yesterday"),
        ("utc", "2026-01-01T00:00:00"),
        ("utc", "0001-01-01T00:00:00+14:00"),
        ("utc", "9999-12-31T23:59:59-14:00"),
        ("power_w", "6W"),
        ("power_w", "1_0"),
        ("power_w", "1e999"),
        ("state", "RUNNING"),
        ("over_range", "True"),
        ("monotonic_s", "NAN"),
    ],
)
def test_a_cell_that_cannot_be_is_named(
    written: Callable[[str], Path],
    reading: Make,
    column: str,
    text: str,
) -> None:
    cells = row(reading(1.0)).split(",")
    cells[COLUMNS.index(column)] = text
    with pytest.raises(MeterError, match="line 2") as caught:
        read_recording(written(f"{header_line()}\n{','.join(cells)}\n"))
    assert caught.value.code == "recording-value"


CELLS = st.one_of(
    st.sampled_from(
        [
            "",
            "0",
            "1",
            "-1",
            "1e30",
            "-1e12",
            "9.91e37",
            "9.9E+37",
            "NAN",
            "-INF",
            "1e999",
            "1_0",
            "START",
        ]
    ),
    st.sampled_from(
        [
            "0001-01-01T00:00:00+14:00",
            "9999-12-31T23:59:59-23:59",
            "2026-01-01",
            "2026-W01-1T00+00",
        ]
    ),
    st.floats().map(repr),
    st.integers().map(str),
    st.datetimes(
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=-23, minutes=-59))])
    ).map(str),
    st.text(max_size=9),
)


@given(
    st.sampled_from([len(COLUMNS), 5]).flatmap(
        lambda width: st.lists(
            st.lists(CELLS, min_size=width, max_size=width),
            max_size=4,
        )
    ),
    st.booleans(),
)
def test_whatever_is_in_the_file_is_read_or_told(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[list[str]],
    headed: bool,
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "run.csv"
    heading = [header_line()] if headed else []
    path.write_bytes(
        "\n".join([*heading, *map(",".join, lines)]).encode("utf-8", "surrogatepass")
    )
    with contextlib.suppress(MeterError):
        for reading in read_recording(path):
            assert row(replace(reading, changed="")).count(",") == len(COLUMNS) - 1


def test_each_column_takes_or_tells_every_odd_cell(
    written: Callable[[str], Path],
    reading: Make,
) -> None:
    odd = [
        "",
        "0",
        "-1",
        "1e30",
        "-1e308",
        "INF",
        "NAN",
        "1_0",
        "9" * 5000,
        "0001-01-01T00:00:00+14:00",
        "\0",
        "٣",
    ]
    for index in range(len(COLUMNS)):
        for text in odd:
            cells = row(reading(1.0)).split(",")
            cells[index] = text
            path = written(f"{header_line()}\n{','.join(cells)}\n")
            failed: MeterError | None = None
            try:
                assert row(read_recording(path)[0])
            except MeterError as error:
                failed = error
            if failed is not None:
                assert failed.code == "recording-value"
                assert ("line 2" in failed.sentence) is True
                assert len(failed.sentence) < 400


def test_a_recording_from_before_the_ranges_were_read_has_none(
    written: Callable[[str], Path],
    reading: Make,
) -> None:
    heading = header_line().split(",")
    cells = row(reading(1.0)).split(",")
    (found,) = read_recording(
        written(f"{','.join(heading[:13])}\n{','.join(cells[:13])}\n")
    )
    assert math.isnan(found.voltage_range_v)
    assert math.isnan(found.current_range_a)
    assert replace(found, voltage_range_v=150.0, current_range_a=0.1) == reading(1.0)


def test_a_row_cut_off_by_a_crash_is_told(
    written: Callable[[str], Path],
    reading: Make,
) -> None:
    whole = f"{header_line()}\n{row(reading(1.0))}\n{row(reading(2.0))}"
    for cut in range(1, len(row(reading(2.0)))):
        with pytest.raises(MeterError, match="line 3") as caught:
            read_recording(written(whole[:-cut]))
        assert caught.value.code == "recording-value"
    assert len(read_recording(written(whole))) == 2


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "picture.csv").write_bytes(b"\xff\xd8\xff\x00")
    for name in ("none.csv", "", "picture.csv", "no\0name.csv"):
        with pytest.raises(MeterError, match="cannot be read") as caught:
            read_recording(tmp_path / name)
        assert caught.value.code == "recording-unreadable"
