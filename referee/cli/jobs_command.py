"""`referee jobs`: lists the jobs of scoring and measuring, and cancels jobs."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import click

from lpirc_score.cli.terminal_tables import Column, print_table
from referee.cli.recorded_acts import act, user
from referee.cli.shared_options import as_json, contest_folder
from referee.clock import Clock
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.store import Store
from referee.store.model_records import Job, JobState

SHOWN_DIGITS = 12
OPEN = (JobState.WAITING, JobState.LEASED)


@click.command()
@click.option("--all", "ended_too", is_flag=True, help="Include jobs that have ended.")
@click.option(
    "--cancel",
    metavar="NAME|all",
    help="Cancel the open job whose name begins so, or `all` open jobs.",
)
@contest_folder
@as_json
def jobs(folder: Path, cancel: str | None, *, ended_too: bool, as_json: bool) -> None:
    """List the jobs of scoring and measuring: their workers, and failures with the reasons.

    A failed job is tried again by the command that asked for it, such as `referee judge`.
    """
    with open_contest(folder) as contest:
        store = contest.store
        now = Clock().utc()
        if cancel is not None:
            names = [one.name for one in _chosen(store, cancel)]
            with act(store, "cancel-jobs", jobs=len(names)) as under_way:
                ended = store.entries.cancel_jobs(names, user(), now, under_way)
                click.echo(f"{ended} cancelled.", err=True)
        found = (
            store.jobs.all() if ended_too else store.jobs.all(*OPEN, JobState.FAILED)
        )
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found]))
        return
    columns = [
        *map(Column, ("job", "of", "state", "worker", "reason")),
        Column("failures", is_figure=True),
    ]
    rows = []
    for one in found:
        texts = (
            one.name[:SHOWN_DIGITS],
            one.about,
            _state(one, now),
            one.worker or "",
            one.reason or "",
        )
        rows.append((*texts, str(one.failures)))
    if rows:
        print_table(columns, rows, "")
    else:
        click.echo("No job is open, and none has failed.", err=True)


def _chosen(store: Store, cancel: str) -> list[Job]:
    if cancel == "all":
        return store.jobs.all(*OPEN)
    found = [one for one in store.jobs.all() if one.name.startswith(cancel)]
    if not found:
        raise RefereeError(
            "job-unknown", f"There is no job {cancel!r}; see: referee jobs --all"
        )
    if len(found) > 1:
        raise RefereeError(
            "job-unknown",
            f"{len(found)} jobs begin with {cancel!r}; give a longer part of the name.",
        )
    return found


def _state(job: Job, now: datetime) -> str:
    if job.state is not JobState.LEASED or job.lease_until_utc is None:
        return job.state
    left_s = (datetime.fromisoformat(job.lease_until_utc) - now).total_seconds()
    return (
        f"leased, {left_s:.0f} s left"
        if left_s > 0
        else "waiting again: its lease was not renewed"
    )
