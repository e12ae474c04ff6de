"""`referee run versus`: who won a meeting, and by how many points."""

from __future__ import annotations

from pathlib import Path

import click

from referee.cli.options import contest_folder, run_number
from referee.contest import open_contest
from referee.judging.results import meeting


@click.command()
@click.argument("first", metavar="RUN", type=run_number)
@click.argument("second", metavar="RUN", type=run_number)
@contest_folder
def versus(first: int, second: int, folder: Path) -> None:
    """Show the points of two judged runs that met: 2 for the higher score, 1 each for a tie."""
    with open_contest(folder) as contest:
        met = meeting(contest, first, second)
    for side in met.sides:
        run, figures = side.run, side.figures
        marks = "  !" if figures.needs_review else "  reviewed" if figures.reviewed else ""
        marks += "" if run.official else "  u"
        shown = "no score" if figures.score is None else f"{figures.score:.4g}"
        shown += f", which does not count: {figures.not_ranked}" if figures.not_ranked else ""
        click.echo(f"{side.points}  run {run.id} of {run.team}: {shown}{marks}")
    if not met.one_heat:
        click.echo(f"Runs {first} and {second} are not of one heat: they did not start together.", err=True)
    for number in (side.run.id for side in met.sides if side.figures.needs_review):
        told = f"! Run {number} needs review before the points count; see: referee run show {number}"
        click.echo(told, err=True)
