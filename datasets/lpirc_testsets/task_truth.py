"""The ground truth of a test set for the tasks beside boxes: classes, label maps, instances.

Each reader raises TestSetError `no-truth-for-task` if the set has ground truth of another kind, or none, and those of
`truth_marks.read_marks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.folder import Category, TestSet
from lpirc_testsets.run_lengths import area as area_of
from lpirc_testsets.run_lengths import decode, runs_of
from lpirc_testsets.segmentations import counts_of_checked
from lpirc_testsets.truth_marks import Mark, Marks, Sizes, read_marks, sizes_of
from lpirc_testsets.values import LARGEST_NUMBER, shown

VOID = -1
"""In a label map: a pixel that has no label and does not count."""

LARGEST_LABEL = 65535  # of a PNG
IMPORT = {
    "classes": "testset import classes",
    "label maps": "testset import masks",
    "instances": "testset import coco, from annotations with segmentation",
}
LabelMap = NDArray[np.int32]
Ints = NDArray[np.int64]
Categories = tuple[Category, ...]


@dataclass(frozen=True)
class Instance:
    """An object with its mask: `counts` are compressed run lengths of the image's size, as COCO's.

    `box` is x, y, w, h in pixels and `area` in square pixels, both as the ground truth states them.
    """

    category: int
    counts: str
    box: tuple[float, float, float, float]
    area: float
    is_crowd: bool


def read_class_truth(test_set: TestSet) -> tuple[Categories, dict[int, int]]:
    """Return the categories and each image's category by image number."""
    marks = read_marks(test_set)
    if marks.kinds != {"classes"}:
        raise _has_none(test_set, marks, "classes")
    problems = Problems()
    classes = class_of_images(marks, sizes_of(test_set), problems)
    problems.raise_if_any("ground-truth-invalid")
    return marks.categories, classes


def class_of_images(
    marks: Marks,
    sizes: Sizes,
    problems: Problems,
) -> dict[int, int]:
    """Return each image's category; add images with several or none to `problems`."""
    classes: dict[int, int] = {}
    for mark in marks.marks:
        if mark.image in classes:
            problems.add(f"{mark.place}: image {mark.image} has a class already")
        classes.setdefault(mark.image, mark.category)
    problems.add(
        *(f"image {image} has no class" for image in sizes if image not in classes)
    )
    return classes


def read_label_maps(test_set: TestSet) -> tuple[Categories, Mapping[int, LabelMap]]:
    """Return the categories and the label maps by image number, each made when it is asked for.

    A label map (height, width) has the category id of each pixel, or `VOID`. An image without annotations is void as a
    whole. A map in which two regions overlap raises TestSetError `ground-truth-invalid` when it is asked for.
    """
    marks = read_marks(test_set)
    if not marks.marks or marks.where(lambda mark: mark.segmentation is None):
        raise _has_none(test_set, marks, "label maps")
    twice = repeated_region(marks)
    if twice is not None:
        raise _has_none(test_set, marks, "label maps", twice)
    problems = Problems()
    problems.add(*label_problems_of(marks))
    problems.raise_if_any("ground-truth-invalid")
    return marks.categories, LabelMaps(marks, sizes_of(test_set))


def repeated_region(marks: Marks) -> str | None:
    """Return a sentence about a category that has two annotations in one image, as instances have."""
    seen = set()
    for mark in marks.marks:
        key = (mark.image, mark.category)
        if key in seen:
            return (
                f"{mark.place}: image {mark.image} has category {mark.category} already"
            )
        seen.add(key)
    return None


def label_problems_of(marks: Marks) -> list[str]:
    """Return sentences about category ids that a label map cannot hold."""
    return [
        f"category {one.id}: a label map holds ids from 0 to {LARGEST_LABEL}"
        for one in marks.categories
        if not 0 <= one.id <= LARGEST_LABEL
    ]


class LabelMaps(Mapping[int, LabelMap]):
    """The label maps of a set by image number, made from the regions when they are asked for."""

    def __init__(self, marks: Marks, sizes: Sizes) -> None:
        self._sizes = sizes
        self._regions: dict[int, list[Mark]] = {image: [] for image in sizes}
        for mark in marks.marks:
            self._regions[mark.image].append(mark)

    def __getitem__(self, image: int) -> LabelMap:
        """Return the label map of an image. Raises TestSetError `ground-truth-invalid` if regions overlap."""
        width, height = self._sizes[image]
        marks = self._regions[image]
        if not marks:
            return np.full((height, width), VOID, np.int32)
        starts, ends, region = _inside(marks, (width, height))
        if (starts[1:] < ends[:-1]).any():
            raise _overlap(marks, image, (width, height))
        # Void up to the first run, the run, void up to the next one, ...
        lengths = np.empty(2 * len(starts) + 1, np.int64)
        lengths[1::2] = ends - starts
        lengths[::2] = np.diff(ends, prepend=0, append=height * width)
        lengths[:-1:2] -= lengths[1::2]
        values = np.full(len(lengths), VOID, np.int32)
        values[1::2] = np.array([mark.category for mark in marks], np.int32)[region]
        columns = np.repeat(values, lengths).reshape(width, height)
        return np.ascontiguousarray(columns.T)  # as the maps that teams send

    def __iter__(self) -> Iterator[int]:
        """Iterate over the numbers of all images."""
        return iter(self._sizes)

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self._sizes)


