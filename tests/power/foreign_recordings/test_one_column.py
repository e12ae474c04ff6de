"""A file of one column is a recording if it is said how far its readings are apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.foreign.foreign_recording import Reader, read_foreign


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "old.csv"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("power_w\n1.5\n2.5\n", ""),
        ("power_w\n1,5\n2,5\n", ""),
        ("made by a logger\nPower (W)\n1.5\n2.5\n", ""),
        ('"power_w"\n"1.5"\n"2.5"\n', ""),
        ("1.5\n2.5\n", "power=1"),
        ("load\n1.5\n2.5\n", "power=1"),
    ],
)
def test_its_only_column_is_the_power(path: Path, text: str, columns: str) -> None:
    path.write_text(text)
    found = read_foreign(path, Reader(columns, interval_s=1.0))
    assert [one.power_w for one in found.readings] == [1.5, 2.5]


@pytest.mark.parametrize(
    "text",
    [
        "1.5\n2.5\n",
        "load\n1.5\n",
        "# 10 Hz 2026-01-01\n1.5\n2.5\n",
        "# 10 of 20\n1.5\n2.5\n",
        "1 234\n1 235.5\n",
        "2026-01-01 10:00:00\n2026-01-01 10:00:01\n",
    ],
)
def test_a_head_that_is_unknown_is_told_with_the_options_that_read_the_file(
    path: Path, text: str
) -> None:
    path.write_text(text)
    with pytest.raises(MeterError, match="--columns power=1 --interval 1"):
        read_foreign(path, Reader(interval_s=1.0))


def test_without_an_interval_the_option_is_named(path: Path) -> None:
    path.write_text("power_w\n1.5\n2.5\n")
    with pytest.raises(MeterError, match="--interval S apart"):
        read_foreign(path, Reader())


def test_an_interval_does_not_replace_the_times_of_a_file(path: Path) -> None:
    path.write_text("time,power_w\n0,1.5\n1,2.5\n")
    with pytest.raises(MeterError, match="has times of its own, in the column 'time'"):
        read_foreign(path, Reader(interval_s=1.0))
    found = read_foreign(path, Reader(interval_s=9.0, is_of_several=True))
    assert found.readings[-1].monotonic_s - found.readings[0].monotonic_s == 1.0


@pytest.mark.parametrize("text", ["0.0 1.5\n1.0 2.5\n", "0 100\n1 100\n2 100\n"])
def test_values_between_blanks_are_told_to_need_commas(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(MeterError, match=r"line 1: blanks stand between the values of"):
        read_foreign(path, Reader(interval_s=1.0))
