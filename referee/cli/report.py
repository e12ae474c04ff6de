"""`referee report`: a run as a page that its team takes home."""

from __future__ import annotations

from pathlib import Path

import click

from referee.cli.options import contest_folder, run_number
from referee.contest import open_contest
from referee.store.records import OVER


@click.command()
@click.argument("number", metavar="[RUN]", type=run_number, required=False)
@click.option("--all", "all_runs", is_flag=True, help="Of every run that is over.")
@click.option("--pdf", is_flag=True, help="Also as PDF, printed by an installed Chromium or Chrome.")
@click.option("--out", type=click.Path(path_type=Path), help="The folder; default: reports in the contest's.")
@contest_folder
def report(number: int | None, folder: Path, out: Path | None, *, all_runs: bool, pdf: bool) -> None:
    """Write the report of a run as one HTML file: result, checks, power, curves, and what each error cost."""
    from referee.report import FOLDER_NAME, find_browser, print_pdf, write_report  # takes half a second

    if (number is None) != all_runs:
        raise click.UsageError("Give either RUN or --all.")
    if pdf:
        find_browser()
    with open_contest(folder) as contest:
        numbers = (
            [run.id for run in contest.store.runs() if run.state in OVER] if number is None else [number]
        )
        for one in numbers:
            page = write_report(contest, one, out or folder / FOLDER_NAME)
            for path in (page, *([print_pdf(page)] if pdf else [])):
                click.echo(path)
    if not numbers:
        click.echo("No run is over yet.", err=True)
