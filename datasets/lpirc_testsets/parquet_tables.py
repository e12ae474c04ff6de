"""Reads tables from Parquet files, as text cells like those of a CSV. Needs pyarrow, which is optional."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets.errors import TestSetError
from lpirc_testsets.file_bytes import file_bytes
from lpirc_testsets.presence import is_file
from lpirc_testsets.values import shown

SUFFIXES = (".parquet", ".pq")
MAGIC = b"PAR1"
FLAGS = ("difficult", "counts")
"""Columns that say of each row whether something is so."""

Columns = dict[str, NDArray[Any]]
"""Columns of equal length (n,) by name."""


def is_parquet(path: Path) -> bool:
    """Return True for a file with the name or the first bytes of Parquet. Raises OSError."""
    if not is_file(path):
        return False
    if path.suffix.lower() in SUFFIXES:
        return True
    first = file_bytes(path, len(MAGIC) + 1)
    return first.startswith(MAGIC) and first[len(MAGIC) :] < b" "  # so it is no text


def read_parquet(path: Path) -> Columns:
    """Return the columns of a Parquet file; a missing value is None or NaN.

    Raises TestSetError `no-pyarrow` or `ground-truth-unreadable`.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise TestSetError(
            "no-pyarrow",
            f"{path}: Parquet needs pyarrow, which is not installed: "
            "pip install pyarrow; or write the table as CSV",
        ) from None
    try:
        # The file alone: a table's path might also name a folder of parts.
        with path.open("rb") as file:
            table = parquet.ParquetFile(file).read()
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise TestSetError(
            "ground-truth-unreadable", f"{path}: not a Parquet file: {reason}"
        ) from error
    for name, uses in Counter(table.column_names).items():
        if uses > 1:
            sentence = f"{path}: it has {uses} columns {shown(name)}; which of them counts is not known"
            raise TestSetError("ground-truth-unreadable", sentence)
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        columns[name] = column.to_numpy(zero_copy_only=False)
    return columns


def text_rows(
    columns: Columns,
    names: Sequence[str],
) -> Iterator[tuple[int, list[str]]]:
    """Yield the numbers of the rows, from 1, and their cells in these columns as text that loses nothing.

    A truth value is 0 or 1 in the columns `FLAGS`; in others it is True or False, which is no number.
    """
    are_flags = [name in FLAGS for name in names]
    lists = [columns[name].tolist() for name in names]
    for number, values in enumerate(zip(*lists, strict=True), start=1):
        cells = zip(values, are_flags, strict=True)
        yield number, [_text(value, is_flag) for value, is_flag in cells]


def numbers_of(columns: Columns, names: Sequence[str]) -> NDArray[np.float64] | None:
    """Return these columns as numbers (n, names), or None if one of them holds something else."""
    found = [columns[name] for name in names]
    if not all(one.dtype.kind in "iuf" for one in found):
        return None
    return np.column_stack([one.astype(np.float64) for one in found])


def _text(value: object, is_flag: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) and is_flag:
        return str(int(value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # an id may stand in a column of floats
    return str(value)
