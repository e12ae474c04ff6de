"""`referee judge`: judges closed runs."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from referee.cli.recorded_acts import act
from referee.cli.score_text import print_judged, print_score, print_standing
from referee.cli.shared_options import as_json, contest_folder, run_number
from referee.cli.worker_options import require_judged, worker_options, workers_of
from referee.clock import Clock
from referee.contest import Contest, open_contest, require_unchanged
from referee.errors import RefereeError
from referee.judging.judge import judge as judge_run
from referee.judging.judge import judgeable
from referee.judging.judge_many import judge_with_interval, score_runs
from referee.judging.run_figures import figures_of, score_document
from referee.judging.scoring_job import Scored
from referee.store.acts import Act
from referee.store.records import JUDGE_FAILED, Run, RunState
from referee.workers import Workers


@click.command()
@click.argument("number", metavar="[RUN]", type=run_number, required=False)
@click.option(
    "--all",
    "all_runs",
    is_flag=True,
    help="Judge every run that is closed and not judged yet.",
)
@click.option(
    "--on-record",
    is_flag=True,
    hidden=True,
    help="Do not record who requested it, which is recorded already.",
)
@click.option(
    "--first",
    is_flag=True,
    hidden=True,
    help="Leave a run alone that is judged already, or that another process judges meanwhile.",
)
@worker_options
@contest_folder
@as_json
def judge(
    number: int | None,
    folder: Path,
    *,
    all_runs: bool,
    on_record: bool,
    first: bool,
    as_json: bool,
    **where: Any,
) -> None:
    """Judge a closed run: accuracy, energy, score and checks, stored with their signature."""
    if (number is None) != all_runs:
        raise click.UsageError("Give either RUN or --all.")
    with open_contest(folder, as_served=True) as contest:
        require_unchanged(contest.test_set)
        numbers = (
            [run.id for run in contest.store.runs.find(RunState.CLOSED)]
            if number is None
            else [number]
        )
        with workers_of(**where) as workers:
            if number is not None and workers is None:
                with (
                    nullcontext() if on_record else act(contest.store, "judge", number)
                ) as under_way:
                    _judge_one(contest, number, under_way, first=first)
                reasons = {}
            else:
                reasons = _judge_by(contest, numbers, workers)
        judged = []
        for one in numbers:
            run = contest.store.runs.get(one)
            score = contest.store.scores.latest(one)
            if one not in reasons and score is not None:
                judged.append((run, score, figures_of(contest, run, Clock().utc())))
    if as_json:
        documents = [
            score_document(run, score) | figures.remarks
            for run, score, figures in judged
        ]
        click.echo(
            json.dumps(documents if all_runs else documents[0] if documents else None)
        )
    elif len(judged) > 1:
        print_judged(judged)
    else:
        for run, score, figures in judged:
            print_score(run, score)
            print_standing(figures)
    if not numbers:
        click.echo("No closed run is waiting to be judged.", err=True)
    require_judged(reasons)


def _judge_one(
    contest: Contest, number: int, under_way: Act | None, *, first: bool
) -> None:
    """Judge a run. With `first` a judgement that it has by now stays: the jury may have confirmed it."""
    state = RunState.CLOSED if first else None
    if first and _is_judged(contest, number):
        return
    try:
        judge_with_interval(contest, number, Clock(), under_way, state)
    except RefereeError:
        if not first or not _is_judged(contest, number):
            raise


def _is_judged(contest: Contest, number: int) -> bool:
    return contest.store.runs.get(number).state is RunState.JUDGED


def _judge_by(
    contest: Contest, numbers: list[int], workers: Workers | None
) -> dict[int, str]:
    """Judge these runs, except those that another process judges meanwhile.

    Returns the reason for each run that could not be judged, by run number.
    """
    clock = Clock()
    reasons = dict[int, str]()
    is_hidden = len(numbers) < 2 or not sys.stderr.isatty()
    progress = click.progressbar(
        length=len(numbers), label="Judged", file=sys.stderr, hidden=is_hidden
    )

    def keep(run: Run, found: Scored) -> None:
        with act(contest.store, "judge", run.id) as under_way:
            judge_run(
                contest, run.id, clock, found=found, state=run.state, act=under_way
            )
        progress.update(1)

    def failed(run: Run, reason: str) -> None:
        if (
            run.state is RunState.JUDGED
            or contest.store.runs.get(run.id).state is not RunState.JUDGED
        ):
            reasons[run.id] = reason
            contest.store.log.append(clock.utc(), run.id, JUDGE_FAILED, sentence=reason)
        progress.update(1)

    runs = []
    for one in numbers:
        try:
            runs.append(judgeable(contest, one))
        except RefereeError as error:
            failed(contest.store.runs.get(one), error.sentence)
    with progress:
        score_runs(contest, runs, clock, workers, keep, failed)
    return reasons
