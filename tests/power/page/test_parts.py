"""Parts of a page: words that a terminal and a page share."""

from __future__ import annotations

import pytest

from lpirc_power.energy import Check
from lpirc_power.page.parts import check_list, paragraph, with_half_width

SIGN = "\N{PLUS-MINUS SIGN}"


def test_a_page_has_one_sign_for_plus_minus() -> None:
    sentence = "The limit is +-0.2 %."
    check = Check("accuracy", ok=False, severity="warning", sentence=sentence)
    assert f"is {SIGN}0.2 %" in paragraph(sentence)
    assert f"is {SIGN}0.2 %" in check_list([check])


@pytest.mark.parametrize(
    ("value", "half", "words"),
    [
        (6.0, 0.0287, f"6.000 {SIGN} 0.029 Wh"),
        (36000.0, 287.0, f"36000 {SIGN} 290 Wh"),
        (1e-310, 2.9e-313, f"1e-310 {SIGN} 2.9e-313 Wh"),
        (1e90, 2.9e87, f"1e+90 {SIGN} 2.9e+87 Wh"),
    ],
)
def test_a_value_with_its_half_width_is_never_hundreds_of_digits_long(
    value: float, half: float, words: str
) -> None:
    assert with_half_width(value, half, "Wh") == words
