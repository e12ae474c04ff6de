"""Imports Open Images: boxes as CSV, one per line, and a folder of images `ID.jpg`.

Format: https://storage.googleapis.com/openimages/web/download_v7.html, "Data formats". Coordinates are fractions of the
image's width and height, from edge to edge: for a width W, XMin * W is the left edge of the first pixel. XMax * W is
the right edge of the last pixel, which as an inclusive pixel counted from 0 is XMax * W - 1. The hierarchy of classes
is not used.
"""

from __future__ import annotations

import csv
from collections.abc import Container, Iterator
from operator import itemgetter
from pathlib import Path

from PIL import Image as Pillow

from lpirc_testsets.errors import Problems, Reports, TestSetError
from lpirc_testsets.file_bytes import read_text, require_regular
from lpirc_testsets.folder import TestSet, contained
from lpirc_testsets.formats import FileOption, Format
from lpirc_testsets.ground_truth import NamedBox
from lpirc_testsets.set_building import (
    Categories,
    SourceImage,
    build_annotated,
    numbered,
    require_folder,
)
from lpirc_testsets.values import finite_number, is_name, shown
from lpirc_testsets.voc_import import image_file

COLUMNS = ("ImageID", "LabelName", "IsGroupOf", "XMin", "YMin", "XMax", "YMax")
FLAGS = ("0", "1", "-1")  # -1: unknown


def import_open_images(
    boxes: Path,
    classes: Path,
    images: Path,
    out: Path,
    image_list: Path | None = None,
    reports: Reports | None = None,
) -> TestSet:
    """Import the boxes of a `*-annotations-bbox.csv` with the classes of a `class-descriptions-boxable.csv`.

    The images are those of `image_list` (one id per line, or SPLIT/ID), otherwise those that have boxes. Images are
    numbered by ascending id, categories by their line. A group (IsGroupOf) becomes a crowd, which no metric requires to
    be found.

    Raises TestSetError: `import-missing`, `import-invalid`, `testset-exists`, `testset-not-written`, and
    `ground-truth-missing` or `ground-truth-unreadable` for the lists.
    """
    require_folder(images)
    reports = reports or Reports()
    named = _classes(classes, reports.problems)
    entries = None
    if image_list:
        entries = {Path(entry).name: entry for entry in _listed(image_list)}
    found: dict[str, list[NamedBox]] = {id_: [] for id_ in entries or ()}
    for id_, box in _boxes(
        boxes, None if entries is None else entries.keys(), named, reports.problems
    ):
        found.setdefault(id_, []).append(box)
    annotated = []
    for id_ in sorted(found):
        file = image_file(images, Path((entries or {}).get(id_, id_) + ".csv"), "")
        size = _size(images / file)
        source = SourceImage(
            images / file,
            file,
            size,
            id_,
            origin=image_list or boxes,
        )
        annotated.append(
            (source, [_in_pixels(box, *size) for box in found[id_]] if size else [])
        )
    return build_annotated(
        out,
        annotated,
        named,
        boxes,
        reports,
    )


FORMAT = Format(
    import_open_images,
    "Import Open Images; a group (IsGroupOf) becomes a crowd, and the hierarchy of "
    "classes is ignored.",
    (
        FileOption("boxes", "The *-annotations-bbox.csv."),
        FileOption("classes", "The class-descriptions-boxable.csv."),
        FileOption(
            "list",
            "File with the ids of the images, one per line; default: all images that have boxes.",
            required=False,
            parameter="image_list",
        ),
    ),
)


def _classes(path: Path, problems: Problems) -> Categories:
    try:
        rows = [row for row in csv.reader(read_text(path).splitlines()) if row]
    except csv.Error as error:
        raise TestSetError("ground-truth-unreadable", f"{path}: {error}") from error
    if rows and rows[0][0] == "LabelName":
        rows = rows[1:]
    wrong = [row for row in rows if len(row) != 2 or not is_name(row[1])]
    problems.add(
        *(
            f"{path}: {shown(','.join(row))} is not LabelName,DisplayName"
            for row in wrong
        )
    )
    lines = enumerate((row for row in rows if row not in wrong), start=1)
    return numbered(
        ((label, number, name) for number, (label, name) in lines), path, problems
    )


def _listed(path: Path) -> list[str]:
    cells = (line.partition(",")[0].strip() for line in read_text(path).splitlines())
    return [cell.removesuffix(".jpg") for cell in cells if cell not in ("", "ImageID")]


def _boxes(
    path: Path,
    wanted: Container[str] | None,
    named: Categories,
    problems: Problems,
) -> Iterator[tuple[str, NamedBox]]:
    """Yield the valid boxes, as fractions, of the wanted images one by one, since the training set's file has 2 GB."""
    line = 1
    try:
        require_regular(path)
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            header = next(reader, [])
            _require_columns(path, header)
            pick = itemgetter(*map(header.index, COLUMNS))
            for cells in filter(None, reader):
                line = reader.line_num
                if len(cells) != len(header):
                    problems.add(
                        f"{path}: line {line}: {len(cells)} values, the header has {len(header)}"
                    )
                    continue
                id_, *values = pick(cells)
                try:
                    if wanted is None or id_ in wanted:
                        yield contained(id_), _box(values, named)
                except ValueError as error:
                    problems.add(f"{path}: line {line}: {error}")
    except FileNotFoundError as error:
        raise TestSetError("ground-truth-missing", f"{path}: no such file") from error
    except OSError as error:
        raise TestSetError(
            "ground-truth-unreadable", f"{path}: {error.strerror}"
        ) from error
    except (UnicodeDecodeError, csv.Error) as error:
        sentence = f"{path}: not CSV in UTF-8 after line {line}: {error}"
        raise TestSetError("ground-truth-unreadable", sentence) from error


def _require_columns(path: Path, header: list[str]) -> None:
    """Raise TestSetError `ground-truth-unreadable` unless the header has each of COLUMNS exactly once."""
    for name in COLUMNS:
        if header.count(name) == 1:
            continue
        what = "two columns" if name in header else "no column"
        sentence = f"{path}: line 1: {what} {name}"
        raise TestSetError("ground-truth-unreadable", sentence)


def _box(values: list[str], named: Categories) -> NamedBox:
    """Return the box from the cells of `COLUMNS` after ImageID, with corners as fractions of the image."""
    label, group, *edges = values
    if label not in named:
        raise ValueError(f"LabelName {shown(label)} is not among the classes")
    if group not in FLAGS:
        raise ValueError(f"IsGroupOf {shown(group)} is neither 0, 1 nor -1")
    left, top, right, bottom = (
        finite_number(*one) for one in zip(edges, COLUMNS[3:], strict=True)
    )
    if not (0 <= left <= right <= 1 and 0 <= top <= bottom <= 1):
        raise ValueError(
            f"box {[left, top, right, bottom]} is inverted, or not within 0 and 1"
        )
    return NamedBox(label, (left, top, right, bottom), crowd=group == "1")


def _in_pixels(
    box: NamedBox,
    width: int,
    height: int,
) -> NamedBox:
    left, top, right, bottom = box.corners
    corners = (left * width, top * height, right * width - 1, bottom * height - 1)
    return NamedBox(box.name, corners, crowd=box.crowd)


def _size(path: Path) -> tuple[int, int] | None:
    """Read an image's size from its header; a missing or broken image is reported later, when it is copied."""
    try:
        require_regular(path)
        with Pillow.open(path) as picture:
            return picture.size
    except (OSError, SyntaxError, ValueError, Pillow.DecompressionBombError):
        return None
