"""`referee rejudge`: judges runs again, and shows what changed."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from lpirc_score.cli.score_options import MetricName
from lpirc_score.cli.terminal_tables import Column, print_table
from lpirc_score.tasks.words import words_of
from lpirc_testsets.folder import is_test_set
from referee.cli.recorded_acts import act, optional_reason, user
from referee.cli.shared_options import any_path, as_json, contest_folder, run_number
from referee.cli.worker_options import require_judged, worker_options, workers_of
from referee.clock import Clock
from referee.config import CONFIG_NAME
from referee.contest import open_contest
from referee.judging import rejudge as judging
from referee.judging.judge import Again
from referee.judging.rejudge import Pair, Rejudged
from referee.store.records import Run


@click.command()
@click.argument("number", metavar="[RUN]", type=run_number, required=False)
@click.option("--all", "all_runs", is_flag=True, help="Judge every judged run again.")
@click.option(
    "--dry-run", is_flag=True, help="Show what would change, and store nothing."
)
@click.option(
    "--metric",
    type=MetricName(),
    help="Judge by this metric instead of the run's own. Boards and bundles then show that other rules were applied.",
)
@click.option(
    "--testset",
    type=any_path,
    help="With --dry-run: judge by the corrected ground truth of this test set, which has the same images.",
)
@optional_reason
@worker_options
@contest_folder
@as_json
def rejudge(
    number: int | None,
    metric: str | None,
    testset: Path | None,
    reason: str | None,
    folder: Path,
    *,
    all_runs: bool,
    dry_run: bool,
    as_json: bool,
    **where: Any,
) -> None:
    """Judge all judged runs again, by the rules recorded for each run at its arming, and show the changes.

    Later changes of contest.toml apply only to runs that are armed later. A run that an earlier version armed has no
    recorded rules; it is judged by the present contest.toml. The ground truth may differ from the one at arming if the
    images are the same and the contest is not being served; a signed event then records the correction. Earlier
    judgements stay on record.
    """
    if (number is None) != all_runs:
        raise click.UsageError("Give either RUN or --all.")
    if testset is not None and not dry_run:
        raise click.UsageError(_only_dry(testset, folder))
    failed: dict[int, str] = {}

    def give_up(run: Run, reason: str) -> None:
        failed[run.id] = reason

    with open_contest(folder) as contest, workers_of(**where) as workers:
        accuracy = words_of(contest.config.task).accuracy
        if dry_run:
            found = judging.preview(
                contest, number, Clock(), metric, testset, workers, give_up
            )
        else:
            settings = {"metric": metric, "all": all_runs or None, "reason": reason}
            with act(contest.store, "rejudge", number, **settings) as under_way:
                again = Again(user(), reason, metric, under_way)
                found = judging.rejudge(
                    contest, number, Clock(), again, workers, give_up
                )
    for run in found.skipped:
        click.echo(
            f"Run {run} is not judged again: it was made on other images.", err=True
        )
    if as_json:
        click.echo(json.dumps(asdict(found) | {"stored": not dry_run}))
    else:
        if found.changes or not failed:
            print_changes(found, accuracy)
        if dry_run:
            click.echo("No judgement was stored.", err=True)
    require_judged(failed)


def _only_dry(testset: Path, folder: Path) -> str:
    """Return why --testset is refused without --dry-run, and how the contest gets this test set."""
    needs = "--testset needs --dry-run."
    if not is_test_set(testset):
        return (
            f"{needs} And {testset} is no test set; `referee testset import` makes one."
        )
    within = json.dumps(os.path.relpath(testset, folder))
    return f"{needs} To judge by this ground truth, write testset = {within} into {folder / CONFIG_NAME}."


def print_changes(found: Rejudged, accuracy: str) -> None:
    """Print each changed value before and after the new judgement; `accuracy` is the name of the contest's figure."""
    columns = [
        Column("run", is_figure=True),
        Column("team"),
        *map(Column, (accuracy, "score", "rank")),
    ]
    rows = [
        (
            str(one.run),
            one.team,
            _change(one.map, ".5f"),
            _change(one.score, ".4f"),
            _change(one.rank, "d"),
        )
        for one in found.changes
    ]
    if rows:
        print_table(
            columns,
            rows,
            "rank none: another run of the team is ranked, or the run is on no board",
        )
    else:
        click.echo("No run is judged yet; see: referee judge --all", err=True)


def _change(values: Pair, form: str) -> str:
    was = _figure(values[0], form)
    now = _figure(values[1], form)
    return was if was == now else f"{was} -> {now}"


def _figure(value: float | None, form: str) -> str:
    return "none" if value is None else f"{value:{form}}"
