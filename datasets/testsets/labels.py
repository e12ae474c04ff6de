"""The truth of a set for classification: `labels.csv`, header `file,label`, one line per image.

A label is an index into the 1001 outputs of a model trained on ImageNet; 0, the background, is no image's truth.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from testsets.csv_reader import csv_lines
from testsets.errors import TestSetError
from testsets.folder import TestSet, sha256_of
from testsets.problems import Problems

COLUMNS = ("file", "label")
LARGEST_LABEL = 1000


@dataclass(frozen=True, eq=False)
class Labels:
    """`by_image[i]` is the label of image i + 1, shape (N,), int64; `sha256` that of the file."""

    by_image: NDArray[np.int64]
    sha256: str


def read_labels(test_set: TestSet) -> Labels:
    """The labels of a test set's images.

    Raises TestSetError with every problem found, at most 20: `ground-truth-missing` (no such file),
    `ground-truth-unreadable` (no text, or other columns), `ground-truth-invalid` (a file that is not in the set or
    listed twice, an image without label, a label that is not a whole number from 1 to 1000).
    """
    path, problems = test_set.labels_path, Problems()
    labels = _labels_of(test_set, problems)
    problems.raise_if_any("ground-truth-invalid")
    by_image = np.array([labels[image.file] for image in test_set.images], dtype=np.int64)
    return Labels(by_image, sha256_of(path))


def label_problems(test_set: TestSet) -> tuple[str, ...]:
    """Everything that is wrong with the labels of a set; nothing for a set that has none."""
    if not test_set.labels_path.exists():
        return ()
    problems = Problems(limit=None)
    try:
        _labels_of(test_set, problems)
    except TestSetError as error:
        return error.problems or (error.sentence,)
    return problems.kept


def parse_labels(path: Path, problems: Problems) -> dict[str, int]:
    """The labels by file name in the order of the file; what is wrong goes to `problems`.

    Raises TestSetError `ground-truth-missing`, `ground-truth-unreadable`, `ground-truth-invalid` when there is nothing
    to go on with.
    """
    found: dict[str, int] = {}
    lines = csv_lines(path, (COLUMNS,))
    if not lines:
        problems.add(f"{path}: no labels below the header")
    for line, (file, cell) in lines:
        label = _label(cell)
        if label is None:
            problems.add(
                f"{path}: line {line}: label {cell!r} is not a whole number from 1 to {LARGEST_LABEL}"
            )
        if file.strip() in found:
            problems.add(f"{path}: line {line}: {file.strip()} is listed more than once")
        found[file.strip()] = label or 0
    return found


def _labels_of(test_set: TestSet, problems: Problems) -> dict[str, int]:
    path = test_set.labels_path
    labels = parse_labels(path, problems)
    if labels:
        _compare(path, labels.keys(), {image.file for image in test_set.images}, problems)
    return labels


def _compare(path: Path, listed: Collection[str], files: Collection[str], problems: Problems) -> None:
    for file in listed:
        if file not in files:
            problems.add(f"{path}: {file} is not an image of the set")
    for file in sorted(set(files) - set(listed)):
        problems.add(f"{path}: the image {file} has no label")


def _label(cell: str) -> int | None:
    text = cell.strip()
    # Not str.isdigit alone: it knows the digits of every script.
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_LABEL))):
        return None
    return int(text) if 1 <= int(text) <= LARGEST_LABEL else None
