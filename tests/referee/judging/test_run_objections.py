"""What speaks against deciding on a run together with others, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from referee.judging.run_objections import objection

FREE: dict[str, Any] = {
    "judging": False,
    "judge_failed": None,
    "judged_utc": "2026-06-20T12:00:00+00:00",
    "energy_lost": None,
    "not_ranked": None,
    "failed_checks": [],
    "needs_review": False,
    "review": None,
    "score": 0.5,
}
FAILED = {"code": "over-range", "severity": "error", "sentence": "Use a larger range."}
WARNED = {"code": "reading-gaps", "severity": "warning", "sentence": "Gaps: 1."}
UNOFFICIAL = {"code": "official-meter", "severity": "warning", "sentence": "It is not."}


@pytest.mark.parametrize(
    ("different", "said"),
    [
        ({"judging": True}, "it is being judged"),
        ({"judge_failed": "No test set."}, "it could not be judged again: No test set"),
        ({"judged_utc": None}, "its judgement is not current"),
        ({"energy_lost": "The energy is lost."}, "The energy is lost"),
        ({"not_ranked": "its mAP is below 0.01"}, "its mAP is below 0.01"),
        (
            {"failed_checks": [FAILED, WARNED], "needs_review": True},
            "in review: over-range, reading-gaps",
        ),
        ({"failed_checks": [UNOFFICIAL, WARNED]}, "a warning: reading-gaps"),
        ({"score": None}, "it has no score"),
    ],
)
def test_each_of_these_speaks_against_a_decision_together_with_others(
    different: dict[str, Any],
    said: str,
) -> None:
    assert objection(FREE | different) == said


@pytest.mark.parametrize(
    "different",
    [
        {},
        {"failed_checks": [UNOFFICIAL]},
        {"failed_checks": [FAILED], "needs_review": True, "review": {"note": "ok"}},
    ],
)
def test_neither_a_meter_that_is_not_official_nor_what_a_person_let_stand_does(
    different: dict[str, Any],
) -> None:
    assert objection(FREE | different) is None
