"""Reads a folder with YOLO's text files as ground truth, without making a test set of it.

Images are numbered from 1 by ascending name; class k is category k + 1: the numbers of `referee testset import yolo`.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import numpy as np

from lpirc_testsets.box_corners import corners_from_coco
from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.ground_truth import GroundTruth, Size
from lpirc_testsets.photographs import orientation, size_in_header
from lpirc_testsets.values import shown
from lpirc_testsets.writing import ObjectRecord
from lpirc_testsets.yolo_labels import read_labels_of
from lpirc_testsets.yolo_layout import (
    IMAGES,
    LABELS,
    NAMES_WANTED,
    YoloFolder,
    class_names,
    classes_beside,
    folders_above,
    is_label_text,
    yaml_files,
    yolo_folder,
)


def read_yolo_folder(folder: Path, images: Path | None = None) -> GroundTruth:
    """Read YOLO's text files in a folder, or in `labels` in it, with the sizes of their images.

    The images are in `images`; by default in `images` in the folder, in the folder whose path has `images` in place of
    the last `labels`, or beside the texts. The names of the classes are in a data.yaml, classes.txt or obj.names there
    or in `folders_above`. An image without a text has no objects; a text without an image is a problem, unless its
    first line is no object; so is a text that two images share.

    Raises TestSetError with every problem, at most 20: `ground-truth-missing` (no images, no names),
    `ground-truth-invalid`; OSError.
    """
    problems = Problems()
    found = yolo_folder(folder, images)
    names_file = _names_file(folder, found)
    classes = class_names(names_file, problems)
    numbers = {number: number + 1 for number in classes}
    sizes: dict[int, Size] = {}
    records: list[ObjectRecord] = []
    used: set[Path] = set()
    for place, (file, picture) in enumerate(found.pictures.items(), start=1):
        text = _text_of(file, found)
        if text in used:
            problems.add(
                f"{text}: it is the text of {shown(file)} and of an image with another suffix: keep one of them"
            )
        if text is not None:
            used.add(text)
        size = size_in_header(picture)
        if size is None:
            problems.add(f"{picture}: it is not an image whose size can be read")
            continue
        sizes[place] = size
        if text is not None:
            _refuse_turned(picture, problems)
            records += read_labels_of(text, place, size, numbers, names_file, problems)
    for text in found.texts.values():
        if text not in used and is_label_text(text):
            problems.add(f"{text}: there is no image for it in {found.images}")
    if not records and not problems.count:
        problems.add(f"{folder}: no objects in any of {len(found.texts)} text files")
    problems.raise_if_any("ground-truth-invalid")
    names = {numbers[number]: name for number, name in classes.items()}
    return _columns([*found.pictures], names, records, sizes)


def _names_file(folder: Path, found: YoloFolder) -> Path:
    near = (found.labels, folder, found.labels.parent, *folders_above(folder))
    path = classes_beside(*near)
    if path is None:
        nameless = ", ".join(map(str, yaml_files(*near)))
        hint = f" ({nameless}: without `names`)" if nameless else ""
        raise TestSetError(
            "ground-truth-missing",
            f"{folder}: the names of the classes are missing: put {NAMES_WANTED} into it{hint}",
        )
    return path


def _text_of(file: str, found: YoloFolder) -> Path | None:
    """Return the text file of an image: of the same name below the labels, or with `labels` in place of `images`."""
    stem = PurePosixPath(file).with_suffix("")
    if text := found.texts.get(stem.as_posix()):
        return text
    parts = list(stem.parts)
    if IMAGES not in parts[:-1]:
        return None
    last = len(parts) - 1 - parts[::-1].index(IMAGES)
    parts[last] = LABELS
    return found.texts.get(PurePosixPath(*parts).as_posix())


def _refuse_turned(picture: Path, problems: Problems) -> None:
    turned = orientation(picture)
    if turned is not None:
        problems.add(
            f"{picture}: its EXIF data say that it is shown turned (orientation {turned}), so the axes of its labels "
            "are not known"
        )


def _columns(
    files: list[str],
    names: dict[int, str],
    records: list[ObjectRecord],
    sizes: dict[int, Size],
) -> GroundTruth:
    coco_boxes = np.array([one.bbox for one in records], np.float64).reshape(-1, 4)
    return GroundTruth(
        image_ids=np.arange(1, len(files) + 1),
        image_names=tuple(files),
        category_ids=np.array([*names], np.int64),
        category_names=tuple(names.values()),
        image=np.array([one.image for one in records], np.int64),
        category=np.array([one.category for one in records], np.int64),
        boxes=corners_from_coco(coco_boxes),
        difficult=np.zeros(len(records), np.bool_),
        crowd=np.zeros(len(records), np.bool_),
        area=np.array([one.area for one in records], np.float64),
        coco_boxes=coco_boxes,
        sizes=sizes,
    )
