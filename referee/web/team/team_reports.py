"""What a team downloads of a run of its own: the report, once the result is published, and all its receipts."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, jsonify

from referee.errors import RefereeError
from referee.judging.team_view import receipt_document
from referee.store.records import OVER, Run
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.closing_receipt import closing_receipt
from referee.web.html_pages import REPORT_POLICY, html
from referee.web.judge_process import run_command
from referee.web.published_board import PublishedBoard
from referee.web.team.team_access import TEAM_PATH, require_team
from referee.web.team.team_desk import TeamsDesk

WAIT_S = 30.0  # for the reports of other teams

logger = logging.getLogger(__name__)
blueprint = Blueprint("team-runs", __name__, url_prefix=f"{TEAM_PATH}/runs")
_turn = threading.Lock()
_written: dict[tuple[Path, int], tuple[object, Path]] = {}


@blueprint.get("/<int:number>/report")
def report(number: int) -> Response:
    """Answer with the report of a run of the team, the same as `referee report` writes.

    It shows the run's rank, too. So there is none while the board hides news, nor before the result is published.
    """
    run = _own_run(require_team(), number)
    _require_published(run)
    text = _report_of(run)
    _require_published(run)  # the board may have been frozen meanwhile
    response = html(text)
    response.headers["Content-Security-Policy"] = REPORT_POLICY
    return response


@blueprint.get("/<int:number>/receipts")
def receipts(number: int) -> Response:
    """Answer with the receipts of all posts of a run of the team, oldest first, and the receipt of the closed run."""
    run = _own_run(require_team(), number)
    contest = part(Callers).contest
    posts = contest.store.posts.receipts(run.id)
    closing: dict[str, Any] = {}
    if run.state in OVER:
        closing = closing_receipt(contest, run.id)
    return jsonify(
        run=run.id,
        rules_sha256=None if run.rules is None else run.rules.sha256,
        receipts=[receipt_document(one) for one in reversed(posts)],
        closing=closing.get("receipt"),
    )


def _own_run(team: str, number: int) -> Run:
    """Return a run of the team. Raises `run-unknown` for any other number: whether it exists is not told."""
    found = part(Callers).contest.store.runs.find(team=team)
    for run in found:
        if run.id == number:
            return run
    raise RefereeError("run-unknown", f"{team} has no run {number}.")


def _require_published(run: Run) -> None:
    """Raise RefereeError `board-state` or `run-state` unless the run's result is public now."""
    if part(PublishedBoard).is_frozen():
        raise RefereeError(
            "board-state",
            "The board is frozen: reports are given out again when it has been unveiled.",
        )
    shown = part(TeamsDesk).look(run.team).document["runs"]
    result = next((one["result"] for one in shown if one["run"] == run.id), None)
    if result is None:
        raise RefereeError(
            "run-state",
            f"Run {run.id} has no published result yet; its report follows with it.",
            run=run.id,
        )


def _report_of(run: Run) -> str:
    """Return the report, written by a separate process unless nothing was judged or reviewed since the last time."""
    contest = part(Callers).contest
    key = (contest.folder, run.id)
    made_of = (run, contest.store.scores.judgement_mark())
    written = _written.get(key)
    if written is not None and written[0] == made_of and written[1].is_file():
        return written[1].read_text(encoding="utf-8")
    if not _turn.acquire(timeout=WAIT_S):
        raise RefereeError(
            "too-many-requests",
            "Other reports are being written; try again when they are done.",
        )
    try:
        done, said = run_command(
            "report", str(run.id), "--contest", str(contest.folder)
        )
    finally:
        _turn.release()
    if done.returncode:
        logger.error("report of run %d: %s", run.id, done.stderr.strip())
        raise RefereeError("report-failed", f"The report cannot be written: {said}")
    path = Path(done.stdout.strip())
    _written[key] = (made_of, path)
    return path.read_text(encoding="utf-8")
