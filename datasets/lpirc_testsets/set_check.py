"""Finds everything that is wrong with a test-set folder."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from lpirc_testsets.box_corners import leaving
from lpirc_testsets.class_labels import label_problems
from lpirc_testsets.coco_reader import CocoDocument, parse_coco
from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.file_bytes import file_bytes, read_text
from lpirc_testsets.folder import IMAGES, MANIFEST, TestSet, read_manifest, verify
from lpirc_testsets.mark_check import check_marks
from lpirc_testsets.presence import files_below
from lpirc_testsets.set_building import jpeg_size

IMPORT_AGAIN = (
    "copy the file again from where the set was made, or import the set again"
)


def check(folder: Path, problems: Problems | None = None) -> tuple[str, ...]:
    """List every problem of a test-set folder, one sentence each; none if it is fit for a contest.

    Besides the findings of `folder.verify`, problems are: images that are not JPEG or do not have the stated size, the
    same image twice, files that the manifest does not list, a ground truth that contradicts the manifest, boxes that
    are inverted, leave their image or have an unknown category, masks that lie about their size or overlap in a label
    map, an image with two classes or none, and errors in `labels.csv`, if it exists.

    Raises TestSetError `testset-missing`, `testset-not-a-testset` or `testset-damaged` if the manifest cannot be read.
    """
    test_set = read_manifest(folder)
    problems = problems or Problems(limit=None)
    problems.add(*verify(test_set), remedy=IMPORT_AGAIN)
    _check_images(test_set, problems)
    _check_extra_files(test_set, problems)
    _check_ground_truth(test_set, problems)
    problems.add(*label_problems(test_set))
    return problems.kept


def _check_images(test_set: TestSet, problems: Problems) -> None:
    first_with: dict[str, str] = {}
    for image in test_set.images:
        path = test_set.folder / IMAGES / image.file
        twin = first_with.setdefault(image.sha256, image.file)
        if twin != image.file:
            problems.add(
                f"{path}: it is the same image as {twin}",
                remedy="leave one of them out",
            )
        try:
            size = jpeg_size(file_bytes(path))
        except OSError:
            continue  # verify() has said so
        except ValueError as error:
            problems.add(f"{path}: {error}", remedy=IMPORT_AGAIN)
            continue
        if size != (image.width, image.height):
            stated = f"{image.width} x {image.height}"
            problems.add(
                f"{path}: is {size[0]} x {size[1]} pixels, the manifest says {stated}",
                remedy=IMPORT_AGAIN,
            )


def _check_extra_files(test_set: TestSet, problems: Problems) -> None:
    expected = {test_set.folder / IMAGES / image.file for image in test_set.images}
    expected |= {
        test_set.folder / MANIFEST,
        test_set.ground_truth_path,
        test_set.labels_path,
    }
    try:
        found = files_below(test_set.folder)
    except OSError as error:
        problems.add(
            f"{error.filename}: {error.strerror}",
            remedy="give this user the right to list the folder",
        )
        return
    for path in found:
        if path not in expected:
            problems.add(
                f"{path}: the manifest does not list this file",
                remedy="remove it from the folder",
            )


def _check_ground_truth(test_set: TestSet, problems: Problems) -> None:
    path = test_set.ground_truth_path
    if not os.path.isfile(path):  # noqa: PTH113 - the same on every Python
        return  # verify() has said so
    try:
        text = read_text(path)
        has_boxes = check_marks(test_set, text, problems)
        document = parse_coco(path, problems, without_objects=not has_boxes, text=text)
    except TestSetError as error:
        problems.add(error.sentence)
        return
    truth = document.ground_truth
    stated = [(category.id, category.name) for category in test_set.categories]
    if stated != list(
        zip(truth.category_ids.tolist(), truth.category_names, strict=True)
    ):
        problems.add(f"{path}: its categories are not those of the manifest")
    _check_image_entries(test_set, document, problems)
    if not has_boxes:
        return
    if len(truth.image) != test_set.objects:
        problems.add(
            f"{path}: {len(truth.image)} objects, the manifest says {test_set.objects}"
        )
    _check_boxes(test_set, document, problems)


def _check_image_entries(
    test_set: TestSet,
    document: CocoDocument,
    problems: Problems,
) -> None:
    truth = document.ground_truth
    path = test_set.ground_truth_path
    entries = dict(zip(truth.image_ids.tolist(), truth.image_names, strict=True))
    for image in test_set.images:
        number = image.number
        size = (image.width, image.height)
        if number not in entries:
            problems.add(f"{path}: image {number} ({image.file}) is not in it")
        elif (entries[number], document.sizes.get(number)) != (image.file, size):
            problems.add(
                f"{path}: image {number} has another name or size than in the manifest"
            )
    for unknown in sorted(entries.keys() - {image.number for image in test_set.images}):
        problems.add(f"{path}: image {unknown} is not in the manifest")


def _check_boxes(
    test_set: TestSet,
    document: CocoDocument,
    problems: Problems,
) -> None:
    truth = document.ground_truth
    size_of = {image.number: (image.width, image.height) for image in test_set.images}
    unknown = (np.inf, np.inf)  # already a problem of its own
    sizes = np.array(
        [size_of.get(number, unknown) for number in truth.image.tolist()],
        dtype=np.float64,
    )
    for index, box in leaving(truth.boxes, sizes.reshape(-1, 2), truth.image):
        number = int(truth.image[index])
        width, height = size_of.get(number, unknown)
        problems.add(
            f"{test_set.ground_truth_path}: {box} {number} of {width} x {height} pixels"
        )
