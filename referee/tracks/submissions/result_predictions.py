"""The answers in a result document, checked one by one. Pure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from referee.tracks.submissions.result_fields import bad, shown

MOST_ROWS_BY_IMAGE = 100
LARGEST_CATEGORY = 1_000_000
LARGEST_INDEX = 1000
LARGEST_PIXEL = 1e9
COLUMNS = ("image", "category", "confidence", "xmin", "ymin", "xmax", "ymax")


def detection_rows(rows: Any, processed: int) -> NDArray[np.float64]:
    """Rows (M, 7) image, category, confidence, xmin, ymin, xmax, ymax of images 1..`processed`.

    Raises RefereeError `bad-result`: anything else than seven finite numbers, another image, a category below 1, more
    than a hundred rows of an image.
    """
    if not isinstance(rows, list):
        raise bad(f"predictions.rows = {shown(rows)} is not a list")
    for place, row in enumerate(rows):
        if not (isinstance(row, list) and len(row) == len(COLUMNS) and all(map(_is_number, row))):
            raise bad(f"predictions.rows[{place}] = {shown(row)} is not seven finite numbers")
    table = np.array(rows, dtype=np.float64).reshape(-1, len(COLUMNS))
    _require_whole(table, 0, processed)
    _require_whole(table, 1, LARGEST_CATEGORY)
    images, counts = np.unique(table[:, 0], return_counts=True)
    if len(images) and counts.max() > MOST_ROWS_BY_IMAGE:
        worst = int(np.argmax(counts))
        raise bad(f"image {images[worst]:g} has {counts[worst]} rows, more than {MOST_ROWS_BY_IMAGE}")
    return table


def top1_answers(labels: Any, images: int, processed: int) -> tuple[tuple[int, int], ...]:
    """The answers (image, index 0..1000), one for each of `processed` images of 1..`images`.

    Raises RefereeError `bad-result`.
    """
    if not isinstance(labels, list):
        raise bad(f"predictions.labels = {shown(labels)} is not a list")
    if len(labels) != processed:
        raise bad(f"predictions.labels has {len(labels)} answers, processed is {processed}")
    found: dict[int, int] = {}
    for place, one in enumerate(labels):
        where = f"predictions.labels[{place}]"
        if not (isinstance(one, list) and len(one) == 3 and _is_number(one[2])):
            raise bad(f"{where} = {shown(one)} is not an image, an index and a finite number")
        image, index, _ = one
        if type(image) is not int or not 1 <= image <= images:
            raise bad(f"{where}: image {shown(image)} is not a whole number from 1 to {images}")
        if type(index) is not int or not 0 <= index <= LARGEST_INDEX:
            raise bad(f"{where}: index {shown(index)} is not a whole number from 0 to {LARGEST_INDEX}")
        if image in found:
            raise bad(f"{where}: image {image} is answered twice")
        found[image] = index
    return tuple(found.items())


def _require_whole(table: NDArray[np.float64], column: int, most: int) -> None:
    values = table[:, column]
    wrong = np.flatnonzero((values != np.floor(values)) | (values < 1) | (values > most))
    if len(wrong):
        what = f"predictions.rows[{wrong[0]}]: {COLUMNS[column]} {values[wrong[0]]:g}"
        raise bad(f"{what} is not a whole number from 1 to {most}")


def _is_number(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= LARGEST_PIXEL  # false for NaN
        and math.isfinite(value)
    )
