"""`referee testset stats`, `sheet` and `power`."""

from __future__ import annotations

import io
import json
import math
from operator import itemgetter
from pathlib import Path

import click

from lpirc_score.analysis.sample_size import difference_sd, gap_found, images_needed
from lpirc_score.cli.number_type import Number
from lpirc_score.cli.terminal_tables import Column, print_table
from lpirc_score.detections.files import read_detections
from lpirc_score.files.atomic_write import write_atomically
from lpirc_testsets import load_test_set, read_ground_truth
from lpirc_testsets.selection import subset
from lpirc_testsets.stats import contact_sheet, statistics
from lpirc_testsets.truth_records import truth_of
from referee.cli.number_types import WholeNumber
from referee.cli.output_paths import output_path
from referee.cli.shared_options import any_path, as_json


@click.command("stats")
@click.argument("folder", type=any_path)
@as_json
def stats_command(folder: Path, *, as_json: bool) -> None:
    """Count and measure images and objects of the test set in FOLDER.

    Example: referee testset stats sets/voc2012
    """
    test_set = load_test_set(folder)
    facts = statistics(test_set, truth_of(test_set))
    if as_json:
        click.echo(json.dumps(facts))
        return
    for name, value in facts.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {number:g}" for key, number in value.items())
        if not isinstance(value, list):
            click.echo(f"{name.replace('_', ' ')}: {value}")
    names = ("id", "name", "objects", "images")
    values_of = itemgetter(*names)
    rows = [[*map(str, values_of(one))] for one in facts["categories"]]
    print_table([Column(name, is_figure=name != "name") for name in names], rows, "")
    for warning in facts["warnings"]:
        click.echo(f"warning: {warning}", err=True)


@click.command("sheet")
@click.argument("folder", type=any_path)
@click.option(
    "--out",
    type=output_path,
    required=True,
    help="File for the picture, such as sheet.jpg or sheet.png",
)
@click.option(
    "--images",
    type=WholeNumber(1, 400),
    default=30,
    show_default=True,
    help="Maximum number of images.",
)
def sheet_command(folder: Path, out: Path, images: int) -> None:
    """Draw images of the test set in FOLDER with their boxes and names in a grid.

    Example: referee testset sheet sets/voc2012 --out sheet.jpg
    """
    if out.suffix.lower() not in (".jpg", ".png"):
        raise click.UsageError(f"--out {str(out)!r} is not a .jpg or .png.")
    test_set = load_test_set(folder)
    picture = io.BytesIO()
    numbers = [
        row + 1
        for row in subset(test_set, min(images, len(test_set.images)), (), (), seed=0)
    ]
    sheet = contact_sheet(test_set, truth_of(test_set), numbers)
    sheet.save(picture, "PNG" if out.suffix.lower() == ".png" else "JPEG")
    write_atomically(out, picture.getvalue())
    click.echo(f"{out}: {len(numbers)} of {len(test_set.images)} images")


@click.command("power")
@click.argument("folder", type=any_path)
@click.option(
    "--detections",
    type=any_path,
    multiple=True,
    required=True,
    help="File of detections, of one entry or of two.",
)
@click.option(
    "--gap",
    type=Number(1e-6, 1),
    default=0.005,
    show_default=True,
    help="Difference of the mAPs that is to be detected.",
)
@click.option(
    "--power",
    type=Number(0.5, 0.999),
    default=0.8,
    show_default=True,
    help="Probability of detecting that difference.",
)
@as_json
def power_command(
    folder: Path,
    detections: tuple[Path, ...],
    gap: float,
    power: float,
    *,
    as_json: bool,
) -> None:
    """Estimate how many images like those of FOLDER it takes to tell two entries apart.

    Example: referee testset power sets/voc2012 --gap 0.005 --detections a.csv --detections b.csv
    """
    if len(detections) > 2:
        raise click.UsageError("Give --detections once or twice.")
    if math.isnan(gap) or math.isnan(power):
        raise click.UsageError("--gap and --power must be numbers, not nan.")
    truth = read_ground_truth(folder)
    read = [read_detections(file, truth) for file in detections]
    sd = difference_sd(truth, read)
    images = len(truth.image_ids)
    facts = {
        "images": images,
        "sd_of_difference": sd,
        "power": power,
        "gap": gap,
        "images_needed": images_needed(sd, images, gap, power),
        "gap_of_this_set": gap_found(sd, power),
        "model": "two entries" if len(read) > 1 else "independent errors",
    }
    if as_json:
        click.echo(json.dumps(facts))
        return
    needed = facts["images_needed"]
    click.echo(
        f"{needed} images show a difference of {gap:g} in mAP with {power:.1%} probability (at 95 %)."
    )
    click.echo(f"The {images} images of {folder}: {facts['gap_of_this_set']:.4f}.")
    if len(read) == 1:
        click.echo(
            "This assumes two entries whose errors are independent; the errors of real entries are related, so they "
            "need fewer images."
        )
