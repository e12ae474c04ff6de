"""The ground truth of a synthetic scene, for each task.

* boxes: around the part of each object that is within the image, also if another object hides it
* instances: the pixels of which an object covers half or more and nothing in front of it does, and the box around them
* label maps: the same pixels, or `background` (id 0); pixels of which a shape covers between a quarter and three
  quarters are void, as a border of two pixels around an object often is in photographs
* classes: one object in each image, among dull shapes and coloured ones that are in no category
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets.folder import Category
from lpirc_testsets.run_lengths import area, bounds, encode
from lpirc_testsets.scene import OBJECTS, Placed
from lpirc_testsets.segmentations import as_json
from lpirc_testsets.shapes import Kind
from lpirc_testsets.task_truth import VOID
from lpirc_testsets.truth_marks import NONCE
from lpirc_testsets.writing import ClassRecord, ObjectRecord, Record, RegionRecord

BACKGROUND = Category(0, "background")
ONE_OBJECT = (1, 1)
BORDER = (0.25, 0.75)  # of a pixel's coverage

Size = tuple[int, int]
Kinds = tuple[Kind, ...]
Records = Callable[[int, Kinds, Sequence[Placed], Size], list[Record]]


@dataclass(frozen=True)
class Form:
    """The ground truth of a task: what makes an image's records from the shapes in it, and how many objects it has."""

    records: Records
    objects: tuple[int, int] = OBJECTS
    first_categories: tuple[Category, ...] = ()
    info: Mapping[str, str] = field(default_factory=dict)


def _boxes(
    number: int,
    wanted: Kinds,
    standing: Sequence[Placed],
    size: Size,
) -> list[Record]:
    del size
    return [
        _object(number, wanted.index(placed.kind) + 1, placed)
        for placed in standing
        if placed.kind in wanted
    ]


def _object(number: int, category: int, placed: Placed) -> ObjectRecord:
    xmin, ymin, xmax, ymax = placed.box
    width = xmax - xmin + 1
    height = ymax - ymin + 1
    return ObjectRecord(number, category, (xmin, ymin, width, height), width * height)


def _instances(
    number: int,
    wanted: Kinds,
    standing: Sequence[Placed],
    size: Size,
) -> list[Record]:
    width, height = size
    records: list[Record] = []
    owners = _owners(standing, size)
    for place, placed in enumerate(standing):
        if placed.kind not in wanted:
            continue
        counts = encode(owners == place)
        pixels = area(counts, height, width)
        if not pixels:
            continue
        mask = {"size": [height, width], "counts": counts}
        records.append(
            ObjectRecord(
                number,
                wanted.index(placed.kind) + 1,
                bounds(counts, height, width),
                pixels,
                segmentation=as_json(mask),
            )
        )
    return records


def _label_map(
    number: int,
    wanted: Kinds,
    standing: Sequence[Placed],
    size: Size,
) -> list[Record]:
    width, height = size
    owners = _owners(standing, size)
    labels = np.full((height, width), BACKGROUND.id, np.int32)
    for place, placed in enumerate(standing):
        if placed.kind in wanted:
            labels[owners == place] = wanted.index(placed.kind) + 1
    for placed in standing:
        window = labels[_window(placed)]
        window[(placed.alpha > BORDER[0]) & (placed.alpha < BORDER[1])] = VOID
    records: list[Record] = []
    for category in np.unique(labels).tolist():
        if category == VOID:
            continue
        counts = encode(labels == category)
        pixels = area(counts, height, width)
        records.append(RegionRecord(number, category, counts, pixels, size))
    return records


def _class(
    number: int,
    wanted: Kinds,
    standing: Sequence[Placed],
    size: Size,
) -> list[Record]:
    del size
    (kind,) = (placed.kind for placed in standing if placed.kind in wanted)
    return [ClassRecord(number, wanted.index(kind) + 1)]


def _owners(standing: Sequence[Placed], size: Size) -> NDArray[np.int64]:
    """Return the place of the foremost shape that covers half of each pixel (height, width) or more; -1 if none."""
    owners = np.full((size[1], size[0]), -1, np.int64)
    for place, placed in enumerate(standing):
        owners[_window(placed)][placed.alpha >= 0.5] = place
    return owners


def _window(placed: Placed) -> tuple[slice, slice]:
    xmin, ymin, xmax, ymax = placed.box
    return slice(ymin, ymax + 1), slice(xmin, xmax + 1)


TASKS = {
    "boxes": Form(_boxes),
    "instances": Form(_instances),
    "segmentation": Form(_label_map, first_categories=(BACKGROUND,)),
    "classification": Form(
        _class,
        objects=ONE_OBJECT,
        info={NONCE: "0" * 32},  # a seed is no secret
    ),
}
