"""`referee judge`."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import click

from referee.cli.acts import act
from referee.cli.judged import print_score, print_standing
from referee.cli.options import as_json, contest_folder, run_number
from referee.clock import Clock
from referee.contest import open_contest, require_unchanged
from referee.judging.results import figures_of, score_document
from referee.judging.uncertainty import judge_with_interval
from referee.store.records import RunState


@click.command()
@click.argument("number", metavar="[RUN]", type=run_number, required=False)
@click.option("--all", "all_runs", is_flag=True, help="Judge every run that is closed and not judged yet.")
@click.option("--on-record", is_flag=True, hidden=True, help="Who asked for it is on record already.")
@contest_folder
@as_json
def judge(number: int | None, folder: Path, *, all_runs: bool, on_record: bool, as_json: bool) -> None:
    """Judge a closed run: mAP, energy, score and checks, stored with their signature."""
    if (number is None) != all_runs:
        raise click.UsageError("Give either RUN or --all.")
    with open_contest(folder) as contest:
        require_unchanged(contest.test_set)
        closed = contest.store.runs(RunState.CLOSED)
        judged = []
        for one in [run.id for run in closed] if number is None else [number]:
            with nullcontext() if on_record else act(contest.store, "judge", one):
                score = judge_with_interval(contest, one, Clock())
            run = contest.store.run(one)
            judged.append((run, score, figures_of(contest, run)))
    if as_json:
        documents = [
            score_document(run, score) | {"not_ranked": figures.not_ranked} for run, score, figures in judged
        ]
        click.echo(json.dumps(documents if all_runs else documents[0]))
        return
    for run, score, figures in judged:
        print_score(run, score)
        print_standing(figures)
    if not judged:
        click.echo("No closed run is waiting to be judged.", err=True)
