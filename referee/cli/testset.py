"""`referee testset`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click

from lpirc_testsets import (
    TestSet,
    TestSetError,
    check,
    import_coco,
    import_labels,
    import_voc,
    read_ground_truth,
    read_labels,
    synthesize,
)
from referee.cli.options import as_json

folder_path = click.Path(path_type=Path)
out_option = click.option("--out", type=folder_path, required=True, help="The new test-set folder.")
images_option = click.option("--images", type=folder_path, required=True, help="The folder of images.")


@click.group()
def testset() -> None:
    """Make, import and check test sets."""


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
    _report(synthesize(out, images, categories, seed, (width, height)), as_json=as_json)


@testset.group("import")
def import_group() -> None:
    """Import a data set: check it as a whole, copy its images byte for byte."""


@import_group.command("coco")
@click.option(
    "--annotations", type=folder_path, required=True, help="The JSON file, as COCO's instances_*.json."
)
@images_option
@out_option
@as_json
def coco_command(annotations: Path, images: Path, out: Path, *, as_json: bool) -> None:
    """Import a COCO JSON file; image numbers are the ranks of its image ids."""
    _report(_imported(import_coco, annotations, images, out, as_json=as_json), as_json=as_json)


@import_group.command("voc")
@click.option("--annotations", type=folder_path, required=True, help="The folder of XML files.")
@images_option
@out_option
@click.option(
    "--categories", type=folder_path, help="One name a line, numbered from 1; default: sorted names."
)
@as_json
def voc_command(
    annotations: Path, images: Path, out: Path, categories: Path | None, *, as_json: bool
) -> None:
    """Import VOC annotations; images without one are left out."""
    _report(_imported(import_voc, annotations, images, out, categories, as_json=as_json), as_json=as_json)


@import_group.command("ilsvrc")
@click.option("--annotations", type=folder_path, required=True, help="The folder of XML files.")
@images_option
@out_option
@click.option("--categories", type=folder_path, required=True, help="The WordNet ids, one a line, from 1.")
@as_json
def ilsvrc_command(annotations: Path, images: Path, out: Path, categories: Path, *, as_json: bool) -> None:
    """Import ILSVRC DET annotations, which have VOC's format; images without one are left out."""
    _report(_imported(import_voc, annotations, images, out, categories, as_json=as_json), as_json=as_json)


@import_group.command("labels")
@click.option(
    "--csv", "csv_file", type=folder_path, required=True, help="CSV file,label; labels from 1 to 1000."
)
@images_option
@out_option
@as_json
def labels_command(csv_file: Path, images: Path, out: Path, *, as_json: bool) -> None:
    """Import images for classification; images without a label are left out."""
    test_set = _imported(import_labels, csv_file, images, out, as_json=as_json)
    facts = _facts(test_set) | {"labels": len(set(read_labels(test_set).by_image.tolist()))}
    if as_json:
        click.echo(json.dumps(facts))
        return
    what = f"{facts['images']} images of {facts['labels']} labels"
    click.echo(f"{test_set.folder}: {what}, digest {test_set.digest}")
    left_out = sum(path.is_file() for path in images.iterdir()) - len(test_set.images)
    if left_out > 0:
        click.echo(f"{left_out} files of {images} are left out: {csv_file} does not name them.")


@testset.command("check")
@click.argument("folder", type=folder_path)
@as_json
def check_command(folder: Path, *, as_json: bool) -> None:
    """List every problem of the test set in FOLDER."""
    problems = check(folder)
    if as_json:
        click.echo(json.dumps({"folder": str(folder), "problems": problems}))
    elif problems:
        click.echo("\n".join(problems))
    else:
        click.echo(f"{folder}: nothing wrong")
    if problems:
        raise TestSetError("testset-problems", f"{folder}: problems found: {len(problems)}", problems)


def _imported(make: Callable[..., TestSet], *arguments: Path | None, as_json: bool) -> TestSet:
    """Import a test set; print every problem of a refused one."""
    try:
        return make(*arguments)
    except TestSetError as error:
        if as_json:
            click.echo(json.dumps({"code": error.code, "problems": error.problems or [error.sentence]}))
        elif len(error.problems) > 1:  # of one the error itself tells
            click.echo("\n".join(error.problems))
        raise


def _facts(test_set: TestSet) -> dict[str, object]:
    return {
        "folder": str(test_set.folder),
        "name": test_set.name,
        "images": len(test_set.images),
        "categories": len(test_set.categories),
        "objects": test_set.objects,
        "digest": test_set.digest,
    }


def _report(test_set: TestSet, *, as_json: bool) -> None:
    truth = read_ground_truth(test_set.folder)
    facts = _facts(test_set) | {"categories_with_objects": len(set(truth.category.tolist()))}
    if as_json:
        click.echo(json.dumps(facts))
        return
    click.echo(
        f"{test_set.folder}: {facts['images']} images, {facts['objects']} objects in "
        f"{facts['categories_with_objects']} of {facts['categories']} categories, digest {test_set.digest}"
    )
