"""An uncertainty has two digits that count wherever it is shown, and its value as many decimals (JCGM 100, 7.2.6)."""

from __future__ import annotations

import math

import pytest

from lpirc_power.report.rounded import (
    accuracy_words,
    cost_words,
    half_text,
    percent_words,
    with_half_width,
)


@pytest.mark.parametrize(
    ("half_width", "text"),
    [
        (0.00668, "0.0067"),
        (7.4e-05, "0.000074"),
        (0.0996, "0.10"),
        (0.1, "0.10"),
        (9.96, "10"),
        (287.0, "290"),
        (1130.0, "1100"),
        (0.0, "0"),
        (2.9e-300, "2.9e-300"),
        (2.9e87, "2.9e+87"),
        (math.inf, "inf"),
    ],
)
def test_a_half_width_has_two_digits_that_count(half_width: float, text: str) -> None:
    assert half_text(half_width) == text


@pytest.mark.parametrize(
    ("value", "half_width", "words"),
    [
        (0.0462698, 0.00338, "0.0463 +- 0.0034 Wh"),
        (6.0, 0.0996, "6.00 +- 0.10 Wh"),
        (36123.0, 287.0, "36120 +- 290 Wh"),
        (0.0462698, None, "0.0462698 Wh"),
        (math.nan, 0.1, "no data"),
    ],
)
def test_a_value_has_the_decimals_of_its_half_width(
    value: float, half_width: float | None, words: str
) -> None:
    assert with_half_width(value, half_width, "Wh") == words


def test_an_uncertainty_that_exceeds_its_value_has_no_percentage() -> None:
    assert percent_words(1.0) == "+-100 %"
    assert percent_words(1.001) == ""
    assert percent_words(None) == ""
    assert accuracy_words(0.0837, 0.0463, "Wh") == "+-8.4 % (+-0.0039 Wh)"
    assert accuracy_words(11.3, 0.0463, "Wh") == "+-0.52 Wh"


def test_a_cost_above_the_energy_is_said_to_be_more_than_it() -> None:
    assert cost_words(0.546) == "55 % of its energy"
    assert cost_words(11.3) == "more than its energy"
    assert cost_words(math.inf) == "more than its energy"
