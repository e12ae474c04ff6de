"""`referee testset synthesize|check|split|subset`, and the group that has all `testset` commands."""

from __future__ import annotations

from pathlib import Path

import click

from lpirc_testsets import Problems, TestSetError, check, load_test_set, synthesize
from lpirc_testsets.file_bytes import read_text
from lpirc_testsets.selection import split, subset, write_selection
from lpirc_testsets.synthetic_truth import TASKS
from lpirc_testsets.writing import require_new
from referee.cli.number_types import WholeNumber
from referee.cli.output_paths import folder_to_make
from referee.cli.shared_options import any_path, as_json
from referee.cli.testset_import import import_group
from referee.cli.testset_output import (
    out_option,
    print_problems,
    report,
    reporting,
    seed_option,
    show_option,
)
from referee.cli.testset_stats import power_command, sheet_command, stats_command

PERCENT = 100


@click.group()
def testset() -> None:
    """Make, import, check, divide and describe test sets."""


for command in (import_group, stats_command, sheet_command, power_command):
    testset.add_command(command)


@testset.command("synthesize")
@click.option(
    "--images",
    type=WholeNumber(1),
    default=200,
    show_default=True,
    help="How many images.",
)
@click.option(
    "--categories",
    type=WholeNumber(1),
    default=10,
    show_default=True,
    help="How many categories.",
)
@click.option(
    "--seed",
    type=WholeNumber(0),
    default=0,
    show_default=True,
    help="Same seed, same bytes.",
)
@click.option(
    "--task",
    type=click.Choice([*TASKS]),
    default="boxes",
    show_default=True,
    help="What the ground truth is for: boxes, masks of objects, label maps, or a class for each image.",
)
@click.option(
    "--width", type=WholeNumber(), default=320, show_default=True, help="Pixels."
)
@click.option(
    "--height", type=WholeNumber(), default=240, show_default=True, help="Pixels."
)
@out_option
@as_json
def synthesize_command(
    images: int,
    categories: int,
    seed: int,
    task: str,
    width: int,
    height: int,
    out: Path,
    *,
    as_json: bool,
) -> None:
    """Make a set of synthetic photographs with exact ground truth."""
    made = synthesize(
        out,
        images,
        categories,
        seed,
        (width, height),
        task,
    )
    report(made, as_json=as_json)


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
        raise TestSetError(
            "testset-problems",
            f"{folder}: problems found: {problems.count}",
            problems.kept,
        )


@testset.command("split")
@click.argument("folder", type=any_path)
@click.option("--parts", required=True, help="Their shares: 80,20")
@seed_option
@click.option(
    "--out",
    type=folder_to_make,
    required=True,
    help="The new folders are OUT-1, OUT-2, ...",
)
@show_option
@as_json
def split_command(
    folder: Path, parts: str, seed: int, out: Path, show: int, *, as_json: bool
) -> None:
    """Divide a test set into parts with the same share of each category, and copy their images.

    Example: referee testset split sets/all --parts 80,20 --out sets/part
    """
    words = parts.split(",")
    are_shares = [
        word.isascii() and word.isdigit() and 0 < int(word) < 10**6 for word in words
    ]
    if len(words) < 2 or not all(are_shares):
        raise click.UsageError(
            f"--parts {parts!r} is not two or more whole numbers above 0, such as 80,20."
        )
    shares = [int(word) for word in words]
    if sum(shares) != PERCENT:
        taken = ", ".join(f"{PERCENT * one / sum(shares):.4g} %" for one in shares)
        note = f"--parts {parts} add up to {sum(shares)}, so the parts have {taken}."
        click.echo(f"referee: note: {note}", err=True)
    test_set = load_test_set(folder)
    outs = [
        out.with_name(f"{out.name}-{number}") for number in range(1, len(words) + 1)
    ]
    for one in outs:
        require_new(one)
    for one, rows in zip(outs, split(test_set, shares, seed), strict=True):
        with reporting(show, as_json=as_json) as reports:
            made = write_selection(test_set, rows, one, reports)
        report(made, as_json=as_json)


@testset.command("subset")
@click.argument("folder", type=any_path)
@click.option(
    "--images",
    type=WholeNumber(1),
    help="Number of images to choose, with the same share of each category.",
)
@click.option(
    "--list",
    "file",
    type=any_path,
    help="File with the images to choose: one file name or source id per line.",
)
@click.option(
    "--categories",
    default="",
    help="Only these categories, and images with at least one of their objects: cat,dog",
)
@seed_option
@out_option
@show_option
@as_json
def subset_command(
    folder: Path,
    images: int | None,
    file: Path | None,
    categories: str,
    seed: int,
    out: Path,
    show: int,
    *,
    as_json: bool,
) -> None:
    """Copy some images of a test set with their objects into a set of their own.

    Example: referee testset subset sets/all --images 500 --out sets/small
    """
    only = (
        [line.strip() for line in read_text(file).splitlines() if line.strip()]
        if file
        else []
    )
    wanted = [name.strip() for name in categories.split(",") if name.strip()]
    if not (images or only or wanted):
        raise click.UsageError("Give --images, --list or --categories.")
    test_set = load_test_set(folder)
    rows = subset(test_set, images, only, wanted, seed)
    with reporting(show, as_json=as_json) as reports:
        made = write_selection(test_set, rows, out, reports, wanted)
    report(made, as_json=as_json)
