"""Checks and packs the rows that a detector returns for one image.

A row is (category id, confidence, xmin, ymin, xmax, ymax) in pixels, corners included, the first pixel 0: six numbers
in a list, a tuple or a row of a NumPy array. The referee refuses a whole body for one bad row, so each is checked
before it is sent.
"""

from __future__ import annotations

import inspect
import json
import sys
from array import array
from typing import TYPE_CHECKING, Any, Iterable, Mapping

from lpirc_client.errors import AnswerError

if TYPE_CHECKING:
    Rows = array[float]

NUMBERS = 7
"""image number, category id, confidence, xmin, ymin, xmax, ymax."""

NAMES = ("category", "confidence", "xmin", "ymin", "xmax", "ymax")
JSON_TYPE = "application/json"
PACKED_TYPE = "application/octet-stream"
LARGEST = 3.4e38
"""Largest value of a float32."""

NO_NUMBER = (TypeError, ValueError, ArithmeticError, RuntimeError)
"""Errors that Python, NumPy, Decimal and PyTorch raise for a value that is not a number."""

FIRST_INEXACT = 2**24
"""Whole number above which a float32 is no longer exact."""


def checked(
    number: int,
    found: Any,
    categories: Mapping[int, str],
) -> Rows:
    """Return the rows that a detector found in image `number` as flat float64, NUMBERS per row.

    `categories`: id -> name. Raises AnswerError `detector-failed` with image, row, value and what was expected.
    """
    rows = array("d")
    for place, row in enumerate(listed(number, found), start=1):
        if not (
            _takes(rows, number, row, categories)
            or _takes(rows, number, _plain(row), categories)
        ):
            what, value, expected = problem_of(row, categories)
            sentence = (
                f"image {number}, row {place}: {what} is {value}; expected {expected}"
            )
            raise AnswerError(
                "detector-failed",
                sentence,
                what=what,
                value=value,
                expected=expected,
            )
    return rows


UNNAMED = ""
"""The name of each id where the categories are not known."""
CORNERS = "xmin <= xmax and ymin <= ymax: corners, not a corner with width and height"
"""What is expected of a box."""


def listed(number: int, found: Any) -> Iterable[Any]:
    """Return the rows as a list, arrays as lists of plain numbers.

    Raises AnswerError for a value that is not a list of rows.
    """
    if hasattr(found, "tolist"):
        found = found.tolist()
    expected = "rows, [] where nothing is found"
    if inspect.iscoroutine(found):
        found.close()
        expected = "rows: `detect` must be a plain function, not an async one"
    if isinstance(found, (str, bytes)) or not hasattr(found, "__iter__"):
        facts = {
            "what": "the answer",
            "value": _shown(found),
            "expected": expected,
        }
        sentence = "image {number}: {what} is {value}; expected {expected}".format(
            number=number, **facts
        )
        raise AnswerError("detector-failed", sentence, **facts)
    return found  # type: ignore[no-any-return]  # whatever can be iterated


def problem_of(row: Any, categories: Mapping[int, str]) -> tuple[str, str, str]:
    """Return the problem of a bad row: the name of the number, its value, and what was expected."""
    try:
        values = list(row)
    except NO_NUMBER:
        values = []
    if isinstance(row, str) or len(values) != len(NAMES):
        return "the row", _shown(row), f"six numbers: {', '.join(NAMES)}"
    for name, value in zip(NAMES[1:], values[1:]):
        if not _is_number(value):
            return name, _shown(value), "a finite number"
    category, _, xmin, ymin, xmax, ymax = values
    if xmin > xmax or ymin > ymax:
        box = ", ".join(f"{value:g}" for value in map(float, values[2:]))
        return "the box", box, CORNERS
    for known, name in categories.items():
        if isinstance(category, str) and category == name:
            return "category", f"the name {_shown(category)}", f"its id, {known}"
    return "category", _shown(category), f"an id: {_listed_categories(categories)}"


def body_of(rows: Rows, *, is_packed: bool) -> tuple[bytes, str]:
    """Return rows as a body and its content type: little-endian float32, or JSON, which keeps every float64."""
    if is_packed:
        packed = array("f", rows)
        if sys.byteorder == "big":
            packed.byteswap()
        return packed.tobytes(), PACKED_TYPE
    values = rows.tolist()
    lists = [
        [int(values[at]), int(values[at + 1]), *values[at + 2 : at + NUMBERS]]
        for at in range(0, len(values), NUMBERS)
    ]
    return json.dumps(lists, separators=(",", ":"), allow_nan=False).encode(
        "ascii"
    ), JSON_TYPE


def _takes(
    rows: Rows,
    number: int,
    row: Any,
    categories: Mapping[int, str],
) -> bool:
    """Append a row of image `number` to `rows` if it is valid; return True if it was."""
    try:
        category, confidence, xmin, ymin, xmax, ymax = row
        if (
            category in categories
            and -LARGEST < confidence < LARGEST
            and -LARGEST < xmin <= xmax < LARGEST
            and -LARGEST < ymin <= ymax < LARGEST
        ):
            rows.fromlist(
                [number, category, confidence, xmin, ymin, xmax, ymax]
            )  # all or nothing
            return True
    except NO_NUMBER:
        pass  # `problem_of` says what is wrong
    return False


def _plain(row: Any) -> Any:
    """Return a row of plain numbers for a row of one-element tensors or arrays, as PyTorch makes them."""
    try:
        return [_item(value) for value in row]
    except NO_NUMBER:
        return row


def _item(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    return value


def _is_number(value: Any) -> bool:
    try:
        return not isinstance(value, str) and abs(float(value)) < LARGEST
    except NO_NUMBER:
        return False


def _listed_categories(categories: Mapping[int, str]) -> str:
    if set(categories.values()) == {UNNAMED}:
        return f"a whole number from {min(categories)} to {max(categories)}, not a name"
    shown = ", ".join(
        f"{known} ({name})" for known, name in list(categories.items())[:5]
    )
    return shown if len(categories) <= 5 else f"{shown}, ... ({len(categories)} in all)"


def _shown(value: Any) -> str:
    text = repr(value.tolist() if hasattr(value, "tolist") else value)
    return text if len(text) <= 60 else text[:57] + "..."
