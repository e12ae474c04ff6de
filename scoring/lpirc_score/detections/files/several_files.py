"""Reads detections that lie in several text files: what VOC results and YOLO's text files have in common."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections.files.findings import Findings, raise_if_any_in
from lpirc_score.detections.files.names import Finders
from lpirc_score.detections.files.text import lines_of_any
from lpirc_score.detections.parsed_rows import ProblemList
from lpirc_score.metrics.detection_columns import Detections

Row = tuple[float, ...]
RowOf = Callable[[list[str], int], Row]


@dataclass(frozen=True)
class Read:
    """Detections, and the warnings of the files that they come from."""

    detections: Detections
    warnings: tuple[str, ...]


def read_rows_of(
    files: Iterable[Path],
    finders: Finders,
    rows_of: Callable[[Path], RowOf],
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the rows (n, 7) of all files, in their order, and the warnings.

    `rows_of` gives for a file what makes a row of the cells of a line and its number; both raise ValueError.

    Raises `CodedError` `bad-detections` with the problems of all files, `unreadable-file`.
    """
    values = array("d")
    every = []
    limits = finders.images.findings.problems
    for file in files:
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
