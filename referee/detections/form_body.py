"""The form of the original protocol: seven parallel lists, `application/x-www-form-urlencoded`.

A form may carry other fields (the old clients' token), which are not read here. An image is a number or `12.jpg`.
The line of a row is its place in the lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

import numpy as np
from numpy.typing import NDArray

from referee.detections.numbers import NUMBER_CHARACTERS, flat_array, plain_array
from referee.detections.rows import (
    ENOUGH_PROBLEMS,
    MAX_ROWS,
    PIECE_BYTES,
    ProblemList,
    Rows,
    refuse_too_many,
    text_number,
)
from referee.errors import LengthMismatch, RefereeError

FIELDS = (b"image_name", b"CLASS_ID", b"confidence", b"xmin", b"ymin", b"xmax", b"ymax")
OTHER_FIELDS = 1000  # in a piece with escapes, which is read field by field
_KEYS = tuple(b"&" + name + b"=" for name in FIELDS)
_VALUES = tuple(re.compile(key + b"([^&]*)") for key in _KEYS)
_IMAGE, _CATEGORY = 0, 1
_ROW_MARKS = b"".join(_KEYS).translate(None, NUMBER_CHARACTERS)
_SUFFIX = b".jpg"
_PLAIN = NUMBER_CHARACTERS.replace(b"+", b"") + b","  # a plus is a blank here
_LONGEST_FIELD = 1000


def parse_form(body: bytes) -> Rows:
    """Read the rows of a form. Raises RefereeError `length-mismatch` for unequal lists, `too-large`."""
    form = b"&" + body
    if len(form) <= PIECE_BYTES:
        rows = _rows_in_turn(form) or _grouped_rows(form)
        if rows is not None:
            return rows
    fields = form.count(b"&")
    if fields > len(FIELDS) * MAX_ROWS + OTHER_FIELDS:
        refuse_too_many(fields // len(FIELDS))
    columns = _Columns()
    for piece in _pieces(form):
        columns.take(piece)
        if columns.problems.total >= ENOUGH_PROBLEMS:
            break
    return _no_rows(form) if columns.are_empty else columns.rows()


def _no_rows(form: bytes) -> Rows:
    """None, if that is what was meant: a body of another kind is easily sent as a form by mistake."""
    for field in form.split(b"&", 3)[1:]:
        if field and not field.startswith(b"token="):
            raise LengthMismatch(
                f"The form has none of the lists {b', '.join(FIELDS).decode()}, so nothing was taken; send those, or "
                "the Content-Type of what it is.",
            )
    return Rows.none()


def _rows_in_turn(form: bytes) -> Rows | None:
    """The rows of a form with the seven fields of one row after those of another, and nothing else."""
    if -1 < form.find(_KEYS[_IMAGE], 1) < form.find(_KEYS[_CATEGORY]):
        return None  # a list of images
    count = form.count(_KEYS[_IMAGE])
    # Without the characters of numbers: which fields there are, and in which order. A key that has such a character too
    # many is not replaced below, and then there is no number in its place.
    if form.translate(None, NUMBER_CHARACTERS) != _ROW_MARKS * count or b"+" in form:
        return None
    for key in _KEYS:
        form = form.replace(key, b",")
    values = flat_array(form[1:], count) if count else None
    return None if values is None else Rows.numbered(values)


def _grouped_rows(form: bytes) -> Rows | None:
    """The rows of a form in which each list is in one place, as nearly every client writes it."""
    lists = _lists(form)
    if lists is None or not any(lists):
        return None
    document = b"[[" + b"],[".join(lists) + b"]]"
    values = plain_array(document, None)
    return None if values is None else Rows.numbered(values.T)


def _lists(form: bytes) -> list[bytes] | None:
    """The values of each field, a comma between them; None when that is not plain to see."""
    if b"%" in form or b"," in form:
        return None
    lists = []
    for number, key in enumerate(_KEYS):
        at = form.find(key)
        if at < 0:
            lists.append(b"")
            continue
        end = form.find(b"&", form.rfind(key) + 1)
        values = form[at + len(key) : None if end < 0 else end].replace(key, b",")
        if number == _IMAGE:
            values = _without_suffix(values)
        if values.translate(None, _PLAIN) or not values:
            return None
        lists.append(values)
    return lists


def _pieces(form: bytes) -> Iterator[bytes]:
    """Parts that begin with an ampersand, as `form` does."""
    at = 0
    while at < len(form):
        end = form.find(b"&", at + PIECE_BYTES)
        end = len(form) if end < 0 else end
        yield form[at:end]
        at = end


class _Columns:
    """The seven lists as far as they have been read. What is no number is NaN, and told in `problems`."""

    def __init__(self) -> None:
        self.problems = ProblemList()
        self._parts: list[list[NDArray[np.float64]]] = [[] for _ in FIELDS]
        self._lengths = [0] * len(FIELDS)
        self._unreadable: set[int] = set()

    def take(self, piece: bytes) -> None:
        """Read a further part of the form."""
        lists = _lists(piece)
        arrays = None if lists is None else [_array(one) for one in lists]
        if arrays is None or any(array is None for array in arrays):
            arrays = [self._read(number, values) for number, values in enumerate(_each(piece))]
        for number, array in enumerate(arrays):
            if array is not None:
                self._append(number, array)

    @property
    def are_empty(self) -> bool:
        """Whether no field was one of theirs."""
        return not any(self._lengths)

    def rows(self) -> Rows:
        """All of them. Raises RefereeError `length-mismatch`."""
        if len(set(self._lengths)) > 1 and self.problems.total < ENOUGH_PROBLEMS:
            counts = [f"{count} {name.decode()}" for count, name in zip(self._lengths, FIELDS, strict=True)]
            raise LengthMismatch(
                f"The lists must be equally long, but there are {', '.join(counts)}; nothing was taken.",
            )
        least = min(self._lengths)
        values = np.column_stack([np.concatenate([np.empty(0), *parts])[:least] for parts in self._parts])
        if not self._unreadable:
            return Rows.numbered(values)
        readable = np.setdiff1d(np.arange(least), np.array(sorted(self._unreadable)))
        return Rows(values[readable], readable + 1, self.problems)

    def _append(self, number: int, values: NDArray[np.float64]) -> None:
        self._parts[number].append(values)
        self._lengths[number] += len(values)
        refuse_too_many(self._lengths[number])

    def _read(self, number: int, values: list[bytes]) -> NDArray[np.float64]:
        joined = b",".join(values)
        if number == _IMAGE:
            joined = _without_suffix(joined)
        # A comma within a value would make two of one, a value of nothing but the suffix none.
        array = _array(joined) if joined and joined.count(b",") == len(values) - 1 else None
        if array is None:
            array = np.array([self._number(number, place, value) for place, value in enumerate(values)])
        return array

    def _number(self, number: int, place: int, value: bytes) -> float:
        text = value.decode(errors="backslashreplace").strip()
        try:
            return text_number(text.removesuffix(_SUFFIX.decode()) if number == _IMAGE else text)
        except ValueError as error:
            row = self._lengths[number] + place
            self._unreadable.add(row)
            self.problems.add(row + 1, f"{FIELDS[number].decode()}: {error}")
            return float("nan")


def _array(values: bytes) -> NDArray[np.float64] | None:
    """Numbers with a comma between them: (n,), or None for anything else."""
    if not values:
        return np.empty(0)
    array = None if values.translate(None, _PLAIN) else plain_array(b"[[" + values + b"]]", None)
    return None if array is None else array[0]


def _without_suffix(images: bytes) -> bytes:
    return (images + b",").replace(_SUFFIX + b",", b",")[:-1]


def _each(piece: bytes) -> list[list[bytes]]:
    """The values of each field, whatever their order and escapes."""
    if b"%" not in piece and b"+" not in piece:
        return [pattern.findall(piece) for pattern in _VALUES]
    lists: dict[bytes, list[bytes]] = {name: [] for name in FIELDS}
    others = 0
    for pair in piece[1:].split(b"&"):
        name, equals, value = pair.partition(b"=")
        if b"%" in pair or b"+" in pair:
            name, value = _unescaped(name), _unescaped(value)
        if name in lists and equals:
            lists[name].append(value)
        else:
            others += 1
            if others > OTHER_FIELDS:
                raise RefereeError(
                    "too-large", f"A form may have {OTHER_FIELDS} other fields; send only the lists."
                )
    return list(lists.values())


def _unescaped(text: bytes) -> bytes:
    # Nothing longer is a name or a number; unescaping it would take much memory.
    return unquote_to_bytes(text[:_LONGEST_FIELD].replace(b"+", b" ")) + text[_LONGEST_FIELD:]
