"""The decimal sign of another program's recording: one for the whole file, or a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.foreign.foreign_recording import Reader, read_foreign


def powers(path: Path, text: str, decimal: str | None = None) -> list[float]:
    path.write_text(text, encoding="utf-8")
    found = read_foreign(path, Reader(decimal=decimal))
    return [one.power_w for one in found.readings]


def refused(path: Path, text: str, decimal: str | None = None) -> MeterError:
    with pytest.raises(MeterError) as caught:
        powers(path, text, decimal)
    return caught.value


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "old.csv"


def test_one_sign_is_that_of_the_whole_file_also_where_three_digits_follow(
    path: Path,
) -> None:
    text = "t;P\n0;1.234,5\n1;1.235\n2;1.236,5\n"
    assert powers(path, text) == [1234.5, 1235.0, 1236.5]
    assert powers(path, "t;P\n0;1,5\n1;1,235\n") == [1.5, 1.235]
    assert powers(path, "t;P\n0;1.5\n1;1.235\n") == [1.5, 1.235]
    assert powers(path, "t\tP\n0.0\t36.123\n0.5\t36.124\n") == [36.123, 36.124]
    assert powers(path, 't,P\n0,"1,234.5"\n1,"1,235"\n') == [1234.5, 1235.0]
    assert powers(path, 't,P\n0,"0,5"\n1,"1,235"\n') == [0.5, 1.235]


def test_the_sign_and_where_it_shows_are_a_note(path: Path) -> None:
    path.write_text("t;P\n0;36\n1;36,5\n")
    notes = read_foreign(path, Reader()).notes
    assert "The decimal sign is ',', as in line 3: '36,5'." in notes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "t;P\n0,0;9.000\n1,0;9.000\n",
            "line 2: P is '9.000', which is 9.000 or 9000",
        ),
        (
            "t;P\n0;36,123\n1;36,124\n",
            "line 2: P is '36,123', which is 36123 or 36.1",
        ),
        (
            "t;P\n0;36.123\n1;36.124\n",
            "line 2: P is '36.123', which is 36.123 or 361",
        ),
        (
            't,P\n0,"36,123"\n',
            "line 2: P is '36,123', which is 36123 or 36.123",
        ),
        (
            "t;P\n0;999,5\n1;1.000\n",
            "line 3: P is '1.000', which is 1.000 or 1000",
        ),
        (
            "t;P\n0;1,5 W\n1;1.000 W\n",
            "line 3: P is '1.000 W', which is 1.000 or 1000",
        ),
        (
            "t;P\n0;1,5\n1;2.5\n",
            "line 3 has '2.5', and line 2 has '1,5'",
        ),
        (
            "t;P\n0.5;1,5\n1;2,5\n",
            "line 2 has '0.5', and line 2 has '1,5'",
        ),
        (
            "t;P\n0;1,5\n1;2.5E+00\n",
            "line 3 has '2.5E+00', and line 2 has '1,5'",
        ),
    ],
)
def test_what_may_be_read_in_two_ways_is_refused_with_its_line_and_the_option(
    path: Path, text: str, words: str
) -> None:
    error = refused(path, text)
    assert error.code == "recording-decimal"
    assert words in error.sentence
    assert "--decimal ," in error.sentence or "two decimal signs" in error.sentence


@pytest.mark.parametrize(
    ("text", "decimal", "found"),
    [
        (
            "t;P\n0;36,123\n1;36,124\n",
            ",",
            [36.123, 36.124],
        ),
        (
            "t;P\n0;36,123\n1;36,124\n",
            ".",
            [36123.0, 36124.0],
        ),
        (
            "t;P\n0;36.123\n1;36.124\n",
            ".",
            [36.123, 36.124],
        ),
        (
            "t;P\n0,0;9.000\n1,0;9.000\n",
            ",",
            [9000.0, 9000.0],
        ),
    ],
)
def test_the_option_says_which(
    path: Path, text: str, decimal: str, found: list[float]
) -> None:
    assert powers(path, text, decimal) == found


@pytest.mark.parametrize(
    ("text", "decimal"),
    [
        (
            "t;P\n0;36.5\n",
            ",",
        ),
        (
            "t;P\n0;0.500\n",
            ",",
        ),
        (
            "t;P\n0;36,5\n",
            ".",
        ),
        (
            "t;P\n0;1.23.456\n",
            ".",
        ),
        (
            "t;P\n0;1.234.5\n",
            ".",
        ),
        (
            "t;P\n0;1,2345.6\n",
            ".",
        ),
        (
            "t;P\n0;1.234.567.5\n",
            ",",
        ),
    ],
)
def test_a_cell_that_does_not_fit_the_sign_is_refused_with_its_line(
    path: Path, text: str, decimal: str
) -> None:
    error = refused(path, text, decimal)
    assert "line 2: P is" in error.sentence
    assert f"with the decimal sign {decimal!r} should be" in error.sentence
