"""Checks the columns of detections that a program gives; columns of the right types are not copied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_score.errors import CodedError
from lpirc_testsets.values import LARGEST_ID, shown

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ROW = "image, category, confidence, xmin, ymin, xmax, ymax"
ROW_NUMBERS = 7
_BOX = 4


def ids_of(column: object, name: str) -> Ints:
    """Return ids (M,) as int64. Raises `CodedError` `bad-columns` unless each is a whole number."""
    if isinstance(column, np.ndarray) and column.dtype == np.int64:
        return column
    found = _array(column, name)
    if found.dtype.kind in "iu" or not found.size:
        return found.astype(np.int64)
    with np.errstate(invalid="ignore"):
        ids = found.astype(np.int64)
    is_wrong = (ids != found) | (np.abs(found) > LARGEST_ID)
    if is_wrong.any():
        at = int(is_wrong.ravel().argmax())
        value = found.ravel()[at].item()
        raise _refused(f"the {name} of row {at} is {value}, not a whole number")
    return ids


def numbers_of(column: object, name: str) -> Floats:
    """Return numbers as float64. Raises `CodedError` `bad-columns` for anything else."""
    if isinstance(column, np.ndarray) and column.dtype == np.float64:
        return column
    return _array(column, name).astype(np.float64)


def require_rows(table: Floats) -> None:
    """Raise `CodedError` `bad-columns` unless the rows have seven numbers."""
    if table.ndim != 2 or table.shape[1] != ROW_NUMBERS:
        shape = f"{table.shape}, not (detections, {ROW_NUMBERS})"
        raise _refused(f"the rows have the shape {shape}: {ROW}")


def require_shapes(columns: Mapping[str, Any]) -> None:
    """Raise `CodedError` `bad-columns` unless the columns of detections have the same length and the right shapes."""
    count = len(columns["image"]) if columns["image"].ndim else 0
    for name, column in columns.items():
        if column is None:
            continue
        expected = (count, _BOX) if name.endswith("boxes") else (count,)
        if column.shape != expected:
            raise _refused(
                f"{name} has the shape {column.shape}, where {expected} belongs to {count} images"
            )


def _array(column: object, name: str) -> NDArray[Any]:
    try:
        found = np.asarray(column)
    except (TypeError, ValueError) as error:  # lists of different lengths
        raise _refused(f"{name} {shown(column)} is no array of numbers") from error
    if found.dtype.kind not in "iuf" and found.size:
        raise _refused(f"{name} {shown(column)} is no array of numbers")
    return found


def _refused(problem: str) -> CodedError:
    sentence = f"These columns are no detections: {problem}."
    return CodedError("bad-columns", sentence)
