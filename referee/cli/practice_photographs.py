"""Takes one's own photographs for practice: a test set without ground truth in the folder of the contest."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from lpirc_score.tasks import BOXES
from lpirc_testsets import TestSet, load_test_set
from lpirc_testsets.folder import is_test_set
from lpirc_testsets.image_import import import_images
from lpirc_testsets.photographs import images_in
from referee.cli.testset_output import reporting
from referee.errors import RefereeError
from referee.presence import is_there

DEFAULT = "practice"
TESTSET = "testset"
MOST_SHOWN = 20  # broken images


def default_folder(images: Path | None, task: str = BOXES) -> Path:
    """Return the folder of a practice contest: one for each folder of photographs, and one for each task."""
    name = "" if task == BOXES else task
    if images is not None:
        name = images.resolve().name
    return Path(f"{DEFAULT}-{name}" if name else DEFAULT)


def taken_photographs(images: Path, folder: Path) -> Path:
    """Import the photographs below `images` into the contest's folder, unless they are there; return their test set.

    Says which files are left out. Raises TestSetError as `import_images` does, and RefereeError `contest-exists` if the
    folder has another test set, or photographs of other names.
    """
    if is_test_set(images):
        better = f"referee practice --testset {quote(str(images))}"
        sentence = f"{images} is a test set, no folder of photographs; write: {better}"
        raise RefereeError("bad-request", sentence)
    place = folder / TESTSET
    if is_there(place):
        _require_same(load_test_set(place), images, folder)
        return place
    click.echo(f"Taking the photographs of {images} into {place}", err=True)
    with reporting(MOST_SHOWN, as_json=False) as reports:
        import_images(images, place, reports=reports)
    for note in reports.notes:
        click.echo(note, err=True)
    return place


def _require_same(test_set: TestSet, images: Path, folder: Path) -> None:
    if test_set.objects or test_set.has_labels:
        raise RefereeError(
            "contest-exists",
            f"{folder} has a test set with ground truth, not photographs alone; choose another DIR.",
        )
    here = {one.file for one in test_set.images}
    found = {*images_in(images).images}
    if here == found:
        return
    other = min(here ^ found)
    where = "not there any more" if other in here else "new"
    raise RefereeError(
        "contest-exists",
        f"{folder} was made of other photographs: {images / other} is {where}; choose another DIR.",
    )
