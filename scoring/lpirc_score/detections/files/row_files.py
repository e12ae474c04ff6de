"""Rows of seven values: CSV with a header, or the contest's own rows without one."""

from __future__ import annotations

import re
import warnings
from array import array
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections import inverted_box, is_known, shown
from lpirc_score.detections.files.findings import INVERTED, Findings, refuse
from lpirc_score.detections.files.names import Finders, has_misleading_names
from lpirc_score.detections.files.text import (
    Numbered,
    bare_cells,
    bare_lines,
    check_length,
    csv_lines,
    numbers,
)
from lpirc_score.metrics.detection_columns import Detections
from lpirc_testsets.csv_reader import COLUMNS, other_separator
from lpirc_testsets.ground_truth import GroundTruth

HEADER = "image,class,confidence,xmin,ymin,xmax,ymax"
_HEADERS = tuple(
    HEADER.replace("class", category).replace("confidence", confidence).split(",")
    for category in ("class", "category")
    for confidence in ("confidence", "score")
)


def _hint(line: str) -> str:
    """Return what is probably wrong with a first line that has no row."""
    if "\ufffd" in line or not line.replace("\t", "").isprintable():
        return "; it is not text"
    names = _cells(line)
    small = [name.lower() for name in names]
    if small[1:] in _HEADERS:
        return "; take the first column out, in pandas with to_csv(index=False)"
    if sorted(small) in map(sorted, _HEADERS) and small not in _HEADERS:
        return "; put the columns in that order"
    if names[: len(COLUMNS)] == [*COLUMNS]:
        return (
            "; it has no confidences: is the ground truth given in place of detections?"
        )
    if small in _HEADERS:
        return "; write the names in small letters"
    return other_separator(line)


def read_rows(
    path: Path,
    head: str,
    ground_truth: GroundTruth,
    finders: Finders,
    inverted_boxes: bool,
) -> Detections:
    """Read the rows of a file that begins with `head`; problems and notices are added to the finders' findings."""
    first = next((line for line in head.splitlines() if line.strip()), "")
    has_header = _cells(first) in _HEADERS
    is_indexed = _cells(first)[1:] in _HEADERS
    if is_indexed or not (has_header or _looks_like_row(first)):
        refuse(
            path,
            f"line 1 is neither seven values nor the header {HEADER}: {shown(first)}{_hint(first)}",
        )
    values = _plain_numbers(path, has_header, "," if "," in first else None)
    if values is not None and all_good(values, ground_truth):
        return Detections.from_rows(values)
    lines = csv_lines(path, _HEADERS) if has_header else bare_lines(path)
    return read_each(lines, finders, inverted_boxes)


def _cells(line: str) -> list[str]:
    return [cell.strip().strip('"') for cell in line.split(",")]


def _looks_like_row(line: str) -> bool:
    cells = bare_cells(line)
    return len(cells) > 2 and any(re.match("[+-]?[.]?[0-9]", cell) for cell in cells)


def _plain_numbers(
    path: Path,
    has_header: bool,
    delimiter: str | None,
) -> NDArray[np.float64] | None:
    """Return rows (M, 7) if the file holds only numbers, read fast by numpy's C reader."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # a header alone "contained no data"
        try:
            values = np.loadtxt(
                path,
                delimiter=delimiter,
                comments=None,
                skiprows=int(has_header),
                ndmin=2,
                encoding="utf-8-sig",
            )
        except (
            ValueError
        ):  # names, quotes, blanks beside commas, or a mistake: read by line
            return None
    if values.size == 0:
        return np.empty((0, 7))
    if values.shape[1] == 7:
        return values
    return None


def all_good(
    values: NDArray[np.float64],
    ground_truth: GroundTruth,
    *,
    are_ids: bool = False,
) -> bool:
    """Return True if all rows (M, 7) can be taken as they are; with `are_ids` a number is no name for sure."""
    image, category, _, xmin, ymin, xmax, ymax = values.T
    return bool(
        np.isfinite(values).all()
        and (are_ids or not has_misleading_names(ground_truth))
        and is_known(image, ground_truth.image_ids).all()
        and is_known(category, ground_truth.category_ids).all()
        and (xmin <= xmax).all()
        and (ymin <= ymax).all()
    )


def read_each(
    lines: Numbered,
    finders: Finders,
    inverted_boxes: bool,
) -> Detections:
    """Read rows of seven cells; problems and notices are added to the finders' findings."""
    findings = finders.images.findings
    rows = array("d")
    for line, cells in lines:
        try:
            check_length(cells, 7)
            image = finders.images.by_text(cells[0], line)
            row = (
                image,
                finders.categories.by_text(cells[1], line),
                *numbers(cells[2:]),
            )
            _check_box(row, line, findings, inverted_boxes)
            rows.extend(row)
        except ValueError as error:
            findings.problems.add(line, str(error))
    return Detections.from_rows(np.array(rows, np.float64).reshape(-1, 7))


def _check_box(
    row: tuple[float, ...],
    line: int,
    findings: Findings,
    inverted_boxes: bool,
) -> None:
    if row[5] < row[3] or row[6] < row[4]:
        if not inverted_boxes:
            raise ValueError(inverted_box(row))
        findings.note(INVERTED, line, inverted_box(row).partition(":")[0])
