"""`referee report`: a page about a run, for its team to keep."""

from __future__ import annotations

from pathlib import Path

import click

from referee.cli.output_paths import results_folder
from referee.cli.shared_options import any_path, contest_folder, run_number
from referee.contest import Contest, open_contest
from referee.errors import RefereeError
from referee.judging.client_timeline import (
    MOST_BYTES,
    ClientTimeline,
    read_timeline,
)
from referee.judging.freeze import Freeze
from referee.judging.jury_decisions import unpublished
from referee.judging.kept_timelines import kept_timeline
from referee.store.records import OVER

WHILE_FROZEN = (
    "The board is frozen: this report shows a result that the board may hide, and no other team; hand it out after the "
    "unveiling, written again then."
)


@click.command()
@click.argument("numbers", metavar="[RUN]...", type=run_number, nargs=-1)
@click.option(
    "--all", "all_runs", is_flag=True, help="Write a report of every closed run."
)
@click.option(
    "--pdf",
    is_flag=True,
    help="Also write a PDF, printed by an installed Chromium or Chrome.",
)
@click.option(
    "--replay",
    is_flag=True,
    help="Write it with the replay of the run, as run-N-replay.html, some megabytes larger.",
)
@click.option(
    "--for-team",
    is_flag=True,
    help="Leave out what tells of the ground truth, as run-N-team.html: for a team that may run again.",
)
@click.option(
    "--timeline",
    type=any_path,
    metavar="FILE",
    help="What `lpirc-client run --timeline FILE` wrote, for the cost of each image by kind; default: what was "
    "uploaded on the page of the run.",
)
@click.option(
    "--out",
    type=results_folder,
    help="The folder for the reports; default: `reports` in the contest folder.",
)
@contest_folder
def report(
    numbers: tuple[int, ...],
    folder: Path,
    out: Path | None,
    timeline: Path | None,
    *,
    all_runs: bool,
    pdf: bool,
    replay: bool,
    for_team: bool,
) -> None:
    """Write the report of a run as one HTML file: result, checks, power, curves, and what each error cost."""
    from referee.report import (
        FOLDER_NAME,
        find_browser,
        print_pdf,
        write_report,
    )  # takes half a second

    if all_runs == bool(numbers):
        raise click.UsageError("Give either RUN or --all.")
    if replay and for_team:
        raise click.UsageError("--replay shows the images; leave out --for-team.")
    of_client = _read(timeline, numbers)
    if pdf:
        find_browser()
    with open_contest(folder, as_served=True) as contest:
        warn_while_frozen(contest)
        warn_of_unpublished(contest)
        if all_runs:
            numbers = tuple(
                run.id for run in contest.store.runs.find() if run.state in OVER
            )
        place = out or folder / FOLDER_NAME
        for number in numbers:
            known = of_client or kept_timeline(folder, number)
            if pdf or not replay:
                page = write_report(
                    contest, number, place, timeline=known, for_team=for_team
                )
                click.echo(page)
            if pdf:
                click.echo(print_pdf(page))
            if replay:
                page = write_report(
                    contest, number, place, with_replay=True, timeline=known
                )
                click.echo(page)
                size_mb = page.stat().st_size / 1e6
                click.echo(f"{page.name} has {size_mb:.1f} MB.", err=True)
    if not numbers:
        click.echo("No run is closed yet.", err=True)


def _read(timeline: Path | None, numbers: tuple[int, ...]) -> ClientTimeline | None:
    """Read the timeline file of one run, of which nothing is trusted. Raises RefereeError `bad-timeline`."""
    if timeline is None:
        return None
    if len(numbers) != 1:
        raise click.UsageError("--timeline belongs to one RUN; give exactly one.")
    if not timeline.is_file():
        raise RefereeError("bad-timeline", f"{timeline} is not a file.")
    with timeline.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    try:
        return read_timeline(content)
    except RefereeError as error:
        raise RefereeError(error.code, f"{timeline}: {error.sentence}") from error


def warn_while_frozen(contest: Contest, sentence: str = WHILE_FROZEN) -> None:
    """Print a warning on stderr that the output shows more than the frozen board."""
    if Freeze(contest.store.published.get()).is_on:
        click.echo(sentence, err=True)


def warn_of_unpublished(contest: Contest) -> None:
    """Print a warning on stderr if the output may show judgements that the jury has not published."""
    if waiting := unpublished(contest):
        runs = ", ".join(map(str, sorted(waiting)))
        click.echo(
            f"The jury has not published run {runs} yet: hand out what shows it afterwards.",
            err=True,
        )