def _drawn_at_once(
    regions: Sequence[Mark],
    size: tuple[int, int],
) -> LabelMap | None:
    """Return a label map from the runs of all regions, or None if two overlap."""
    width, height = size
    begins = []
    lengths = []
    values = []
    for mark in regions:
        counts = counts_of_checked(mark.segmentation, size)
        runs = runs_of(counts, height, width)
        inside = runs[1::2]
        begins.append(np.cumsum(runs)[1::2] - inside)
        lengths.append(inside)
        values.append(np.full(len(inside), mark.category))
    if not regions:
        return np.full((height, width), VOID, np.int32)
    begin = np.concatenate(begins)
    order = np.argsort(begin, kind="stable")
    begin = begin[order]
    length = np.concatenate(lengths)[order]
    ends = np.append(0, begin + length)
    gaps = np.append(begin, width * height) - np.maximum.accumulate(ends)
    if gaps.min() < 0:
        return None
    runs = np.zeros(2 * len(length) + 1, np.int64)
    runs[::2] = gaps
    runs[1::2] = length
    of_runs = np.full(len(runs), VOID, np.int32)
    of_runs[1::2] = np.concatenate(values)[order]
    columns = np.repeat(of_runs, runs).reshape(width, height)
    return np.ascontiguousarray(columns.T)


def _drawn_in_turn(
    regions: Sequence[Mark],
    size: tuple[int, int],
    image: int,
) -> LabelMap:
    """Return a label map region by region. Raises TestSetError `ground-truth-invalid` for the first that overlaps."""
    width, height = size
    labels = np.full((height, width), VOID, np.int32)
    for mark in regions:
        counts = counts_of_checked(mark.segmentation, size)
        inside = decode(counts, height, width)
        taken = labels[inside] != VOID
        if taken.any():
            other = int(labels[inside][taken][0])
            raise TestSetError(
                "ground-truth-invalid",
                f"{mark.place}: {np.count_nonzero(taken)} pixels of image {image} "
                f"have category {other} already",
            )
        labels[inside] = mark.category
    return labels


def _inside(marks: list[Mark], size: tuple[int, int]) -> tuple[Ints, Ints, Ints]:
    """Return where the runs inside regions start and end, column by column, sorted, and which region each is of."""
    width, height = size
    starts = []
    ends = []
    region = []
    for place, mark in enumerate(marks):
        runs = runs_of(counts_of_checked(mark.segmentation, size), height, width)
        its_ends = np.cumsum(runs)[1::2]
        its_starts = its_ends - runs[1::2]
        is_run = its_starts < its_ends
        starts.append(its_starts[is_run])
        ends.append(its_ends[is_run])
        region.append(np.full(int(is_run.sum()), place))
    order = np.argsort(np.concatenate(starts), kind="stable")
    columns = (starts, ends, region)
    first, last, which = (np.concatenate(one)[order] for one in columns)
    return first, last, which


def _overlap(
    marks: list[Mark],
    image: int,
    size: tuple[int, int],
) -> TestSetError:
    """Return the error that names the first region with pixels of another."""
    width, height = size
    labels = np.full((height, width), VOID, np.int64)
    sentence = f"image {image} has regions that overlap"
    for mark in marks:
        inside = decode(counts_of_checked(mark.segmentation, size), height, width)
        taken = labels[inside]
        taken = taken[taken != VOID]
        if len(taken):
            sentence = f"{mark.place}: {len(taken)} pixels of image {image} have category {taken[0]} already"
            break
        labels[inside] = mark.category
    return TestSetError("ground-truth-invalid", sentence)


def read_instances(test_set: TestSet) -> tuple[Categories, dict[int, list[Instance]]]:
    """Return the categories and the instances of each image by its number; polygons are filled."""
    marks = read_marks(test_set)
    without = marks.where(lambda mark: not (mark.has_box and mark.segmentation))
    if not marks.marks or len(without) == len(marks.marks):
        raise _has_none(test_set, marks, "instances")
    problems = Problems()
    problems.add(
        *(f"{mark.place}: it has no bbox with a segmentation" for mark in without)
    )
    sizes = sizes_of(test_set)
    found: dict[int, list[Instance]] = {image: [] for image in sizes}
    for mark in marks.where(lambda mark: mark.has_box and mark.segmentation):
        try:
            found[mark.image].append(_instance(mark, sizes[mark.image]))
        except ValueError as error:
            problems.add(f"{mark.place}: {error}")
    problems.raise_if_any("ground-truth-invalid")
    return marks.categories, found


def _instance(mark: Mark, size: tuple[int, int]) -> Instance:
    entry = mark.entry
    x, y, width, height = _four(entry["bbox"])
    counts = counts_of_checked(mark.segmentation, size)
    area = entry.get("area")
    if area is None:
        area = area_of(counts, size[1], size[0])
    if type(area) not in (int, float) or not 0 <= area <= LARGEST_NUMBER**2:
        raise ValueError(f"area {shown(area)} is not a number of square pixels")
    is_crowd = entry.get("iscrowd", 0)
    if is_crowd not in (0, 1):
        raise ValueError(f"iscrowd {shown(is_crowd)} is neither 0 nor 1")
    return Instance(
        mark.category,
        counts,
        (x, y, width, height),
        float(area),
        bool(is_crowd),
    )


def _four(box: object) -> list[float]:
    if not isinstance(box, list) or len(box) != 4:
        raise ValueError(f"bbox {shown(box)} is not four numbers")
    if any(type(one) not in (int, float) or abs(one) > LARGEST_NUMBER for one in box):
        raise ValueError(f"bbox {shown(box)} is not four finite numbers")
    return [float(one) for one in box]


def _has_none(
    test_set: TestSet,
    marks: Marks,
    wanted: str,
    why: str = "",
) -> TestSetError:
    has = marks.has
    if test_set.has_labels:
        has = "labels for the model tracks"
    reason = f" ({why})" if why else ""
    return TestSetError(
        "no-truth-for-task",
        f"{test_set.folder}: the set has {has}, and {wanted} are needed{reason}; "
        f"make one with {IMPORT[wanted]}",
    )
