"""Imports a folder of photographs without ground truth: a run with them has energy and timing only."""

from __future__ import annotations

from lpirc_testsets.coco_names import COCO_NAMES
from lpirc_testsets.errors import Reports
from lpirc_testsets.file_bytes import Name, path_of
from lpirc_testsets.folder import Category, TestSet
from lpirc_testsets.formats import FileOption, Format
from lpirc_testsets.name_list import read_names
from lpirc_testsets.photographs import images_in, left_out
from lpirc_testsets.set_building import SourceImage, build_test_set
from lpirc_testsets.truth_marks import NO_TRUTH, NO_TRUTH_SENTENCE


def import_images(
    images: Name,
    out: Name,
    categories: Name | None = None,
    reports: Reports | None = None,
) -> TestSet:
    """Import the JPEG images below the folder `images`, by ascending name, into the new folder `out`.

    `categories` is a file with the names of the categories that clients may report, one a line, numbered from 1;
    without it they are the 80 of COCO with their ids. Other files are left out and named in `reports.notes`.

    Raises TestSetError: `import-missing` (no such folder, or no JPEG image in it), `import-invalid` with all problems
    found (20 at most), `testset-exists`, `testset-not-written`, and those of the file of names.
    """
    reports = reports or Reports()
    images = path_of(images)
    found = images_in(images)
    sources = [
        SourceImage(
            images / file,
            file,
            None,
            file,
            origin=images,
        )
        for file in found.images
    ]
    names = COCO_NAMES
    if categories is not None:
        listed = read_names(path_of(categories), reports.problems)
        names = dict(enumerate(listed, start=1))
    made = build_test_set(
        path_of(out),
        sources,
        [Category(id_, name) for id_, name in names.items()],
        (),
        reports,
        info=NO_TRUTH,
    )
    reports.notes.extend(left_out(images, found.others, "they are not JPEG"))
    reports.notes.append(NO_TRUTH_SENTENCE)
    return made


FORMAT = Format(
    import_images,
    "Import photographs alone: energy and timing only.",
    (
        FileOption(
            "categories",
            "File with the names of the categories that clients may report, one a line; default: COCO's 80.",
            required=False,
        ),
    ),
)
