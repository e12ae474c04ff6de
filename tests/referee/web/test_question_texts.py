"""Joiners in questions: where scripts and emoji need them, and nowhere else."""

from __future__ import annotations

import pytest

from referee.errors import RefereeError
from referee.web.question_texts import question_text

ZWNJ = "\u200c"
ZWJ = "\u200d"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"  # "I want"
SINHALA = "\u0dc1\u0dca\u200d\u0dbb\u0dd3"
CHILLU = "\u0d28\u0d4d\u200d"  # Malayalam, a joiner after a virama at the end
MARKS = "\u0301" * 4


@pytest.mark.parametrize(
    "text",
    [
        FAMILY,
        f"Is {FAMILY} a team?",
        "\u2764\ufe0f\u200d\U0001f525",  # a heart on fire
        "\U0001f469\U0001f3fd\u200d\U0001f52c",  # a scientist, with the tone of the skin
        PERSIAN,
        SINHALA,
        f"{CHILLU} {CHILLU}\n{CHILLU}",
    ],
)
def test_emoji_of_several_parts_and_scripts_that_need_joiners_can_be_asked(
    text: str,
) -> None:
    assert question_text(text, "question") == text


@pytest.mark.parametrize(
    "text",
    [
        ZWJ,
        f"{ZWNJ}a",
        f"a{ZWJ}",
        f"a{ZWJ} b",
        f"a {ZWNJ}b",
        f"a{ZWJ}\nb",
        f"a{ZWJ}{ZWJ}b",
        f"{CHILLU}{ZWJ}",
        f"1{ZWNJ}2",
        f"a.{ZWJ}.b",
        f"\u3164{ZWJ}\u3164",
        f"a{MARKS}{ZWJ}{MARKS}",  # would be eight marks on one letter
        f"\u0928\u094d{ZWJ}{MARKS}",
        "a\u200bb",
    ],
)
def test_a_joiner_elsewhere_is_refused(text: str) -> None:
    with pytest.raises(RefereeError) as refused:
        question_text(text, "question")
    assert refused.value.code == "bad-request"
