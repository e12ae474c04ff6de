"""`referee model withdraw|restore|uncount|confirm`: an operator's decisions about an entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from lpirc_tracks.cli.model_report import submission_line
from referee.cli.number_types import RunNumber
from referee.cli.recorded_acts import act, line_of_text, user
from referee.cli.shared_options import contest_folder
from referee.clock import Clock
from referee.contest import Contest, open_contest

submission_number = click.argument(
    "number", type=RunNumber("submission", "referee model list")
)


def required_reason(words: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option `--reason`, which every decision about an entry requires."""
    return click.option("--reason", required=True, callback=line_of_text, help=words)


@click.command("withdraw")
@submission_number
@required_reason(
    "The reason. The list and the team's entry show it; if a published board is no longer shown, its page shows the "
    "reason, too."
)
@contest_folder
def withdraw_command(number: int, reason: str, folder: Path) -> None:
    """Remove the entry with submission NUMBER from every board: all its builds, on both test sets.

    The submission still uses up one of its day. The final board of the track, if any, is no longer shown; publish it
    again with: referee model publish
    """
    with (
        open_contest(folder) as contest,
        act(
            contest.store, "model-withdraw", submission=number, reason=reason
        ) as under_way,
    ):
        taken = contest.store.entries.withdraw(
            number, reason, user(), Clock().utc(), under_way
        )
        _show(contest, taken)


@click.command("restore")
@submission_number
@required_reason("The reason, which the contest's log records.")
@contest_folder
def restore_command(number: int, reason: str, folder: Path) -> None:
    """Return the withdrawn entry with submission NUMBER to the boards. Builds that waited for a measurement wait again.

    The final board of the track, if any, is no longer shown; publish it again with: referee model publish
    """
    with (
        open_contest(folder) as contest,
        act(
            contest.store, "model-restore", submission=number, reason=reason
        ) as under_way,
    ):
        restored = contest.store.entries.restore(number, Clock().utc(), under_way)
        _show(contest, restored)


@click.command("uncount")
@submission_number
@required_reason("The reason, which the contest's log records.")
@contest_folder
def uncount_command(number: int, reason: str, folder: Path) -> None:
    """Give back the submission NUMBER to its team's daily limit, for example after a power cut."""
    with (
        open_contest(folder) as contest,
        act(
            contest.store, "model-uncount", submission=number, reason=reason
        ) as under_way,
    ):
        contest.store.entries.uncount(number, under_way)
    click.echo(f"Submission {number} no longer uses up a submission of its day.")


@click.command("confirm")
@submission_number
@required_reason(
    "The reason, which the contest's log records together with the reason of the review."
)
@contest_folder
def confirm_command(number: int, reason: str, folder: Path) -> None:
    """Accept submission NUMBER, which is in review, and rank it with its device's answers.

    The final board of the track, if any, is no longer shown; publish it again with: referee model publish
    """
    with (
        open_contest(folder) as contest,
        act(
            contest.store, "model-confirm", submission=number, reason=reason
        ) as under_way,
    ):
        contest.store.entries.end_review(number, Clock().utc(), under_way)
        _show(contest, [number])


def _show(contest: Contest, numbers: Iterable[int]) -> None:
    for number in numbers:
        click.echo(submission_line(contest.store.submissions.get(number)))
