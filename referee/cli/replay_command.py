"""`referee replay`: the course of a run as one document."""

from __future__ import annotations

import json
from pathlib import Path

import click

from referee.cli.shared_options import contest_folder, run_number
from referee.clock import Clock
from referee.contest import open_contest


@click.command()
@click.argument("number", metavar="RUN", type=run_number)
@click.option(
    "--truth",
    is_flag=True,
    help="Add the objects of each image, found or missed, and which boxes are right.",
)
@contest_folder
def replay(number: int, folder: Path, *, truth: bool) -> None:
    """Print the course of a run as JSON: images, boxes, power, energy and score, each when it came.

    It has the images' numbers as the team knows them, and no pictures. For operators: it shows what is secret while
    teams may run again on the same images.
    """
    from referee.judging.replay import replay_of  # with NumPy
    from referee.judging.replay_truth import with_truth

    with open_contest(folder) as contest:
        run = contest.store.runs.get(number)
        document = replay_of(contest, run, Clock().utc())
        if truth:
            document = with_truth(contest, run, document)
    click.echo(json.dumps(document, ensure_ascii=False, separators=(",", ":")))
