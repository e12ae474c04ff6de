from __future__ import annotations

import pytest

from referee.cli.score_text import print_score
from referee.judging.run_checks import rows_refused
from referee.store.records import Score
from tests.referee.factories import run_record


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
