"""Detections in several files: VOC results, one file for each class, and YOLO's text files, one for each image.

VOC results, by the development kit of 2012: `IMAGE CONFIDENCE XMIN YMIN XMAX YMAX`, the class in the file's name.
YOLO, by `save_txt` with `save_conf` of Ultralytics: `CLASS X Y WIDTH HEIGHT CONFIDENCE`, the centre and the size of a
box as shares of its image.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections import inverted_box, shown
from lpirc_score.detections.files.findings import (
    INVERTED,
    Findings,
    raise_if_any_in,
    refuse,
)
from lpirc_score.detections.files.forms import OF_VOC, OF_YOLO, Recognised
from lpirc_score.detections.files.names import Finders
from lpirc_score.detections.files.text import lines_of_any, numbers
from lpirc_score.detections.parsed_rows import ProblemList
from lpirc_score.metrics.detection_columns import Detections
from lpirc_testsets.box_corners import corners_from_coco
from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.folder_content import voc_results_class
from lpirc_testsets.ground_truth import GroundTruth, Size
from lpirc_testsets.presence import is_folder
from lpirc_testsets.yolo_layout import LABELS, class_names, classes_beside

Row = tuple[float, ...]
RowOf = Callable[[list[str], int], Row]


@dataclass(frozen=True)
class Read:
    """Detections, and the warnings of the files that they come from."""

    detections: Detections
    warnings: tuple[str, ...]


def read_voc_results(
    found: Recognised,
    finders: Finders,
    inverted_boxes: bool,
) -> Read:
    """Read VOC results. Raises `CodedError` `bad-detections` with the problems of all files, `unreadable-file`."""

    def rows_of(file: Path) -> RowOf:
        name = voc_results_class(file) or ""
        category = _category_of_file(name, finders)

        def row(cells: list[str], line: int) -> Row:
            _check_count(cells, OF_VOC)
            image = finders.images.by_name(cells[0], line)
            confidence, *corners = numbers(cells[1:])
            values = (image, category, confidence, *corners)
            if values[5] < values[3] or values[6] < values[4]:
                if not inverted_boxes:
                    raise ValueError(inverted_box(values))
                value = inverted_box(values).partition(":")[0]
                finders.images.findings.note(INVERTED, line, value)
            return values

        return row

    rows, warnings = _read_each(found, finders, rows_of)
    return Read(Detections.from_rows(rows), warnings)


def read_yolo_results(
    found: Recognised,
    ground_truth: GroundTruth,
    finders: Finders,
    inverted_boxes: bool,
) -> Read:
    """Read YOLO's text files; images are named by file, and their sizes are those of the ground truth.

    Class k is the name at that place in a data.yaml, classes.txt or obj.names beside the texts; without one, the k-th
    category from 0 in order of the ids.

    Raises as `read_voc_results`.
    """
    labels = found.path / LABELS if is_folder(found.path / LABELS) else found.path
    categories = _categories(found.path, labels, ground_truth, finders)

    def rows_of(file: Path) -> RowOf:
        name = PurePosixPath(file.relative_to(labels).as_posix()).with_suffix("")
        image = finders.images.by_name(str(name), 1)
        size = ground_truth.sizes.get(image)
        if size is None:
            raise ValueError(
                f"the size of image {shown(str(name))} is not known: "
                "name the folder of the images with --images FOLDER"
            )

        def row(cells: list[str], line: int) -> Row:
            _check_count(cells, OF_YOLO)
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

    rows, warnings = _read_each(found, finders, rows_of)
    image, category, confidence, *_ = rows.T
    coco_boxes = rows[:, 3:7].copy()
    detections = Detections(
        image=image.astype(np.int64),
        category=category.astype(np.int64),
        confidence=confidence.copy(),
        boxes=corners_from_coco(coco_boxes),
        coco_boxes=coco_boxes,
    )
    return Read(detections, warnings)


def _read_each(
    found: Recognised,
    finders: Finders,
    rows_of: Callable[[Path], RowOf],
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the rows (n, 7) of all files, in their order, and the warnings."""
    values = array("d")
    every = []
    limits = finders.images.findings.problems
    for file in found.files:
        findings = Findings(file, ProblemList(most=limits.most))
        every.append(findings)
        finders.report_to(findings)
        try:
            row_of = rows_of(file)
        except ValueError as error:
            findings.problems.add(1, str(error))
            continue
        for line, cells in lines_of_any(file):
            try:
                values.extend(row_of(cells, line))
            except ValueError as error:
                findings.problems.add(line, str(error))
    raise_if_any_in(every, "bad-detections")
    warnings = tuple(sentence for one in every for sentence in one.warnings())
    return np.array(values, np.float64).reshape(-1, 7), warnings


def _category_of_file(name: str, finders: Finders) -> int:
    try:
        return finders.categories.by_name(name, 1)
    except ValueError:
        raise ValueError(
            f"the class {shown(name)} in the file's name is not a category of the ground truth"
        ) from None


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


def _check_count(cells: list[str], form: str) -> None:
    wanted = len(form.split())
    if len(cells) == wanted:
        return
    hint = ""
    if form == OF_YOLO and len(cells) == wanted - 1:
        hint = (
            "; without a confidence it is ground truth (write it with save_conf=True)"
        )
    raise ValueError(f"{len(cells)} values, not {form}{hint}")
