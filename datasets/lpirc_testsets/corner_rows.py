"""Checks what a program gives for ground truth: names by id, and rows of corners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets.errors import TestSetError
from lpirc_testsets.values import LARGEST_ID, shown

Table = NDArray[np.float64]

ROW = "image, category, xmin, ymin, xmax, ymax, difficult"
_COLUMNS = 7


def names_by_id(names: Mapping[int, str], what: str) -> dict[int, str]:
    """Return the names of images or categories by ascending id. Raises TestSetError `bad-rows`."""
    if not isinstance(names, Mapping):
        raise _refused(f"the {what} are {shown(names)}, not a mapping from id to name")
    found: dict[int, str] = {}
    for id_, name in names.items():
        is_number = isinstance(id_, (int, np.integer)) and not isinstance(id_, bool)
        if not is_number or abs(int(id_)) > LARGEST_ID:
            raise _refused(
                f"the {what} have the id {shown(id_)}, which is no whole number of at most 53 bits"
            )
        if not isinstance(name, str):
            raise _refused(
                f"the {what} have the name {shown(name)} for {id_}, not text"
            )
        found[int(id_)] = name
    return dict(sorted(found.items()))


def table_of_rows(
    rows: object,
    images: Sequence[int],
    categories: Sequence[int],
) -> Table:
    """Return the rows of objects (M, 7), each of one of these images and categories.

    A box may have no area. Raises TestSetError `bad-rows` for the first row that is none.
    """
    try:
        table = np.array(rows, np.float64)
    except (TypeError, ValueError) as error:
        raise _refused(f"not every row is seven numbers: {ROW}") from error
    if not table.size:
        return table.reshape(0, _COLUMNS)
    if table.ndim != 2 or table.shape[1] != _COLUMNS:
        raise _refused(
            f"the rows have the shape {table.shape}, not (objects, {_COLUMNS}): {ROW}"
        )
    image = table[:, 0]
    category = table[:, 1]
    problems = {
        "a number is not finite": ~np.isfinite(table),
        "its image is not among the images": ~np.isin(image, [*images]),
        "its category is not among the categories": ~np.isin(category, [*categories]),
        "its box is inverted": table[:, 4:6] < table[:, 2:4] - 1,
    }
    for problem, is_wrong in problems.items():
        if is_wrong.any():
            at = int(np.argwhere(is_wrong)[0, 0])
            told = ", ".join(f"{value:g}" for value in table[at].tolist())
            raise _refused(f"rows[{at}] ({told}): {problem}")
    return table


def _refused(problem: str) -> TestSetError:
    sentence = f"These rows are no ground truth: {problem}."
    return TestSetError("bad-rows", sentence)
