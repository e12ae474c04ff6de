"""Parts of a page: words that a terminal and a page share."""

from __future__ import annotations

from lpirc_power.energy import Check
from lpirc_power.page.parts import check_list, paragraph

SIGN = "\N{PLUS-MINUS SIGN}"


def test_a_page_has_one_sign_for_plus_minus() -> None:
    sentence = "The limit is +-0.2 %."
    check = Check("accuracy", ok=False, severity="warning", sentence=sentence)
    assert f"is {SIGN}0.2 %" in paragraph(sentence)
    assert f"is {SIGN}0.2 %" in check_list([check])
