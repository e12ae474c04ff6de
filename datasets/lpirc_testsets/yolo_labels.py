"""Reads YOLO's text files: a line for each object of an image, with shares of the image's width and height.

    CLASS X Y WIDTH HEIGHT          the centre of a box and its size
    CLASS X1 Y1 X2 Y2 X3 Y3 ...     a polygon, whose box encloses it

A box that leaves its image by at most half a pixel, as rounded shares do, ends at the edge.
Source: https://docs.ultralytics.com/datasets/detect/ and /segment/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.file_bytes import read_text
from lpirc_testsets.polygons import filled
from lpirc_testsets.segmentations import as_json
from lpirc_testsets.values import LARGEST_ID, finite_number, shown
from lpirc_testsets.writing import ObjectRecord
from lpirc_testsets.yolo_layout import OF_BOX

LEAST_OF_POLYGON = 7
NAMES = ("X", "Y", "WIDTH", "HEIGHT")
LEAST_OF_PIXELS = 2
MOST_BEYOND = 0.5  # pixels

Size = tuple[int, int]


def read_labels_of(
    path: Path,
    image: int,
    size: Size,
    numbers: Mapping[int, int],
    names: Path,
    problems: Problems,
) -> list[ObjectRecord]:
    """Return the objects of an image of `size` (width, height); `numbers` has the category of each class.

    The names of the classes are in the file `names`. Each bad line is added to `problems`.
    """
    try:
        text = read_text(path)
    except TestSetError as error:
        problems.add(error.sentence)
        return []
    objects = []
    for line, cells in _lines(text):
        try:
            category = numbers.get(_class(cells[0]))
            if category is None:
                problems.add(
                    f"{path}: line {line}: class {cells[0]} has no name in {names}, "
                    f"which names {len(numbers)} classes, counted from 0",
                    remedy=f"add its name to {names}, or correct the line",
                )
                continue
            objects.append(_object(cells[1:], image, category, size))
        except ValueError as error:
            problems.add(f"{path}: line {line}: {error}")
    return objects


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if cells := line.split():
            yield number, cells


def _class(cell: str) -> int:
    if not (cell.isascii() and cell.isdigit() and len(cell) < len(str(LARGEST_ID))):
        raise ValueError(f"class {shown(cell)} is not a whole number from 0")
    return int(cell)


def _object(
    cells: list[str],
    image: int,
    category: int,
    size: Size,
) -> ObjectRecord:
    count = len(cells) + 1
    if count == OF_BOX:
        return _of_box(cells, image, category, size)
    if count >= LEAST_OF_POLYGON and count % 2:
        return _of_polygon(cells, image, category, size)
    raise ValueError(
        f"{count} values, neither CLASS X Y WIDTH HEIGHT nor CLASS and the corners of a polygon"
    )


def _of_box(
    cells: list[str],
    image: int,
    category: int,
    size: Size,
) -> ObjectRecord:
    values = [finite_number(*one) for one in zip(cells, NAMES, strict=True)]
    for name, value, cell in zip(NAMES, values, cells, strict=True):
        _require_share(name, value, cell)
    x, y, width, height = values
    if width <= 0 or height <= 0:
        raise ValueError(f"WIDTH {cells[2]} and HEIGHT {cells[3]} must be above 0")
    left, right = _within(x - width / 2, x + width / 2, size[0], "width")
    top, bottom = _within(y - height / 2, y + height / 2, size[1], "height")
    box = (left, top, right - left, bottom - top)
    return ObjectRecord(image, category, box, box[2] * box[3])


def _require_share(name: str, value: float, cell: str) -> None:
    """Raise ValueError for what is far from a share of the image: the usual slip is a number of pixels."""
    if abs(value) >= LEAST_OF_PIXELS:
        raise ValueError(
            f"{name} is {cell}, and a share of the image is from 0 to 1: are these pixels?"
        )


def _within(
    low: float,
    high: float,
    side: int,
    what: str,
) -> tuple[float, float]:
    """Return the pixels of an edge's two ends. Raises ValueError if they are not within the image."""
    start = low * side
    end = high * side
    beyond = max(-start, end - side)
    if beyond > MOST_BEYOND:
        raise ValueError(
            f"the box leaves the image's {what} of {side} pixels by {beyond:.1f}"
        )
    return max(start, 0.0), min(end, float(side))


def _of_polygon(
    cells: list[str],
    image: int,
    category: int,
    size: Size,
) -> ObjectRecord:
    values = [finite_number(cell, "a corner") for cell in cells]
    for value, cell in zip(values, cells, strict=True):
        _require_share("a corner", value, cell)
    shares = np.array(values)
    points = shares.reshape(-1, 2) * size
    beyond = max(float(-points.min()), float((points - size).max()))
    if beyond > MOST_BEYOND:
        raise ValueError(f"the polygon leaves the image by {beyond:.1f} pixels")
    points = np.clip(points, 0, size)
    left, top = points.min(axis=0).tolist()
    right, bottom = points.max(axis=0).tolist()
    if left == right or top == bottom:
        raise ValueError("the polygon has no width or no height")
    polygon = points.ravel().tolist()
    pixels = int(filled([polygon], size[1], size[0]).sum())
    return ObjectRecord(
        image,
        category,
        (left, top, right - left, bottom - top),
        pixels,
        segmentation=as_json([polygon]),
    )
