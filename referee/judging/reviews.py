"""A run in need of review that an operator lets stand: its score keeps its checks, and says so."""

from __future__ import annotations

from datetime import datetime

from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.results import current_judgement
from referee.store.records import Review, RunState


def let_stand(contest: Contest, number: int, operator: str, note: str, now: datetime) -> Review:
    """Keep that a judged run stands although checks of it failed. Raises RefereeError `run-unknown`, `run-state`."""
    run = contest.store.run(number)
    judged = current_judgement(contest, run) if run.state is RunState.JUDGED else None
    if judged is None:
        sentence = f"Run {number} is {run.state}, not judged as it stands; only a judged run can be reviewed."
        raise RefereeError("run-state", sentence, run=number)
    codes = tuple(check.code for check in judged.checks if not check.ok and check.severity == "error")
    if not codes:
        raise RefereeError("run-state", f"Run {number} needs no review: no check of it failed.", run=number)
    review = Review(operator, note, now.isoformat(), codes)
    contest.store.add_review(number, review)
    return review
