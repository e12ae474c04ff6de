"""Detections as a table with named columns: Parquet, and the CSV that `referee run export` writes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections import shown
from lpirc_score.detections.files.findings import NOT_COUNTED, Findings, refuse
from lpirc_score.detections.files.names import Finders
from lpirc_score.detections.files.row_files import all_good, read_each
from lpirc_score.detections.files.text import Numbered, csv_lines
from lpirc_score.errors import CodedError
from lpirc_score.metrics.detection_columns import Detections
from lpirc_testsets.errors import TestSetError
from lpirc_testsets.ground_truth import GroundTruth
from lpirc_testsets.parquet_tables import Columns, numbers_of, read_parquet, text_rows

EXPORT_HEADER = (
    "post,elapsed_s,team_image,image,file,counts,category,name,confidence,"
    "xmin,ymin,xmax,ymax"
)
COUNTS = "counts"
"""The column of an export that is 0 for rows of images that the run was not served. Where it is, images have ids."""

_COLUMNS = (
    ("image",),
    ("class", "category"),
    ("confidence", "score"),
    ("xmin",),
    ("ymin",),
    ("xmax",),
    ("ymax",),
)


def read_table(
    path: Path,
    ground_truth: GroundTruth,
    finders: Finders,
    inverted_boxes: bool,
) -> Detections:
    """Read Parquet; problems and notices are added to the finders' findings by the number of the row, from 1.

    Raises `CodedError` `unreadable-file` (no Parquet, a column is missing) or `no-pyarrow`.
    """
    try:
        columns = read_parquet(path)
    except TestSetError as error:
        if error.code == "no-pyarrow":
            raise CodedError(error.code, error.sentence) from error
        refuse(path, error.sentence.removeprefix(f"{path}: "))
    finders.images.findings.unit = "row"
    names = [_column(path, columns, choice) for choice in _COLUMNS]
    if COUNTS in columns:
        names.append(COUNTS)
        finders = finders.of_ids()
    return _detections(
        numbers_of(columns, names),
        text_rows(columns, names),
        ground_truth,
        finders,
        inverted_boxes,
    )


def read_export(
    path: Path,
    ground_truth: GroundTruth,
    finders: Finders,
    inverted_boxes: bool,
) -> Detections:
    """Read the CSV of an export; problems and notices are added to the finders' findings."""
    header = EXPORT_HEADER.split(",")
    wanted = ("image", "category", *header[8:], COUNTS)
    places = [header.index(name) for name in wanted]
    return _detections(
        _plain_numbers(path, places),
        _chosen(csv_lines(path, [header]), places, finders.images.findings),
        ground_truth,
        finders.of_ids(),
        inverted_boxes,
    )


def has_export_header(head: str) -> bool:
    """Return True if a file that begins with `head` is the CSV of an export."""
    return head.lstrip().partition("\n")[0].rstrip() == EXPORT_HEADER


def _detections(
    values: NDArray[np.float64] | None,
    lines: Numbered,
    ground_truth: GroundTruth,
    finders: Finders,
    inverted_boxes: bool,
) -> Detections:
    """Return the rows that count: from the numbers (n, 7 or 8) if all are good, else from the lines."""
    are_ids = not finders.images.names.of_ids
    if values is not None and all_good(values[:, :7], ground_truth, are_ids=are_ids):
        counts = values[:, 7] if values.shape[1] > 7 else np.ones(len(values))
        if ((counts == 0) | (counts == 1)).all():
            _note_uncounted(counts, finders.images.findings)
            return Detections.from_rows(values[counts == 1, :7])
    counted = _counted(lines, finders.images.findings)
    return read_each(counted, finders, inverted_boxes)


def _note_uncounted(counts: NDArray[np.float64], findings: Findings) -> None:
    for place in np.flatnonzero(counts == 0).tolist():
        findings.note(NOT_COUNTED, place + 1, "0")


def _counted(lines: Numbered, findings: Findings) -> Numbered:
    """Yield the first seven cells of the rows that count."""
    for line, cells in lines:
        counts = cells[7] if len(cells) > 7 else "1"
        if counts == "0":
            findings.note(NOT_COUNTED, line, "0")
        elif counts == "1":
            yield line, cells[:7]
        else:
            findings.problems.add(line, f"counts {shown(counts)} is neither 0 nor 1")


def _chosen(
    lines: Numbered,
    places: list[int],
    findings: Findings,
) -> Numbered:
    wanted = len(EXPORT_HEADER.split(","))
    for line, cells in lines:
        if len(cells) == wanted:
            yield line, [cells[place] for place in places]
        else:
            problem = f"a row needs {wanted} values, but this one has {len(cells)}"
            findings.problems.add(line, problem)


def _plain_numbers(path: Path, places: list[int]) -> NDArray[np.float64] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a header alone
        try:
            values = np.loadtxt(
                path,
                delimiter=",",
                comments=None,
                skiprows=1,
                usecols=places,
                quotechar='"',
                ndmin=2,
                encoding="utf-8-sig",
            )
        except ValueError:
            return None
    return values.reshape(-1, len(places))


def _column(
    path: Path,
    columns: Columns,
    choice: Iterable[str],
) -> str:
    present = [name for name in choice if name in columns]
    if not present:
        wanted = " or ".join(choice)
        has = shown(", ".join(columns))
        refuse(path, f"the column {wanted} is missing; the table has {has}")
    if len(present) > 1:
        both = " and ".join(present)
        refuse(path, f"it has columns {both}, and which of them counts is not known")
    return present[0]
