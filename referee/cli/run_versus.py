"""`referee run versus`: who won a meeting, and by how many points."""

from __future__ import annotations

from pathlib import Path

import click

from referee.cli.options import contest_folder, run_number
from referee.cli.report import current_judgement
from referee.contest import Contest, open_contest
from referee.errors import RefereeError
from referee.judging.leaderboard import head_to_head
from referee.store.records import Run, RunState, Score


@click.command()
@click.argument("first", metavar="RUN", type=run_number)
@click.argument("second", metavar="RUN", type=run_number)
@contest_folder
def versus(first: int, second: int, folder: Path) -> None:
    """Tell the points of two judged runs that met: 2 for the higher score, 1 each for a tie."""
    with open_contest(folder) as contest:
        runs = [contest.store.run(number) for number in (first, second)]
        _require_opponents(*runs)
        judged = [_decided(contest, one) for one in runs]
    points = head_to_head(*(one.score for one in judged))
    for run, one, won in zip(runs, judged, points, strict=True):
        marks = ("  !" if one.needs_review else "") + ("" if run.official else "  u")
        told = "no score" if one.score is None else f"{one.score:.4g}"
        click.echo(f"{won}  run {run.id} of {run.team}: {told}{marks}")
    if runs[0].heat is None or runs[0].heat != runs[1].heat:
        click.echo(f"Runs {first} and {second} are not of one heat: they did not start together.", err=True)
    for run, one in zip(runs, judged, strict=True):
        if one.needs_review:
            click.echo(
                f"! Run {run.id} needs review before the points count; see: referee run show {run.id}",
                err=True,
            )


def _require_opponents(first: Run, second: Run) -> None:
    if first.team == second.team:
        raise RefereeError(
            "not-opponents",
            f"Runs {first.id} and {second.id} are both of {first.team}; name the run of another team.",
        )


def _decided(contest: Contest, run: Run) -> Score:
    """The judgement of a run. Raises RefereeError `run-state` or `energy-missing` when it cannot have won or lost."""
    judged = current_judgement(contest, run)
    if run.state is RunState.VOID:
        raise RefereeError("run-state", f"Run {run.id} is void: {run.void_reason}; name another run.")
    if run.state in (RunState.ARMED, RunState.OPEN):
        raise RefereeError(
            "run-state", f"Run {run.id} is {run.state}; it can be told once it is over and judged."
        )
    if run.state is not RunState.JUDGED or judged is None:
        raise RefereeError(
            "run-state", f"Run {run.id} is not judged as it stands; see: referee judge {run.id}"
        )
    if judged.energy_wh is None:
        raise RefereeError(
            "energy-missing",
            f"It is not decided yet: run {run.id} of {run.team} has no energy; see: referee run show {run.id}",
        )
    return judged
