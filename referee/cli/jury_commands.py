"""`referee run confirm` and `referee run publish`: the jury's decisions on a judgement, after it was shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from referee.cli.ask_server import ask
from referee.cli.score_text import print_score, print_standing
from referee.cli.shared_options import contest_folder, run_number
from referee.clock import Clock
from referee.contest import open_contest
from referee.judging.jury_decisions import require_decisions
from referee.judging.run_figures import current_judgement, figures_of

NONE = {"judged_utc": "none"}
"""What identifies no judgement: the server says why there is none."""


def _number(command: Any) -> Any:
    return click.argument("number", metavar="RUN", type=run_number)(command)


_without_asking = click.option(
    "--yes", is_flag=True, help="Do not ask: the judgement is known."
)


@click.command()
@_number
@_without_asking
@contest_folder
def confirm(number: int, folder: Path, *, yes: bool) -> None:
    """Show the judgement of RUN and confirm it, where the contest's publish_by asks for that."""
    _decide("confirm", number, folder, yes=yes)


@click.command()
@_number
@_without_asking
@contest_folder
def publish(number: int, folder: Path, *, yes: bool) -> None:
    """Show the confirmed judgement of RUN and publish it."""
    _decide("publish", number, folder, yes=yes)


def _decide(what: str, number: int, folder: Path, *, yes: bool) -> None:
    seen = _shown(number, folder)
    if not yes and seen != NONE:
        _ask(f"{what.capitalize()} this judgement?")
    click.echo(ask(folder, f"/runs/{number}/{what}", seen)["sentence"])


def _ask(question: str) -> None:
    """Ask whether to go on. Raises click.Abort for no, click.UsageError if nobody can answer."""
    try:
        is_sure = click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        words = "stdin is no terminal; add --yes once you have looked at the judgement"
        raise click.UsageError(f"Nobody answers, since {words}.") from None
    if not is_sure:
        raise click.Abort


def _shown(number: int, folder: Path) -> dict[str, str]:
    """Print the current judgement of a run, and return what identifies it; without one the server refuses."""
    with open_contest(folder, only_looks=True, as_served=True) as contest:
        run = contest.store.runs.get(number)
        require_decisions(contest, number)
        judged = current_judgement(contest, run)
        if judged is None:
            return NONE
        review = contest.store.reviews.latest().get(number)
        print_score(run, judged)
        print_standing(figures_of(contest, run, Clock().utc()))
    reviewed = {} if review is None else {"reviewed_utc": review.utc}
    return {"judged_utc": judged.judged_utc} | reviewed
