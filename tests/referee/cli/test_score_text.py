from __future__ import annotations

from dataclasses import replace

import pytest

from lpirc_power.energy import Budget, Check, Distribution, Term
from referee.cli.score_text import print_judged, print_score
from referee.judging.run_checks import rows_refused
from referee.judging.run_figures import Figures
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


def test_several_runs_take_a_line_each_and_only_failed_checks_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    figures = Figures(0.1, 0.5, 5.0, needs_review=False, judged=True)
    passed = Check("energy-measured", True, "error", "The energy is measured.", {})
    good = Score(1, "2026-01-01", 0.5, 0.1, 5.0, 36.0, 5, 7, {1: 0.5}, "lpirc|meter:m", (passed,))  # fmt: skip
    failed = rows_refused(1, [{"elapsed_s": 1.0, "line": 7, "reason": "bad"}])
    empty = replace(good, run=2, map=0.0, detections=0, checks=(passed, *failed))
    unranked = replace(figures, not_ranked="its accuracy is below 0.01")
    print_judged(
        [
            (run_record(id=1), good, figures),
            (run_record(id=2), empty, unranked),
        ]
    )
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["run", "1", "2", "Judged"]
    assert lines[4].startswith("run 2: warning rows-refused: 1 rows")
    assert lines[5].startswith("run 2: No detections are scored")
    assert lines[6] == "run 2: Not ranked: its accuracy is below 0.01."
    assert lines[7:] == ["All figures and checks of a run: referee run show RUN"]
