"""`referee testset`: `synthesize` and `check`; the other commands have a file each."""

from __future__ import annotations

from pathlib import Path

import click

from lpirc_testsets import Problems, TestSetError, check, synthesize
from referee.cli.options import any_path, as_json
from referee.cli.testset_import import import_group
from referee.cli.testset_output import out_option, print_problems, report, show_option
from referee.cli.testset_select import split_command, subset_command
from referee.cli.testset_stats import power_command, sheet_command, stats_command


@click.group()
def testset() -> None:
    """Make, import, check, divide and describe test sets."""


for command in (import_group, split_command, subset_command, stats_command, sheet_command, power_command):
    testset.add_command(command)


@testset.command("synthesize")
@click.option("--images", type=click.IntRange(1), default=200, show_default=True, help="How many images.")
@click.option(
    "--categories", type=click.IntRange(1), default=10, show_default=True, help="How many categories."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same bytes.")
@click.option("--width", type=int, default=320, show_default=True, help="Pixels.")
@click.option("--height", type=int, default=240, show_default=True, help="Pixels.")
@out_option
@as_json
def synthesize_command(
    images: int, categories: int, seed: int, width: int, height: int, out: Path, *, as_json: bool
) -> None:
    """Make a set of synthetic photographs with exact boxes."""
    report(synthesize(out, images, categories, seed, (width, height)), as_json=as_json)


@testset.command("check")
@click.argument("folder", type=any_path)
@show_option
@as_json
def check_command(folder: Path, show: int, *, as_json: bool) -> None:
    """List the problems of the test set in FOLDER, and how often each kind occurs."""
    problems = Problems(limit=show)
    check(folder, problems)
    if problems.count or as_json:
        print_problems(problems, as_json=as_json, folder=str(folder))
    else:
        click.echo(f"{folder}: nothing wrong")
    if problems.count:
        raise TestSetError("testset-problems", f"{folder}: problems found: {problems.count}", problems.kept)
