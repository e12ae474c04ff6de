"""The ground truth of a set of any kind: as records for a part of the set, and as boxes to count and to draw."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from lpirc_testsets.class_labels import read_labels
from lpirc_testsets.coco_import import object_records
from lpirc_testsets.coco_segmentations import read_segmentations
from lpirc_testsets.errors import TestSetError
from lpirc_testsets.file_bytes import file_bytes, read_text
from lpirc_testsets.folder import TestSet
from lpirc_testsets.ground_truth import GroundTruth, Row
from lpirc_testsets.ground_truth_reader import read_ground_truth
from lpirc_testsets.run_lengths import area, bounds
from lpirc_testsets.segmentations import counts_of_checked
from lpirc_testsets.truth_marks import NONCE, Mark, Marks, read_marks, sizes_of
from lpirc_testsets.writing import ClassRecord, Record, RegionRecord


def kind_of(test_set: TestSet) -> str:
    """Return what a set has: `labels`, `boxes`, with masks or without, another of `Marks.has`, or `nothing`.

    Raises TestSetError as `read_marks` does.
    """
    if test_set.has_labels:
        return "labels"
    marks = _other_marks(test_set)
    return "boxes" if marks is None else marks.has


def truth_of(test_set: TestSet) -> GroundTruth:
    """Return the objects of a set.

    A label or a class is an object as large as its image; a region of a label map is one with the box around it. A set
    without ground truth has none. Raises TestSetError as `read_ground_truth`, `read_labels` and `read_marks` do.
    """
    if test_set.has_labels:
        return _labelled(test_set)
    marks = _other_marks(test_set)
    if marks is None:
        return read_ground_truth(test_set.folder)
    sizes = sizes_of(test_set)
    return GroundTruth.of_corners(
        {one.number: one.file for one in test_set.images},
        {one.id: one.name for one in marks.categories},
        [_row(mark, sizes[mark.image]) for mark in marks.marks],
    )


def records_of(test_set: TestSet) -> list[Record]:
    """Return the ground truth of a set without labels, to write it again. Raises TestSetError as `truth_of` does."""
    marks = _other_marks(test_set)
    if marks is None:
        truth = read_ground_truth(test_set.folder)
        text = read_text(test_set.ground_truth_path)
        return [*object_records(truth, read_segmentations(text))]
    sizes = sizes_of(test_set)
    return [_record(mark, sizes[mark.image]) for mark in marks.marks]


def info_of_part(
    test_set: TestSet,
    images: Sequence[str],
) -> dict[str, str] | None:
    """Return the `info` for a part of a set with images of these SHA-256.

    The nonce follows from that of the whole set, which nobody can tell from it.
    """
    marks = _other_marks(test_set)
    if marks is None or not marks.info:
        return None
    if NONCE not in marks.info:
        return dict(marks.info)
    content = "\n".join([str(marks.info[NONCE]), *images])
    return {NONCE: hashlib.sha256(content.encode()).hexdigest()[:32]}


def _labelled(test_set: TestSet) -> GroundTruth:
    labels = read_labels(test_set).by_image.tolist()
    rows = [
        (one.number, label, 0, 0, one.width - 1, one.height - 1, False)
        for one, label in zip(test_set.images, labels, strict=True)
    ]
    files = {one.number: one.file for one in test_set.images}
    return GroundTruth.of_corners(
        files, {label: str(label) for label in sorted(set(labels))}, rows
    )


def _other_marks(test_set: TestSet) -> Marks | None:
    """Return the annotations of a set of another kind than boxes, None for boxes."""
    path = test_set.ground_truth_path
    try:
        has_boxes = test_set.objects and b'"bbox"' in file_bytes(path)
    except OSError as error:
        raise TestSetError("testset-damaged", f"{path}: {error.strerror}") from error
    return None if has_boxes else read_marks(test_set)


def _row(mark: Mark, size: tuple[int, int]) -> Row:
    width, height = size
    box = (0, 0, width, height)
    if mark.segmentation is not None:
        box = bounds(counts_of_checked(mark.segmentation, size), height, width)
    left, top, across, down = box
    return (
        mark.image,
        mark.category,
        left,
        top,
        left + across - 1,
        top + down - 1,
        False,
    )


def _record(mark: Mark, size: tuple[int, int]) -> Record:
    if mark.segmentation is None:
        return ClassRecord(mark.image, mark.category)
    width, height = size
    counts = counts_of_checked(mark.segmentation, size)
    return RegionRecord(
        mark.image,
        mark.category,
        counts,
        area(counts, height, width),
        size,
    )
