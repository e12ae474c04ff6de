"""`referee judge`."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import click

from referee.cli.acts import act
from referee.cli.judged import print_score, print_standing
from referee.cli.options import as_json, contest_folder, run_number
from referee.cli.workers import Progress, worker_options, workers_of
from referee.clock import Clock
from referee.contest import Contest, open_contest, require_unchanged
from referee.errors import RefereeError
from referee.judging.judge import judgeable
from referee.judging.many import score_runs
from referee.judging.results import figures_of, score_document
from referee.judging.scoring_job import Scored
from referee.judging.uncertainty import judge_scored, judge_with_interval
from referee.store.records import Run, RunState
from referee.workers import Workers


@click.command()
@click.argument("number", metavar="[RUN]", type=run_number, required=False)
@click.option("--all", "all_runs", is_flag=True, help="Judge every run that is closed and not judged yet.")
@click.option("--on-record", is_flag=True, hidden=True, help="Who asked for it is on record already.")
@worker_options
@contest_folder
@as_json
def judge(
    number: int | None, folder: Path, *, all_runs: bool, on_record: bool, as_json: bool, **where: Any
) -> None:
    """Judge a closed run: mAP, energy, score and checks, stored with their signature."""
    if (number is None) != all_runs:
        raise click.UsageError("Give either RUN or --all.")
    with open_contest(folder) as contest:
        require_unchanged(contest.test_set)
        numbers = [run.id for run in contest.store.runs(RunState.CLOSED)] if number is None else [number]
        with workers_of(**where) as workers:
            reasons = _judge(contest, numbers, workers, on_record=on_record)
        judged = []
        for one in numbers:
            run, score = contest.store.run(one), contest.store.latest_score(one)
            if one not in reasons and score is not None:
                judged.append((run, score, figures_of(contest, run)))
    if as_json:
        documents = [
            score_document(run, score) | {"not_ranked": figures.not_ranked} for run, score, figures in judged
        ]
        click.echo(json.dumps(documents if all_runs else documents[0] if documents else None))
    else:
        for run, score, figures in judged:
            print_score(run, score)
            print_standing(figures)
    if not numbers:
        click.echo("No closed run is waiting to be judged.", err=True)
    if reasons:
        raise RefereeError(
            "not-judged", " ".join(f"Run {one} was not judged: {why}" for one, why in sorted(reasons.items()))
        )


def _judge(
    contest: Contest, numbers: list[int], workers: Workers | None, *, on_record: bool
) -> dict[int, str]:
    """Judge these runs; returns the reasons of those that were not."""
    clock, progress, reasons = Clock(), Progress(len(numbers), "runs judged"), dict[int, str]()

    def on(run: int) -> AbstractContextManager[None]:
        return nullcontext() if on_record else act(contest.store, "judge", run)

    def keep(run: Run, found: Scored) -> None:
        with on(run.id):
            judge_scored(contest, run.id, clock, found)
        progress.step()

    def failed(run: Run, reason: str) -> None:
        reasons[run.id] = reason
        contest.store.log_event(clock.utc(), run.id, "judge-failed", sentence=reason)
        progress.step()

    if workers is not None:
        score_runs(contest, [judgeable(contest, one) for one in numbers], clock, workers, keep, failed)
        return reasons
    for one in numbers:
        with on(one):
            judge_with_interval(contest, one, clock)
        progress.step()
    return reasons
