"""`referee run export`: a run's records as files for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from referee.cli.options import contest_folder, run_number
from referee.contest import open_contest
from referee.judging.export import FORMATS, export_run


@click.command()
@click.argument("number", metavar="RUN", type=run_number)
@click.option("--out", type=click.Path(path_type=Path), help="The folder to write to; default: run-RUN.")
@click.option(
    "--format",
    "form",
    type=click.Choice((*FORMATS, "all")),
    default="csv",
    show_default=True,
    help="Of the detections; readings and events are written as well.",
)
@contest_folder
def export(number: int, out: Path | None, form: str, folder: Path) -> None:
    """Write what RUN's team sent, with its image numbers and the test set's own, and what was recorded beside it."""
    formats = tuple(FORMATS) if form == "all" else (form,)
    with open_contest(folder) as contest:
        for file in export_run(contest, number, out or Path(f"run-{number}"), formats):
            click.echo(f"{file}  {file.stat().st_size} bytes")
