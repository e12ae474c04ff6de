"""Checks rows: known images and categories, finite numbers, valid boxes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections.parsed_rows import (
    MAX_PROBLEMS,
    NAMES,
    ProblemList,
    Rows,
    inverted_box,
    plain,
)
from lpirc_score.errors import BadRows, CodedError

SHOWN_IDS = 5


def check_rows(
    rows: Rows,
    images: int,
    category_ids: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the values (n, 7) of the rows. Raises BadRows `bad-rows` with every problem unless all rows are good."""
    values, problems = good_rows(rows, images, category_ids)
    if problems.total:
        raise bad_rows(problems)
    return values


def good_rows(
    rows: Rows,
    images: int,
    category_ids: NDArray[np.int64],
    *,
    inverted_boxes: bool = False,
) -> tuple[NDArray[np.float64], ProblemList]:
    """Return the values (m, 7) of rows with an image 1..`images`, a known category and a valid box, and the problems.

    `category_ids` must ascend; `inverted_boxes` allows inverted boxes. The problems are those of the parser, numbers
    that are not finite, unknown images and categories, and inverted boxes.
    """
    image, category, _, xmin, ymin, xmax, ymax = rows.values.T
    good_image = (image >= 1) & (image <= images) & (np.floor(image) == image)
    good_category = is_known(category, category_ids)
    good_box = ((xmin <= xmax) & (ymin <= ymax)) | inverted_boxes
    are_good = good_image & good_category & good_box
    if rows.unreadable.total == 0 and are_good.all() and np.isfinite(rows.values).all():
        return rows.values, rows.unreadable
    finite = np.atleast_1d(np.isfinite(rows.values).all(axis=1))
    problems = ProblemList(list(rows.unreadable.first), rows.unreadable.total)
    _describe(problems, rows, ~finite, _not_finite)
    _describe(
        problems,
        rows,
        finite & ~good_image,
        lambda r: f"image {plain(r[0])} is not a whole number in 1..{images}",
    )
    _describe(
        problems,
        rows,
        finite & ~good_category,
        lambda r: (
            f"category {plain(r[1])} is unknown{ids_in_words(category_ids)}"
            f"{shift_in_words(r[1], category_ids)}"
        ),
    )
    _describe(problems, rows, finite & ~good_box, inverted_box)
    return rows.values[finite & are_good], problems


def is_known(
    values: NDArray[np.float64] | NDArray[np.int64],
    ascending: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return which values (M,) are among the ids (K,), which must ascend."""
    if len(ascending) == 0:
        return np.zeros(len(values), np.bool_)
    at = ascending.searchsorted(values)
    found: NDArray[np.bool_] = ascending.take(at, mode="clip") == values
    return found


def ids_in_words(ascending: NDArray[np.int64]) -> str:
    """Return which ids (K,) a contest has, for the end of a sentence: "; the ids are 1 to 20"."""
    if len(ascending) == 0:
        return ""
    first = int(ascending[0])
    last = int(ascending[-1])
    if last - first + 1 == len(ascending):
        return f"; the ids are {first} to {last}"
    some = ", ".join(str(int(one)) for one in ascending[:SHOWN_IDS])
    if len(ascending) <= SHOWN_IDS:
        return f"; the ids are {some}"
    return f"; the {len(ascending)} ids are {some}, ... {last}"


def shift_in_words(value: float, ascending: NDArray[np.int64]) -> str:
    """Return what to do about an unknown id if the ids (K,) have no gaps and others may count from 0, or from 1."""
    if len(ascending) == 0:
        return ""
    first = int(ascending[0])
    last = int(ascending[-1])
    if last - first + 1 != len(ascending):
        return ""
    if (value, first) == (0, 1):
        return "; if yours begin with 0, add 1 to all"
    if (value, first) == (last + 1, 0):
        return "; if yours begin with 1, subtract 1 from all"
    return ""


def bad_rows(problems: ProblemList) -> CodedError:
    """Return the error for a body with at least one problem."""
    line, problem = min(problems.first)
    more = ""
    if problems.total > 1:
        more = f" (and {problems.total - 1} more problems)"
    return BadRows(
        "bad-rows",
        f"Nothing was stored: line {line}: {problem}{more}.",
        problems=problems.as_facts(),
        total=problems.total,
    )


def _not_finite(row: NDArray[np.float64]) -> str:
    bad = (
        f"{name} is {value}"
        for name, value in zip(NAMES, row, strict=True)
        if not np.isfinite(value)
    )
    return f"{', '.join(bad)}; only finite numbers are allowed"


def _describe(
    problems: ProblemList,
    rows: Rows,
    bad: NDArray[np.bool_],
    words: Callable[[NDArray[np.float64]], str],
) -> None:
    # However many lines are bad, only those that are reported get a sentence.
    places = np.flatnonzero(bad)
    described = [
        (int(rows.lines[place]), words(rows.values[place]))
        for place in places[:MAX_PROBLEMS]
    ]
    problems.first = sorted([*problems.first, *described])[:MAX_PROBLEMS]
    problems.total += len(places)
