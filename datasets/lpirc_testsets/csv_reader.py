"""Reads CSV: ground truth into columns, and lists of images.

Ground truth has the header `image,class,xmin,ymin,xmax,ymax[,difficult]`, then one object per line; image and class are
integer ids, corners are inclusive pixels, `difficult` is 0 or 1. The categories are those that occur; a category's name
is its id. A list of images has the header `image[,name]`, then one image per line.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.file_bytes import read_text
from lpirc_testsets.ground_truth import GroundTruth, Row
from lpirc_testsets.parquet_tables import read_parquet, text_rows
from lpirc_testsets.values import finite_number, integer, shown

COLUMNS = ("image", "class", "xmin", "ymin", "xmax", "ymax")

CONFIDENCES = frozenset({"confidence", "score"})
"""Columns that detections have, and no ground truth."""


def read_csv(path: Path) -> GroundTruth:
    """Read ground truth from CSV. Raises TestSetError as `read_ground_truth` does."""
    lines = csv_lines(path, (COLUMNS, (*COLUMNS, "difficult")))
    return _ground_truth(path, lines, "line", "below the header")


def read_table(path: Path) -> GroundTruth:
    """Read ground truth from a Parquet file with the columns of a CSV. Raises as `read_csv`, and `no-pyarrow`."""
    columns = read_parquet(path)
    scored = [name for name in ("confidence", "score") if name in columns]
    if scored:
        raise TestSetError(
            "ground-truth-unreadable",
            f"{path}: it has a column {scored[0]}, so these are detections and no ground truth",
        )
    wanted = [*COLUMNS, "difficult"]
    if "difficult" not in columns:
        wanted.pop()
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise TestSetError(
            "ground-truth-unreadable",
            f"{path}: the column {missing[0]} is missing; it has {shown(', '.join(columns))}, "
            f'expected "{",".join(COLUMNS)}"',
        )
    return _ground_truth(path, text_rows(columns, wanted), "row", "in it")


def _ground_truth(
    path: Path,
    lines: Iterable[tuple[int, list[str]]],
    unit: str,
    place: str,
) -> GroundTruth:
    problems = Problems()
    rows: list[Row] = []
    for line, cells in lines:
        try:
            rows.append(_row(cells))
        except ValueError as error:
            problems.add(f"{path}: {unit} {line}: {error}")
    if not rows and not problems.count:
        problems.add(f"{path}: no objects {place}")
    problems.raise_if_any("ground-truth-invalid")
    images = sorted({row[0] for row in rows})
    categories = sorted({row[1] for row in rows})
    return GroundTruth.of_corners(
        dict.fromkeys(images, ""), {id_: str(id_) for id_ in categories}, rows
    )


def read_image_list(path: Path) -> dict[int, str]:
    """Read a list of images: return ids, ascending, and their names ("" without a column `name`).

    Raises TestSetError as `read_ground_truth` does, also for an id that is listed twice.
    """
    problems = Problems()
    found: dict[int, str] = {}
    for line, (cell, *name) in csv_lines(path, (("image",), ("image", "name"))):
        try:
            id_ = integer(cell, "image")
        except ValueError as error:
            problems.add(f"{path}: line {line}: {error}")
            continue
        if id_ in found:
            problems.add(f"{path}: line {line}: image {id_} is listed more than once")
        found[id_] = "".join(name)
    if not found and not problems.count:
        problems.add(f"{path}: no images below the header")
    problems.raise_if_any("ground-truth-invalid")
    return dict(sorted(found.items()))


def csv_lines(
    path: Path,
    headers: tuple[tuple[str, ...], ...],
) -> list[tuple[int, list[str]]]:
    """Return line numbers and cells below the header, which must be one of `headers`; blank lines are skipped.

    Raises TestSetError as `read_ground_truth` does.
    """
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        lines = [(reader.line_num, cells) for cells in reader if "".join(cells).strip()]
    except csv.Error as error:
        raise TestSetError(
            "ground-truth-unreadable", f"{path}: line {reader.line_num}: {error}"
        ) from error
    header = tuple(cell.strip() for cell in lines[0][1]) if lines else ()
    if header not in headers:
        wanted = " or ".join(f'"{",".join(names)}"' for names in headers)
        text = ",".join(header)
        if not lines:
            raise TestSetError("ground-truth-unreadable", f"{path}: the file is empty")
        sentence = f"{path}: the header is {shown(text)}, expected {wanted}{other_separator(text)}"
        if CONFIDENCES.intersection(header):
            sentence += "; it has confidences, as detections have: is it given in place of the ground truth?"
        raise TestSetError("ground-truth-unreadable", sentence)
    problems = Problems()
    for line, cells in lines:
        if len(cells) != len(header):
            problems.add(
                f"{path}: line {line}: {len(cells)} values, the header has {len(header)}"
            )
    problems.raise_if_any("ground-truth-invalid")
    return lines[1:]


def other_separator(line: str) -> str:
    """Return what to add to a sentence about a line that has no commas but semicolons or tabs; "" for any other."""
    separators = {";": "semicolons", "\t": "tabs"}
    for separator, name in separators.items():
        first = line.partition(separator)[0]
        if separator in line and not set(",=#") & set(first):
            return f"; {name} separate its values: save it with commas, and with points in numbers"
    return ""


def _row(cells: list[str]) -> Row:
    image = integer(cells[0], "image")
    category = integer(cells[1], "class")
    xmin, ymin, xmax, ymax = (
        finite_number(cell, name)
        for cell, name in zip(cells[2:6], COLUMNS[2:], strict=True)
    )
    if xmax < xmin or ymax < ymin:
        raise ValueError(f"the box {shown(','.join(cells[2:6]))} is inverted")
    difficult = "0"
    if len(cells) > 6:
        difficult = cells[6].strip()
    if difficult not in ("0", "1"):
        raise ValueError(f"`difficult` is {shown(difficult)}, but must be 0 or 1")
    return image, category, xmin, ymin, xmax, ymax, difficult == "1"
