"""The form of the original protocol: seven parallel lists as `application/x-www-form-urlencoded`.

Other fields of a form (such as the old clients' token) are ignored here. An image is given as a number, or as the name
of a JPEG file with that number: `12.jpg`, `images/12.JPEG`. The line of a row is its index in the lists, from 1.
"""

from __future__ import annotations

import re
from array import array
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections.numbers import NUMBER_CHARACTERS, flat_array
from lpirc_score.detections.parsed_rows import NONE_REFUSED, ProblemList, Refused, Rows
from lpirc_score.detections.row_checks import good_rows
from lpirc_score.errors import LengthMismatch
from lpirc_testsets.values import text_number

FIELDS = (b"image_name", b"CLASS_ID", b"confidence", b"xmin", b"ymin", b"xmax", b"ymax")
_KEYS = tuple(b"&" + name + b"=" for name in FIELDS)
_IMAGE = 0
_CATEGORY = 1
_ROW_MARKS = b"".join(_KEYS).translate(None, NUMBER_CHARACTERS)
_SUFFIX = b".jpg"
_LONGEST_TEXT = 200
_PLAIN = NUMBER_CHARACTERS.replace(b"+", b"") + b","  # a plus is a blank here
_ESCAPE = re.compile(rb"%([0-9a-fA-F]{2})")
# An escaped & or = is part of a name or value: it must not separate fields, and is in no number.
_CHARACTERS = [bytes([value]) for value in range(256)]
for _mark in b"&=":
    _CHARACTERS[_mark] = b"\0"


def parse_form(body: bytes) -> Rows:
    """Read the rows of a form. Raises CodedError `length-mismatch` if lists are missing or differ in length."""
    form, rows = _plain_rows(body)
    if rows is not None:
        return rows
    lists = _lists(form)
    if _has_other_fields(form, lists):
        names = b", ".join(FIELDS).decode()
        raise LengthMismatch(
            f"The form has none of the lists {names}, so nothing was stored; send the lists, or the "
            "right Content-Type for the body.",
        )
    if len({*map(len, lists)}) > 1:
        raise _mismatch(lists)
    return _rows_one_by_one(lists)


def take_form(
    body: bytes,
    images: int,
    category_ids: NDArray[np.int64],
) -> tuple[NDArray[np.float64], Refused]:
    """Return the good rows (n, 7) of a form and the refused ones, which the referee of 2015 separated in this way.

    The number of rows is the number of image names; further values belong to no image, and their rows are refused.
    Inverted boxes are good. Raises LengthMismatch if another list is shorter.
    """
    form, rows = _plain_rows(body)
    if rows is None:
        lists = _lists(form)
        if min(map(len, lists)) < len(lists[_IMAGE]):
            raise _mismatch(lists)
        if _has_other_fields(form, lists):
            return np.empty((0, 7)), Refused(
                1, ((1, "the form has none of the lists", ""),)
            )
        rows = _rows_one_by_one(lists)
    values, problems = good_rows(rows, images, category_ids, inverted_boxes=True)
    if not problems.total:
        return values, NONE_REFUSED
    texts = [*zip_longest(*_lists(form), fillvalue=b"")]
    first = []
    by_line = dict(reversed(problems.first))  # the first problem of each line
    for line, reason in sorted(by_line.items()):
        row = b" ".join(texts[line - 1])
        text = row.decode(errors="backslashreplace")
        first.append((line, reason, text[:_LONGEST_TEXT]))
    return values, Refused(len(texts) - len(values), tuple(first))


def _plain_rows(body: bytes) -> tuple[bytes, Rows | None]:
    """Return the form, unescaped if necessary, and its rows if all are numbers, else None."""
    form = b"&" + body
    rows = _interleaved_rows(form) or _grouped_rows(form)
    if rows is None and (b"%" in form or b"+" in form):
        form = _unescaped(form)
        rows = _grouped_rows(form)
    return form, rows


def _interleaved_rows(form: bytes) -> Rows | None:
    """Return the rows of a form that has only the seven fields, row after row; None for any other form."""
    if -1 < form.find(_KEYS[_IMAGE], 1) < form.find(_KEYS[_CATEGORY]):
        return None  # a list of images
    if _SUFFIX in form:
        form = form.replace(_SUFFIX + _KEYS[_CATEGORY], _KEYS[_CATEGORY])
    count = form.count(_KEYS[_IMAGE])
    # Without the characters of numbers, the fields and their order are left. A key with an
    # additional such character is not replaced below, so the result is not a list of numbers.
    if (
        not count
        or form.translate(None, NUMBER_CHARACTERS) != _ROW_MARKS * count
        or b"+" in form
    ):
        return None
    for key in _KEYS:
        form = form.replace(key, b",")
    values = flat_array(form[1:], (count, 7))
    if values is None:
        return None
    return Rows.numbered(values)


def _grouped_rows(form: bytes) -> Rows | None:
    """Return the rows of a form in which each list is contiguous, as nearly every client writes it, else None."""
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
    # Lists of unequal length are reported by the slow path.
    array = None
    if len(counts) == 1:
        array = flat_array(b",".join(lists), (7, counts.pop()))
    if array is None:
        return None
    return Rows.numbered(array.T)


def _lists(form: bytes) -> list[list[bytes]]:
    """Return the seven lists of an unescaped form, whatever the order of its fields."""
    return [re.findall(key + b"([^&]*)", form) for key in _KEYS]


def _rows_one_by_one(lists: list[list[bytes]]) -> Rows:
    """Return the readable rows, and the first problem of each unreadable row."""
    problems = ProblemList()
    values = array("d")
    lines = []
    for line, texts in enumerate(zip_longest(*lists, fillvalue=b""), start=1):
        try:
            values.extend(
                [_number(name, text) for name, text in zip(FIELDS, texts, strict=True)]
            )
            lines.append(line)
        except ValueError as error:
            problems.add(line, str(error))
    return Rows(
        np.array(values, np.float64).reshape(-1, 7), np.array(lines, np.int64), problems
    )


def _has_other_fields(form: bytes, lists: list[list[bytes]]) -> bool:
    """Return True if the form has fields, but none of the seven lists: another kind of body, sent as a form by mistake.

    An empty body, or one with only a token, is a form without detections.
    """
    fields = form.split(b"&", 3)[1:]
    if any(lists):
        return False
    return any(field and not field.startswith(b"token=") for field in fields)


def _mismatch(lists: list[list[bytes]]) -> LengthMismatch:
    found = ", ".join(
        f"{len(values)} {name.decode()}"
        for name, values in zip(FIELDS, lists, strict=True)
    )
    return LengthMismatch(
        f"The lists must be equally long, but there are {found}; nothing was stored."
    )


def _number(name: bytes, value: bytes) -> float:
    text = value.decode(errors="backslashreplace").strip()
    stem, _, kind = text.rpartition(".")
    if name == FIELDS[_IMAGE] and kind.lower() in ("jpg", "jpeg"):
        text = stem.replace("\\", "/").rpartition("/")[2]
    try:
        return text_number(text)
    except ValueError as error:
        raise ValueError(f"{name.decode()}: {error}") from None


def _unescaped(form: bytes) -> bytes:
    def character(escape: re.Match[bytes]) -> bytes:
        return _CHARACTERS[int(escape[1], 16)]

    return _ESCAPE.sub(character, form.replace(b"+", b" "))
