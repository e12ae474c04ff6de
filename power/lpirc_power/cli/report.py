"""`meter report`: one page about a recording, a series of attempts, or several meters."""

from __future__ import annotations

from pathlib import Path

import click

from lpirc_power.cli.boundary import StatedFailure
from lpirc_power.cli.options import OutputFile
from lpirc_power.cli.page_file import beside, write_page
from lpirc_power.cli.recording_file import RecordingFile
from lpirc_power.cli.stated_options import stated_options
from lpirc_power.measurement_files.any_measurement import Stated, read_any
from lpirc_power.page.measurement_page import measurement_page
from lpirc_power.report.check_report import nothing_counts


@click.command(short_help="Write one HTML page about a recording.")
@click.argument("file", type=RecordingFile())
@click.option(
    "-o",
    "--output",
    type=OutputFile(),
    metavar="PAGE",
    help="The page to write; default: FILE with the ending .html.",
)
@click.option(
    "--force", is_flag=True, help="Overwrite PAGE if it exists and is a page."
)
@click.option(
    "--title",
    default="",
    metavar="TEXT",
    help="The heading of the page; default: the name of FILE.",
)
@stated_options
def report(
    file: Path, output: Path | None, force: bool, title: str, stated: Stated
) -> None:
    """Write one HTML page about the recording in FILE.

    \b
      meter report run.csv
      meter report series.json -o series.html
      meter report old.csv --model WT310E --voltage-range 150 --current-range 0.5

    The page shows power and energy over time, the marks with their energies, the checks, the uncertainty budget, and
    how it was measured. It is one file without a script and needs no network; it can be printed. FILE is what `meter
    check` takes.

    The exit code is 1, with one sentence on stderr, if no attempt of a series or none of several meters counts.
    """  # noqa: D301  click wants the character itself
    page = output or beside(file, ".html")
    found = read_any(file, stated)
    write_page(page, measurement_page(found, title), force=force)
    click.echo(str(page))
    if nothing := nothing_counts(found):
        raise StatedFailure(f"{nothing} The page says why.")
