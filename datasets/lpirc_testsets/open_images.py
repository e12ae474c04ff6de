"""Imports Open Images: boxes as CSV, one a line, and a folder of images `ID.jpg`.

Format: https://storage.googleapis.com/openimages/web/download_v7.html, "Data formats". Coordinates are shares of the
image's width and height, from edge to edge: XMin W is the left edge of the first pixel, XMax W the right edge of the
last one, which as an inclusive pixel counted from 0 is XMax W - 1. Of a hierarchy of classes nothing is known here.
"""

from __future__ import annotations

import csv
from collections.abc import Container, Iterator
from pathlib import Path

from PIL import Image as Pillow

from lpirc_testsets.errors import Problems, Reports, TestSetError
from lpirc_testsets.file_bytes import read_text, require_regular
from lpirc_testsets.folder import Category, TestSet, contained
from lpirc_testsets.importing import SourceImage, build_test_set, numbered, require_folder
from lpirc_testsets.values import finite_number, is_name, shown
from lpirc_testsets.voc import image_file
from lpirc_testsets.writing import ObjectRecord

EDGES = ("XMin", "YMin", "XMax", "YMax")
NEEDED = ("ImageID", "LabelName", *EDGES)

Box = tuple[str, tuple[float, float, float, float], bool, int]
"""A class as LabelName, the edges from 0 to 1, whether it is a group, and the line of the file."""


def import_open_images(
    boxes: Path,
    classes: Path,
    images: Path,
    out: Path,
    image_list: Path | None = None,
    reports: Reports | None = None,
) -> TestSet:
    """Import the boxes of a `*-annotations-bbox.csv` with the classes of a `class-descriptions-boxable.csv`.

    The images are those of `image_list` (an id a line, or SPLIT/ID), else those that have boxes; they are numbered by
    ascending id, the categories by their line. A group (IsGroupOf) is a crowd, which no metric asks to be found.

    Raises TestSetError: `import-missing`, `import-invalid`, `testset-exists`, `testset-not-written`, and
    `ground-truth-missing` or `ground-truth-unreadable` for the lists.
    """
    require_folder(images)
    reports = reports or Reports()
    problems = reports.problems
    named = _classes(classes, problems)
    entries = {Path(entry).name: entry for entry in _listed(image_list)} if image_list else None
    found: dict[str, list[Box]] = {id_: [] for id_ in entries or ()}
    for id_, box in _boxes(boxes, None if entries is None else entries.keys(), problems):
        if box[0] not in named:
            problems.add(f"{boxes}: line {box[3]}: LabelName {shown(box[0])} is not among the classes")
        found.setdefault(id_, []).append(box)
    if not any(found.values()) and not problems.count:
        problems.add(f"{boxes}: no boxes of these images in it")
    sources, objects = [], []
    for number, id_ in enumerate(sorted(found), start=1):
        file = image_file(images, Path((entries or {}).get(id_, id_) + ".csv"), "")
        size = _size(images / file)
        sources.append(SourceImage(images / file, file, size, id_, origin=image_list or boxes))
        width, height = size or (0, 0)
        for label, (left, top, right, bottom), group, _ in found[id_] if size else ():
            across, down = (right - left) * width, (bottom - top) * height
            corner_and_sides = (left * width, top * height, across, down)
            if label in named:
                objects.append(ObjectRecord(number, named[label].id, corner_and_sides, across * down, group))
    return build_test_set(out, sources, list(named.values()), objects, reports)


def _classes(path: Path, problems: Problems) -> dict[str, Category]:
    try:
        rows = [row for row in csv.reader(read_text(path).splitlines()) if row]
    except csv.Error as error:
        raise TestSetError("ground-truth-unreadable", f"{path}: {error}") from error
    rows = rows[1:] if rows and rows[0][0] == "LabelName" else rows
    wrong = [row for row in rows if len(row) != 2 or not is_name(row[1])]
    problems.add(*(f"{path}: {shown(','.join(row))} is not LabelName,DisplayName" for row in wrong))
    lines = enumerate((row for row in rows if row not in wrong), start=1)
    return numbered(((label, number, name) for number, (label, name) in lines), path, problems)


def _listed(path: Path) -> list[str]:
    cells = (line.partition(",")[0].strip() for line in read_text(path).splitlines())
    return [cell.removesuffix(".jpg") for cell in cells if cell not in ("", "ImageID")]


def _boxes(path: Path, wanted: Container[str] | None, problems: Problems) -> Iterator[tuple[str, Box]]:
    """The valid boxes of the images that are wanted, one by one: the file of the training set has 2 GB."""
    try:
        require_regular(path)
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restval="")
            missing = [name for name in NEEDED if name not in (reader.fieldnames or ())]
            if missing:
                raise TestSetError("ground-truth-unreadable", f"{path}: line 1: no column {missing[0]}")
            for row in reader:
                if wanted is not None and row["ImageID"] not in wanted:
                    continue
                try:
                    yield contained(row["ImageID"]), _box(row, reader.line_num)
                except ValueError as error:
                    problems.add(f"{path}: line {reader.line_num}: {error}")
    except FileNotFoundError as error:
        raise TestSetError("ground-truth-missing", f"{path}: no such file") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TestSetError("ground-truth-unreadable", f"{path}: {error}") from error


def _box(row: dict[str, str], line: int) -> Box:
    left, top, right, bottom = (finite_number(row[name], name) for name in EDGES)
    if not (0 <= left <= right <= 1 and 0 <= top <= bottom <= 1):
        raise ValueError(f"box {[left, top, right, bottom]} is inverted, or not within 0 and 1")
    return row["LabelName"], (left, top, right, bottom), row.get("IsGroupOf") == "1", line


def _size(path: Path) -> tuple[int, int] | None:
    """Read an image's size from its head; one that is missing or broken the copy tells."""
    try:
        require_regular(path)
        with Pillow.open(path) as picture:
            return picture.size
    except (OSError, SyntaxError, ValueError, Pillow.DecompressionBombError):
        return None
