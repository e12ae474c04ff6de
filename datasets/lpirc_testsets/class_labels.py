"""The ground truth of a classification set: `labels.csv` with the header `file,label` and one line per image.

A label is an index into the 1001 outputs of a model trained on ImageNet; 0, the background, is never an image's label.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets.csv_reader import csv_lines
from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.folder import TestSet, contained, sha256_of
from lpirc_testsets.values import shown

COLUMNS = ("file", "label")
LARGEST_LABEL = 1000


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of a set: `by_image[i]` is that of image i + 1, shape (N,), int64; `sha256` is that of the file."""

    by_image: NDArray[np.int64]
    sha256: str


def read_labels(test_set: TestSet) -> Labels:
    """Return the labels of a test set's images.

    Raises TestSetError with every problem found, at most 20: `ground-truth-missing` (no such file),
    `ground-truth-unreadable` (no text, or other columns), `ground-truth-invalid` (a file that is not in the set or
    listed twice, an image without label, a label that is not a whole number from 1 to 1000).
    """
    problems = Problems()
    labels = _labels_of(test_set, problems)
    problems.raise_if_any("ground-truth-invalid")
    by_image = np.array(
        [labels[image.file] for image in test_set.images], dtype=np.int64
    )
    return Labels(by_image, sha256_of(test_set.labels_path))


def label_problems(test_set: TestSet) -> tuple[str, ...]:
    """Return everything that is wrong with the labels of a set; nothing for a set without labels."""
    problems = Problems(limit=None)
    try:
        if not test_set.has_labels:
            return ()
        _labels_of(test_set, problems)
    except TestSetError as error:
        return error.problems or (error.sentence,)
    return problems.kept


def _labels_of(test_set: TestSet, problems: Problems) -> dict[str, int]:
    path = test_set.labels_path
    files = {image.file for image in test_set.images}
    labels = parse_labels(path, problems)
    if labels:
        problems.add(
            *(
                f"{path}: {file} is not an image of the set"
                for file in labels
                if file not in files
            )
        )
        problems.add(
            *(
                f"{path}: the image {file} has no label"
                for file in sorted(files - labels.keys())
            )
        )
    return labels


def parse_labels(path: Path, problems: Problems) -> dict[str, int]:
    """Return the labels by file name, in the order of the file; problems are added to `problems`.

    Raises TestSetError as `read_labels` does if nothing in the file can be used.
    """
    found: dict[str, int] = {}
    lines = csv_lines(path, (COLUMNS,))
    if not lines:
        problems.add(f"{path}: no labels below the header")
    for line, (file, cell) in lines:
        label = _label(cell)
        if label is None:
            wanted = f"a whole number from 1 to {LARGEST_LABEL}"
            problems.add(f"{path}: line {line}: label {shown(cell)} is not {wanted}")
        try:
            name = contained(file.strip())
        except ValueError as error:
            problems.add(f"{path}: line {line}: {error}")
            continue
        if name in found:
            problems.add(f"{path}: line {line}: {name} is listed more than once")
        found[name] = label or 0
    return found


def _label(cell: str) -> int | None:
    text = cell.strip()
    # str.isdigit alone accepts the digits of every script
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_LABEL))):
        return None
    if 1 <= int(text) <= LARGEST_LABEL:
        return int(text)
    return None


def labels_csv(labels: Mapping[str, int]) -> bytes:
    """Return the content of `labels.csv`."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *labels.items()])
    return text.getvalue().encode()
