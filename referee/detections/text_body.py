"""Text: one detection a line, seven numbers between blanks or commas. Blank lines are skipped, but counted."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from referee.detections.numbers import NUMBER_CHARACTERS, flat_array, plain_array
from referee.detections.rows import PIECE_BYTES, Rows, read_each, refuse_too_many, text_number

_PLAIN = NUMBER_CHARACTERS + b", \t\n"
_BLANK = b" \t\n"
_ROW_MARKS = b",,,,,,\n"
_FLAT = bytes.maketrans(b" \t\n", b",,,")
_COMMAS = bytes.maketrans(b" \t", b",,")
_EMPTY_FIELDS = (b",,", b",\n", b"\n,")
_LONGEST_PIECE = 2 * PIECE_BYTES


def parse_text(body: bytes) -> Rows:
    """Read lines of seven numbers. Raises RefereeError `too-large`."""
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    refuse_too_many(body.count(b"\n") + (not body.endswith(b"\n")))
    return _part(body, 1) if len(body) <= PIECE_BYTES else Rows.joined(_parts(body))


def _parts(body: bytes) -> Iterator[Rows]:
    at, line = 0, 1
    while at < len(body):
        end = body.find(b"\n", at + PIECE_BYTES) + 1 or len(body)
        piece = body[at:end]
        yield _part(piece, line)
        at, line = end, line + piece.count(b"\n")


def _part(piece: bytes, line: int) -> Rows:
    return _regular(piece, line) or _irregular(piece, line) or read_each(_rows(piece, line), text_number)


def _regular(piece: bytes, line: int) -> Rows | None:
    """Lines with one blank, one comma, or a comma and a blank between the numbers, and no blank lines within."""
    if len(piece) > _LONGEST_PIECE:
        return None
    lines = piece.rstrip(_BLANK)
    if not lines:
        return Rows.none()
    values = _same_form(lines)
    if values is None:
        values = _same_form(lines.replace(b", ", b",").replace(b" \n", b"\n"))
    return None if values is None else Rows.numbered(values, line)


def _same_form(lines: bytes) -> NDArray[np.float64] | None:
    """The rows (n, 7), if what is left without the numbers is just what parts seven of them a line."""
    marks = lines.translate(_COMMAS, NUMBER_CHARACTERS) + b"\n"
    count = len(marks) // len(_ROW_MARKS)
    return flat_array(lines.translate(_FLAT), count) if marks == _ROW_MARKS * count else None


def _irregular(piece: bytes, line: int) -> Rows | None:
    """The same in columns, with blank lines, or with numbers that JSON does not write like that: .5, +1, 007."""
    if len(piece) > _LONGEST_PIECE or piece.translate(None, _PLAIN) or _has_empty_field(piece):
        return None
    split = [line.split() for line in piece.replace(b",", b" ").splitlines()]
    values = plain_array(b"[[" + b"],[".join([b",".join(tokens) for tokens in split if tokens]) + b"]]")
    if values is None:
        values = _floats(split)
    if values is None or values.ndim != 2 or values.shape[1] != 7:
        return None
    return Rows(values, np.flatnonzero([len(tokens) > 0 for tokens in split]) + line)


def _floats(split: list[list[bytes]]) -> NDArray[np.float64] | None:
    try:
        return np.array([[*map(float, tokens)] for tokens in split if tokens], np.float64)
    except ValueError:
        return None


def _has_empty_field(piece: bytes) -> bool:
    if b"," not in piece:
        return False
    packed = piece.translate(None, b" \t")
    return packed[:1] == b"," or packed[-1:] == b"," or any(empty in packed for empty in _EMPTY_FIELDS)


def _rows(piece: bytes, first: int) -> Iterator[tuple[int, object]]:
    for number, line in enumerate(piece.splitlines(), start=first):
        if len(line) > _LONGEST_PIECE:
            yield number, f"a line of {len(line)} characters"
            continue
        stripped = line.decode(errors="backslashreplace").strip()
        if stripped:
            yield number, re.split(r"\s*,\s*|\s+", stripped)
