from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.simulator.syntax import engineering, number, spelled


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (103.79, 5, "103.79E+00"),
        (1.0143, 5, "1.0143E+00"),
        (0.0, 5, "0.0000E+00"),
        (0.029776, 6, "29.7760E-03"),
        (999999.6, 5, "1.0000E+06"),
        (-2.5e-9, 5, "-2.5000E-09"),
        (math.nan, 5, "NAN"),
        (math.inf, 5, "INF"),
    ],
)
def test_numbers_have_an_exponent_of_thousands(
    value: float,
    digits: int,
    text: str,
) -> None:
    assert engineering(value, digits) == text


@given(st.floats(-1e12, 1e12).filter(lambda value: value == 0 or abs(value) > 1e-12))
def test_a_written_number_reads_as_itself_to_its_digits(value: float) -> None:
    assert float(engineering(value, 5)) == pytest.approx(value, rel=5.1e-5)
    assert number(engineering(value, 6)) == pytest.approx(value, rel=5.1e-6)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("150V", "V", 150),
        ("500MA", "A", 0.5),
        ("100ms", "S", 0.1),
        ("1E-1", "S", 0.1),
        (".5", "A", 0.5),
        ("2KV", "V", 2000),
    ],
)
def test_units_scale(
    text: str,
    unit: str,
    value: float,
) -> None:
    assert number(text, unit) == pytest.approx(value)


def test_words_are_spelled_long_or_short() -> None:
    assert spelled("TIMeup", True) == "TIMEUP"
    assert spelled("TIMeup", False) == "TIM"
