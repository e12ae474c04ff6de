"""The form of the original protocol: seven parallel lists, `application/x-www-form-urlencoded`.

A form may carry other fields (the old clients' token), which are not read here. An image is a number or `12.jpg`.
The line of a row is its place in the lists.
"""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

import numpy as np

from referee.detections.numbers import NUMBER_CHARACTERS, flat_array
from referee.detections.rows import ENOUGH_PROBLEMS, ProblemList, Rows, text_number
from referee.errors import BadRows

FIELDS = (b"image_name", b"CLASS_ID", b"confidence", b"xmin", b"ymin", b"xmax", b"ymax")
_KEYS = tuple(b"&" + name + b"=" for name in FIELDS)
_IMAGE, _CATEGORY = 0, 1
_ROW_MARKS = b"".join(_KEYS).translate(None, NUMBER_CHARACTERS)
_SUFFIX = b".jpg"
_PLAIN = NUMBER_CHARACTERS.replace(b"+", b"") + b","  # a plus is a blank here
_FIELD = re.compile(rb"&([^&=]*)=([^&]*)")
_LONGEST_FIELD = 1000


def parse_form(body: bytes) -> Rows:
    """Read the rows of a form. Raises RefereeError `length-mismatch` for lists of unequal length, or no lists."""
    form = b"&" + body
    return _interleaved_rows(form) or _grouped_rows(form) or _rows_one_by_one(form)


def _interleaved_rows(form: bytes) -> Rows | None:
    """The rows of a form with the seven fields of one row after those of another, and nothing else."""
    if -1 < form.find(_KEYS[_IMAGE], 1) < form.find(_KEYS[_CATEGORY]):
        return None  # a list of images
    if _SUFFIX in form:
        form = form.replace(_SUFFIX + _KEYS[_CATEGORY], _KEYS[_CATEGORY])
    count = form.count(_KEYS[_IMAGE])
    # Without the characters of numbers: which fields there are, and in which order. A key that has such a character too
    # many is not replaced below, and then there is no number in its place.
    if not count or form.translate(None, NUMBER_CHARACTERS) != _ROW_MARKS * count or b"+" in form:
        return None
    for key in _KEYS:
        form = form.replace(key, b",")
    values = flat_array(form[1:], (count, 7))
    return None if values is None else Rows.numbered(values)


def _grouped_rows(form: bytes) -> Rows | None:
    """The rows of a form in which each list is in one place, as nearly every client writes it."""
    if b"%" in form or b"," in form:
        return None
    lists = []
    for number, key in enumerate(_KEYS):
        at = form.find(key)
        if at < 0:
            return None
        end = form.find(b"&", form.rfind(key) + 1)
        values = form[at + len(key) : None if end < 0 else end].replace(key, b",")
        if number == _IMAGE:
            values = (values + b",").replace(_SUFFIX + b",", b",")[:-1]
        if values.translate(None, _PLAIN):
            return None
        lists.append(values)
    counts = {values.count(b",") + 1 for values in lists}
    # Only lists of equal length are put together: an error of one must not be made up for by another.
    array = flat_array(b",".join(lists), (7, counts.pop())) if len(counts) == 1 else None
    return None if array is None else Rows.numbered(array.T)


def _rows_one_by_one(form: bytes) -> Rows:
    """The rows whatever the order and escapes of the fields, with what is wrong with each."""
    lists: dict[bytes, list[bytes]] = {name: [] for name in FIELDS}
    for field in _FIELD.finditer(form):
        values = lists.get(_unescaped(field[1]))
        if values is not None:
            values.append(field[2])
    _require_equal_lengths(form, lists)
    problems = ProblemList()
    rows: list[list[float]] = []
    lines: list[int] = []
    for line, texts in enumerate(zip(*lists.values(), strict=True), start=1):
        row = []
        for name, text in zip(FIELDS, texts, strict=True):
            try:
                row.append(_number(name, text))
            except ValueError as error:
                problems.add(line, f"{name.decode()}: {error}")
        if len(row) == len(FIELDS):
            rows.append(row)
            lines.append(line)
        if problems.total >= ENOUGH_PROBLEMS:
            break
    return Rows(np.array(rows, np.float64).reshape(-1, 7), np.array(lines, np.int64), problems)


def _require_equal_lengths(form: bytes, lists: dict[bytes, list[bytes]]) -> None:
    counts = {name.decode(): len(values) for name, values in lists.items()}
    if not any(counts.values()):
        # A body of another kind is easily sent as a form by mistake; none is meant where there is at most a token.
        if any(field and not field.startswith(b"token=") for field in form.split(b"&", 3)[1:]):
            raise BadRows(
                "length-mismatch",
                f"The form has none of the lists {', '.join(counts)}, so nothing was taken; send those, or the "
                "Content-Type of what it is.",
            )
    elif len({*counts.values()}) > 1:
        found = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise BadRows(
            "length-mismatch",
            f"The lists must be equally long, but there are {found}; nothing was taken.",
        )


def _number(name: bytes, value: bytes) -> float:
    text = _unescaped(value).decode(errors="backslashreplace").strip()
    return text_number(text.removesuffix(_SUFFIX.decode()) if name == FIELDS[_IMAGE] else text)


def _unescaped(text: bytes) -> bytes:
    if b"%" not in text and b"+" not in text:
        return text
    # Nothing longer is a name or a number; unescaping it would take much memory.
    return unquote_to_bytes(text[:_LONGEST_FIELD].replace(b"+", b" ")) + text[_LONGEST_FIELD:]
