from __future__ import annotations

from dataclasses import replace

import pytest

from lpirc_power.energy import Budget, Distribution, Term
from referee.cli.score_text import print_score
from referee.judging.run_checks import rows_refused
from referee.store.records import Score
from tests.referee.factories import run_record


def test_the_uncertainty_stands_below_the_energy_in_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reading = Term(
        "reading", "the error of the reading", 0.1, "%", Distribution.RECTANGULAR, 0.001, "IM WT310E-02EN, page 7-7"
    )  # fmt: skip
    budget = Budget(0.1, (reading,))
    score = Score(
        1, "2026-01-01", 0.5, 0.1, 5.0, 36.0, 5, 7, {1: 0.5}, "lpirc|meter:m", (), energy_budget=budget.document()
    )  # fmt: skip
    print_score(run_record(id=1, energy_wh=0.1), score)
    shown = capsys.readouterr().out
    assert "+-0.000095 Wh (+-0.095 %) with 95.45 %, k = 1.65" in shown
    assert "+-0.00010 Wh (+-0.10 %), the sum of the limits" in shown
    print_score(run_record(id=1, energy_wh=0.1), replace(score, energy_budget=None))
    assert "95.45" not in capsys.readouterr().out


def test_what_a_team_posted_and_a_meter_is_called_is_shown_as_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reason = "confidence = '[/]' is not a number"
    checks = rows_refused(1, [{"elapsed_s": 1.0, "line": 7, "reason": reason}])
    signature = "lpirc|meter:[bold]WT310[/] :smile:"
    score = Score(
        1,
        "2026-01-01",
        0.5,
        0.1,
        5.0,
        36.0,
        5,
        7,
        {1: 0.5},
        signature,
        checks,
    )
    print_score(run_record(id=1, energy_wh=0.1), score)
    shown = capsys.readouterr().out
    assert reason in shown
    assert f"signature {signature}" in shown
