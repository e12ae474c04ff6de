"""`referee testset import`."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from lpirc_testsets import (
    TestSet,
    import_coco,
    import_ilsvrc,
    import_labels,
    import_open_images,
    import_voc,
)
from referee.cli.shared_options import any_path, as_json
from referee.cli.testset_output import out_option, report, reporting, show_option

Importer = Callable[..., TestSet]
Command = Callable[..., None]


@click.group("import")
def import_group() -> None:
    """Import a data set: check it as a whole, copy its images byte for byte.

    After an interruption, the same command continues the import.
    """


def importer(make: Importer) -> Command:
    """A command that imports, shows progress and reports; it adds the options that all importers have."""

    @wraps(make)
    def execute(*, show: int, as_json: bool, **given: Any) -> None:
        try:
            with reporting(show, as_json=as_json) as reports:
                test_set = make(reports=reports, **given)
        except KeyboardInterrupt:
            click.echo("Interrupted: the same command goes on from here.", err=True)
            raise
        report(test_set, as_json=as_json)
        folder, named = given["images"], {image.file for image in test_set.images}
        paths = (
            Path(place, name) for place, _, names in os.walk(folder) for name in names
        )
        files = (path.relative_to(folder).as_posix() for path in paths)
        left_out = sum(file not in named for file in files)
        if left_out and not as_json:
            click.echo(
                f"{left_out} files of {folder} are left out: nothing names them."
            )

    images = click.option(
        "--images", type=any_path, required=True, help="The folder of images."
    )
    for option in (as_json, show_option, out_option, images):
        execute = option(execute)
    return execute


def path(
    name: str, words: str, *, required: bool = True
) -> Callable[[Command], Command]:
    """An option that names a file or folder."""
    return click.option(name, type=any_path, required=required, help=words)


@import_group.command("coco")
@path("--annotations", "The JSON file, as COCO's instances_*.json.")
@importer
def coco(**given: Any) -> TestSet:
    """Import a COCO JSON file; image numbers are the ranks of its image ids."""
    return import_coco(**given)


@import_group.command("voc")
@path("--annotations", "The folder of XML files.")
@path(
    "--categories",
    "One name a line, numbered from 1; default: sorted names.",
    required=False,
)
@importer
def voc(**given: Any) -> TestSet:
    """Import VOC annotations; images without one are left out."""
    return import_voc(**given)


@import_group.command("ilsvrc")
@path("--annotations", "The folder of XML files.")
@path("--synsets", "The kit's map_det.txt: lines WNID NUMBER NAME.", required=False)
@path("--list", "The images, in order: lines ID or ID NUMBER.", required=False)
@path(
    "--blacklist",
    "Images to leave out: lines NUMBER (as in --list) or ID.",
    required=False,
)
@path(
    "--categories",
    "Instead of --synsets: the WordNet ids, one a line, from 1.",
    required=False,
)
@importer
def ilsvrc(
    categories: Path | None,
    synsets: Path | None,
    list: Path | None,
    blacklist: Path | None,
    **given: Any,
) -> TestSet:
    """Import ILSVRC DET; without --list, images that have no annotation are left out.

    Example: referee testset import ilsvrc --annotations Annotations/DET/val --images Data/DET/val --synsets map_det.txt
    --list ImageSets/DET/val.txt --blacklist ILSVRC2015_det_validation_blacklist.txt --out sets/det
    """
    if (categories is None) == (synsets is None):
        raise click.UsageError("Give --synsets or --categories.")
    if (blacklist and not list) or (list and not synsets):
        raise click.UsageError("--blacklist needs --list, and --list needs --synsets.")
    if synsets is None:
        return import_voc(categories=categories, **given)
    return import_ilsvrc(synsets=synsets, image_list=list, blacklist=blacklist, **given)


@import_group.command("open-images")
@path("--boxes", "The *-annotations-bbox.csv.")
@path("--classes", "The class-descriptions-boxable.csv.")
@path(
    "--list", "The images: an id a line; default: all that have boxes.", required=False
)
@importer
def open_images(list: Path | None, **given: Any) -> TestSet:
    """Import Open Images; a group (IsGroupOf) becomes a crowd, and the hierarchy of classes is ignored."""
    return import_open_images(image_list=list, **given)


@import_group.command("labels")
@click.option(
    "--csv",
    "labels",
    type=any_path,
    required=True,
    help="CSV file,label; labels from 1 to 1000.",
)
@importer
def labels(**given: Any) -> TestSet:
    """Import images for classification; images without a label are left out."""
    return import_labels(**given)
