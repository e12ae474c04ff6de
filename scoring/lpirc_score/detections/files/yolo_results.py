"""YOLO's text files as detections: one for each image.

Form: `CLASS X Y WIDTH HEIGHT CONFIDENCE`, the centre and the size of a box as shares of its image, by `save_txt` with
`save_conf` of Ultralytics.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections import shown
from lpirc_score.detections.files.findings import INVERTED, refuse
from lpirc_score.detections.files.forms import (
    NAME_OF_VOC,
    OF_YOLO,
    Recognised,
    is_of_voc,
)
from lpirc_score.detections.files.names import Finders
from lpirc_score.detections.files.several_files import Read, Row, RowOf, read_rows_of
from lpirc_score.detections.files.text import numbers
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.units import are_centred_outside
from lpirc_testsets.box_corners import corners_from_coco
from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.ground_truth import GroundTruth, Size
from lpirc_testsets.presence import is_folder
from lpirc_testsets.yolo_layout import (  # fmt: skip
    LABELS,
    NO_LABELS,
    class_names,
    classes_beside,
    name_of_text,
)


def read_yolo_results(
    found: Recognised,
    ground_truth: GroundTruth,
    finders: Finders,
    inverted_boxes: bool,
) -> Read:
    """Read YOLO's text files; images are named by file, and their sizes are those of the ground truth.

    Class k is the name at that place in a data.yaml, classes.txt or obj.names beside the texts; without one, the k-th
    category from 0 in order of the ids. A file of another content is left out with a warning, unless an image has its
    name.

    Raises `CodedError` `bad-detections` with the problems of all files, `unreadable-file`.
    """
    labels = found.path / LABELS if is_folder(found.path / LABELS) else found.path
    categories = _categories(found.path, labels, ground_truth, finders)
    files, left_out = _files(found, labels, finders)
    _refuse_named_by_class(found.path, files, labels, finders)
    texts: dict[int, Path] = {}

    def rows_of(file: Path) -> RowOf:
        name = _name_in(labels, file)
        image = finders.images.by_name(name, 1)
        if texts.setdefault(image, file) != file:
            raise ValueError(f"its image has a text already, {texts[image]}")
        size = ground_truth.sizes.get(image)
        if size is None:
            raise ValueError(
                f"the size of image {shown(name)} is not known: "
                "name the folder of the images with --images FOLDER"
            )

        def row(cells: list[str], line: int) -> Row:
            _check_count(cells)
            category = _category_of(cells[0], categories)
            shares = numbers(cells[1:])
            box = _box(shares, size)
            if box[2] < 0 or box[3] < 0:
                problem = f"WIDTH {cells[3]} or HEIGHT {cells[4]} is negative"
                if not inverted_boxes:
                    raise ValueError(problem)
                finders.images.findings.note(INVERTED, line, problem)
            return image, category, shares[4], *box

        return row

    rows, warnings = read_rows_of(files, finders, rows_of)
    detections = _columns(rows)
    if are_centred_outside(detections, ground_truth):
        refuse(
            found.path,
            f"no centre X Y of {len(detections)} boxes lies within its image: "
            "X, Y, WIDTH and HEIGHT are shares of the image, from 0 to 1, and no pixels",
        )
    return Read(detections, (*warnings, *left_out))


def _files(
    found: Recognised,
    labels: Path,
    finders: Finders,
) -> tuple[list[Path], list[str]]:
    """Return the files to read, in order of their names, and the warnings about those that are left out."""
    files = [*found.files]
    left_out = []
    for file in found.others:
        if file.is_relative_to(labels) and _names_image(
            _name_in(labels, file), finders
        ):
            files.append(file)
        elif file.name.lower() not in NO_LABELS:
            left_out.append(
                f"{file}: left out, since its first line is not {OF_YOLO} and no image has its name"
            )
    return sorted(files), left_out


def _refuse_named_by_class(
    folder: Path,
    files: list[Path],
    labels: Path,
    finders: Finders,
) -> None:
    """Raise `CodedError` if the files have the names of classes: these are VOC results with names of another form."""
    classes = [_class_in(file, finders) for file in files]
    if not classes or None in classes:
        return
    names = [name_of_text(file, labels) for file in files]
    if any(_names_image(name, finders) for name in names):
        return
    first = files[0]
    wanted = NAME_OF_VOC.replace("CLASS", classes[0] or "CLASS")
    refuse(
        folder,
        f"its files are named by class, such as {first.name}; if they are VOC results, rename them like {wanted}",
    )


def _class_in(file: Path, finders: Finders) -> str | None:
    """Return the class that a file is named by, "" for a name such as x_det that has none, None for another file.

    A name that has more than the class counts only for a file with lines of VOC results.
    """
    classes = finders.categories.names.named
    stem = file.stem
    if stem in classes:
        return stem
    if not is_of_voc(file):
        return None
    held = [
        one
        for one in classes
        if re.search(rf"\b{re.escape(one)}\b", stem.replace("_", " "), re.I)
    ]
    held += [one for one in classes if one.casefold() in stem.casefold().split("_")]
    if held:
        return max(held, key=len)
    return "" if "_det" in stem else None


def _names_image(name: str, finders: Finders) -> bool:
    try:
        return finders.images.by_name(name, 1) in finders.images.known
    except ValueError:
        return name in finders.images.names.named


def _name_in(labels: Path, file: Path) -> str:
    if not file.is_relative_to(labels):
        raise ValueError(
            f"it lies outside {labels}, where the other texts are: move it there, or name that folder"
        )
    return name_of_text(file, labels)


def _columns(rows: NDArray[np.float64]) -> Detections:
    image, category, confidence, *_ = rows.T
    coco_boxes = rows[:, 3:7].copy()
    return Detections(
        image=image.astype(np.int64),
        category=category.astype(np.int64),
        confidence=confidence.copy(),
        boxes=corners_from_coco(coco_boxes),
        coco_boxes=coco_boxes,
    )


def _categories(
    folder: Path,
    labels: Path,
    ground_truth: GroundTruth,
    finders: Finders,
) -> list[int]:
    """Return the category id of each class."""
    path = classes_beside(labels, folder)
    if path is None:
        return [int(id_) for id_ in ground_truth.category_ids]
    problems = Problems()
    try:
        names = class_names(path, problems)
        problems.raise_if_any("unreadable-file")
        return [finders.categories.by_name(name, 1) for name in names.values()]
    except TestSetError as error:
        refuse(path, error.sentence.removeprefix(f"{path}: "))
    except ValueError as error:
        refuse(path, f"{error}: the ground truth has no category of this name")


def _category_of(cell: str, categories: list[int]) -> int:
    is_number = cell.isascii() and cell.isdigit()
    if not is_number or int(cell[:10]) >= len(categories):
        raise ValueError(
            f"class {shown(cell)} is not a whole number in 0..{len(categories) - 1}"
        )
    return categories[int(cell)]


def _box(shares: list[float], size: Size) -> tuple[float, float, float, float]:
    """Return the box x, y, w, h in pixels of a centre and a size in shares of an image."""
    x, y, width, height = shares[:4]
    left = (x - width / 2) * size[0]
    top = (y - height / 2) * size[1]
    return left, top, width * size[0], height * size[1]


def _check_count(cells: list[str]) -> None:
    wanted = len(OF_YOLO.split())
    if len(cells) == wanted:
        return
    hint = ""
    if len(cells) == wanted - 1:
        hint = (
            "; without a confidence it is ground truth (write it with save_conf=True)"
        )
    raise ValueError(f"{len(cells)} values, not {OF_YOLO}{hint}")
