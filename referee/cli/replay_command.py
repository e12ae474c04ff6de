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
@contest_folder
def replay(number: int, folder: Path) -> None:
    """Print the course of a run as JSON: images, boxes, power, energy and score, each when it came.

    It has the images' numbers as the team knows them, and no pictures. For operators: it shows what is secret while
    teams may run again on the same images.
    """
    from referee.judging.replay import replay_of  # with NumPy

    with open_contest(folder) as contest:
        run = contest.store.runs.get(number)
        document = replay_of(contest, run, Clock().utc())
    click.echo(json.dumps(document, ensure_ascii=False, separators=(",", ":")))
