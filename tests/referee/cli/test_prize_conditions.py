"""What the list of places says that a prize needs: a figure that a run can have, in the words of the task."""

from __future__ import annotations

import pytest

from lpirc_score.tasks.words import OF_BOXES, Words, words_of
from referee.cli.leaderboard_command import condition_of
from referee.judging.prizes import Award

BEYOND = "while they differ so much, so no run reaches it"


def said(rule: str, bar: float | None, words: Words = OF_BOXES) -> str:
    return condition_of(Award("Cup", rule, (), bar=bar), words)


@pytest.mark.parametrize(
    ("rule", "bar", "sentence"),
    [
        ("best-score", None, ""),
        ("least-energy", None, ""),
        ("least-energy", 0.32201, " (needs an mAP of 0.32201 or more)"),
        ("highest-map", 2.1, " (needs 2.1000 Wh or less)"),
        ("highest-map", 0.0035412, " (needs 0.003541 Wh or less)"),
        ("highest-map", 0.0000354, " (needs 3.54e-05 Wh or less)"),
        (
            "highest-map",
            -0.0035,
            f" (one standard deviation below the mean energy is not above 0 Wh {BEYOND})",
        ),
        (
            "highest-map",
            0.0,
            f" (one standard deviation below the mean energy is not above 0 Wh {BEYOND})",
        ),
        (
            "least-energy",
            1.07,
            f" (one standard deviation above the mean mAP is above 1 {BEYOND})",
        ),
    ],
)
def test_a_prize_needs_a_figure_that_a_run_can_have(
    rule: str, bar: float | None, sentence: str
) -> None:
    assert said(rule, bar) == sentence


def test_a_prize_says_the_figure_of_the_task() -> None:
    words = words_of("classification")
    assert said("least-energy", 0.5, words) == " (needs a top-1 of 0.50000 or more)"
