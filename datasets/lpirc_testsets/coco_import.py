"""Imports a data set annotated in COCO format: one JSON file and a folder of images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lpirc_testsets.coco_reader import parse_coco
from lpirc_testsets.coco_segmentations import read_segmentations
from lpirc_testsets.errors import Reports
from lpirc_testsets.file_bytes import read_text
from lpirc_testsets.folder import Category, TestSet
from lpirc_testsets.formats import FileOption, Format
from lpirc_testsets.ground_truth import GroundTruth
from lpirc_testsets.set_building import SourceImage, build_test_set, require_folder
from lpirc_testsets.writing import ObjectRecord


def import_coco(
    annotations: Path,
    images: Path,
    out: Path,
    reports: Reports | None = None,
) -> TestSet:
    """Import a COCO JSON file and its images into the new folder `out`.

    Image numbers are the ranks of the ascending source ids; category ids and names, file names and the bytes of the
    images stay as they are, and so do polygons and run lengths in `segmentation`. Images without annotations belong to
    the set.

    Raises TestSetError: `import-missing` (no folder of images), `ground-truth-missing` and `ground-truth-unreadable`
    for the JSON, `import-invalid` with all problems found (20 at most), `testset-exists`, `testset-not-written`.
    """
    require_folder(images)
    reports = reports or Reports()
    problems = reports.problems
    text = read_text(annotations)
    document = parse_coco(annotations, problems, text=text)
    truth = document.ground_truth
    sources = []
    for id_, file in zip(truth.image_ids.tolist(), truth.image_names, strict=True):
        if not file:
            problems.add(f"{annotations}: image {id_} has no file_name")
        size = document.sizes.get(id_)
        sources.append(
            SourceImage(
                images / file,
                file,
                size,
                source_id=str(id_),
                origin=annotations,
            )
        )
    categories = [
        Category(*each)
        for each in zip(truth.category_ids.tolist(), truth.category_names, strict=True)
    ]
    return build_test_set(
        out,
        sources,
        categories,
        object_records(truth, _segmentations(text, truth)),
        reports,
    )


FORMAT = Format(
    import_coco,
    "Import a COCO JSON file; image numbers are the ranks of its image ids.",
    (FileOption("annotations", "The JSON file, as COCO's instances_*.json."),),
)


def _segmentations(text: str, truth: GroundTruth) -> list[bytes | None] | None:
    """Return each object's, or None if some objects were left out for their problems."""
    found = read_segmentations(text)
    return found if len(found) == len(truth.image) else None


def object_records(
    truth: GroundTruth,
    segmentations: Sequence[bytes | None] | None = None,
) -> list[ObjectRecord]:
    """Return the objects, with the rank (from 1) of their image as its number.

    `segmentations` are JSON, one for each object; None: they have none.
    """
    numbers = np.searchsorted(truth.image_ids, truth.image) + 1
    columns = (
        numbers,
        truth.category,
        truth.coco_boxes,
        truth.area,
        truth.crowd,
        truth.difficult,
    )
    records = []
    rows = zip(*(column.tolist() for column in columns), strict=True)
    masks = segmentations or [None] * len(truth.image)
    for row, mask in zip(rows, masks, strict=True):
        number, category, box, area, crowd, difficult = row
        x, y, width, height = box
        record = ObjectRecord(
            number,
            category,
            (x, y, width, height),
            area,
            crowd,
            difficult,
            mask,
        )
        records.append(record)
    return records
