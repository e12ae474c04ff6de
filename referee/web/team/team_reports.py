"""What a team downloads of a run of its own: the report, once the result is published, and all its receipts."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, request

from referee.errors import RefereeError
from referee.judging.bound_rules import rule_of
from referee.judging.kept_timelines import timeline_file
from referee.judging.released_figures import published_figures
from referee.judging.replay_release import FIGURES
from referee.judging.run_figures import current_judgement
from referee.judging.truth_release import may_show_truth
from referee.presence import is_there
from referee.store.records import Run, Score
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.command_turns import CommandTurns, Refused, output_of
from referee.web.html_pages import REPORT_POLICY, html
from referee.web.published_board import PublishedBoard
from referee.web.team.receipt_pages import ReceiptPages
from referee.web.team.team_access import OF_ONE_TEAM, TEAM_PATH, require_team
from referee.web.team.team_desk import TeamsDesk

NO_REPORT = Refused("report-failed", "The report cannot be written")
MOST_WAITING = 3
LONGEST_NUMBER = 9  # digits

blueprint = Blueprint("team-runs", __name__, url_prefix=f"{TEAM_PATH}/runs")
_turns = CommandTurns("Reports are being written; try again in some seconds.")
_counting = threading.Lock()
_waiting: Counter[tuple[Path, str]] = Counter()
_written: dict[tuple[Path, int, bool], tuple[object, Path]] = {}


@blueprint.get("/<int:number>/report")
def report(number: int) -> Response:
    """Answer with the report of a run of the team, as `referee report` writes it.

    It is the one of `--for-team` until the ground truth is no longer secret and no team runs, and there is none while
    the board hides news, nor before the result is published.
    """
    run = _own_run(require_team(), number)
    _require_published(run)
    for_team = not _shows_truth()
    text = _report_of(run, for_team=for_team)
    # A run may have been armed meanwhile.
    if not for_team and not _shows_truth():
        text = _report_of(run, for_team=True)
    _require_published(run)  # the board may have been frozen meanwhile
    response = html(text)
    response.headers["Content-Security-Policy"] = REPORT_POLICY
    name = f"report-run-{number}.html"
    response.headers["Content-Disposition"] = f'inline; filename="{name}"'
    response.headers["Cache-Control"] = OF_ONE_TEAM
    return response


def _shows_truth() -> bool:
    callers = part(Callers)
    return may_show_truth(callers.contest, callers.clock.utc())


@blueprint.get("/<int:number>/receipts")
def receipts(number: int) -> Response:
    """Answer with a page of the receipts of a run of the team; `after` is the number of receipts before it."""
    run = _own_run(require_team(), number)
    after = request.args.get("after", "0")
    if not after.isascii() or not after.isdecimal() or len(after) > LONGEST_NUMBER:
        raise RefereeError("bad-request", f"after={after!r} must be a whole number.")
    body = part(ReceiptPages).page(run, int(after))
    response = Response(body, content_type="application/json")
    response.headers["Cache-Control"] = OF_ONE_TEAM
    return response


def _own_run(team: str, number: int) -> Run:
    """Return a run of the team. Raises `run-unknown` for any other number: whether it exists is not told."""
    found = part(Callers).contest.store.runs.find(team=team)
    for run in found:
        if run.id == number:
            return run
    raise RefereeError("run-unknown", f"{team} has no run {number}.")


def _require_published(run: Run) -> None:
    """Raise RefereeError `board-state` or `run-state` unless the run's newest result is public now."""
    if part(PublishedBoard).is_frozen():
        raise RefereeError(
            "board-state",
            "The board is frozen: reports are given out again when it has been unveiled.",
        )
    shown = part(TeamsDesk).look(run.team).document["runs"]
    result = next((one["result"] for one in shown if one["run"] == run.id), None)
    judged = current_judgement(part(Callers).contest, run)
    if result is None or judged is None or not _is_of(result, judged, run):
        raise RefereeError(
            "run-state",
            f"Run {run.id} has no published result yet; its report follows with it.",
            run=run.id,
        )


def _is_of(result: Mapping[str, Any], judged: Score, run: Run) -> bool:
    """Return True if a published result is that of a judgement, whose figures are published rounded.

    A result that the board leaves out has no figures.
    """
    exact = {name: getattr(judged, name) for name in FIGURES}
    published = published_figures(exact, rule_of(run))
    return all(result[name] == published[name] for name in FIGURES if name in result)


def _report_of(run: Run, *, for_team: bool) -> str:
    """Return the report, written by a separate process unless nothing was judged or reviewed since the last time."""
    contest = part(Callers).contest
    key = (contest.folder, run.id, for_team)
    timeline = timeline_file(contest.folder, run.id)
    changed_ns = timeline.stat().st_mtime_ns if is_there(timeline) else None
    made_of = (run, contest.store.scores.judgement_mark(), changed_ns)
    known = _known(key, made_of)
    if known is not None:
        return known
    with _turn_of(run.team):
        # Someone else of the team may have asked for it.
        known = _known(key, made_of)
        if known is not None:
            return known
        path = _write(contest.folder, run.id, for_team=for_team)
        _written[key] = (made_of, path)
    return path.read_text(encoding="utf-8")


def _known(key: tuple[Path, int, bool], made_of: object) -> str | None:
    """Return a report that was written already, if it was made of the same."""
    written = _written.get(key)
    if written is None or written[0] != made_of or not written[1].is_file():
        return None
    return written[1].read_text(encoding="utf-8")


def _write(folder: Path, run: int, *, for_team: bool) -> Path:
    """Write a report by the command. Raises RefereeError `report-failed`."""
    options = ["--for-team"] if for_team else []
    words = ("report", str(run), *options, "--contest", str(folder))
    return Path(output_of(*words, refused=NO_REPORT).strip())


@contextmanager
def _turn_of(team: str) -> Iterator[None]:
    """Wait until no other report is written. Raises RefereeError `too-many-requests`.

    Of a team at most MOST_WAITING requests wait, so that it takes no slots from others.
    """
    folder = part(Callers).contest.folder
    with _counting:
        if _waiting[folder, team] >= MOST_WAITING:
            raise _turns.too_many()
        _waiting[folder, team] += 1
    try:
        with _turns.turn():
            yield
    finally:
        with _counting:
            _waiting[folder, team] -= 1
