"""Text: one detection per line, seven numbers separated by blanks or commas. Blank lines are skipped but numbered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections.numbers import NUMBER_CHARACTERS, PIECE_BYTES, flat_array
from lpirc_score.detections.parsed_rows import ProblemList, Rows, read_each
from lpirc_testsets.values import text_number

_PLAIN = NUMBER_CHARACTERS + b", \t\n"
_BLANK = b" \t\n"
_ROW_MARKS = b",,,,,,\n"
_FLAT = bytes.maketrans(b" \t\n", b",,,")
_COMMAS = bytes.maketrans(b" \t", b",,")
_EMPTY_FIELDS = (b",,", b",\n", b"\n,")
HEADER = b"image"
"""How a header begins: `image`, `image_id`, `image_name`."""
_LONGEST_PIECE = 2 * PIECE_BYTES


def parse_text(body: bytes) -> Rows:
    """Read lines of seven numbers; the problems of other lines are in `unreadable` of the result."""
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    rows = _part(body, 1) if len(body) <= PIECE_BYTES else Rows.joined(_parts(body))
    if rows.unreadable.total:
        _name_header(body, rows.unreadable)
    return rows


def _name_header(body: bytes, problems: ProblemList) -> None:
    """Say that the first line with a problem is a header, if it is one: of a CSV file, sent as it is."""
    line, _ = problems.first[0]
    above, _, _ = body.lstrip().partition(b"\n")
    is_first = line == body[: body.index(above)].count(b"\n") + 1
    if is_first and above.strip(b"\"' \t").lower().startswith(HEADER):
        problems.first[0] = (line, "it is a header; send the rows without it")


def _parts(body: bytes) -> Iterator[Rows]:
    # A bad line makes only its own part slow to read.
    at = 0
    line = 1
    while at < len(body):
        end = body.find(b"\n", at + PIECE_BYTES) + 1 or len(body)
        piece = body[at:end]
        yield _part(piece, line)
        at = end
        line = line + piece.count(b"\n")


def _part(piece: bytes, line: int) -> Rows:
    plain = None
    if len(piece) <= _LONGEST_PIECE and not piece.translate(None, _PLAIN):
        plain = _regular(piece, line) or _irregular(piece, line)
    return plain or read_each(_rows(piece, line), text_number)


def _regular(piece: bytes, line: int) -> Rows | None:
    """Read lines with one blank, one comma, or a comma and a blank between numbers, and no blank lines between."""
    lines = piece.rstrip(_BLANK)
    if not lines:
        return Rows.none()
    values = _same_form(lines)
    if values is None:
        values = _same_form(lines.replace(b", ", b",").replace(b" \n", b"\n"))
    if values is None:
        return None
    return Rows.numbered(values, line)


def _same_form(lines: bytes) -> NDArray[np.float64] | None:
    """Return the rows (n, 7) if every line has seven values with the same separators; None otherwise."""
    marks = lines.translate(_COMMAS, NUMBER_CHARACTERS) + b"\n"
    count = len(marks) // len(_ROW_MARKS)
    if marks == _ROW_MARKS * count:
        return flat_array(lines.translate(_FLAT), (count, 7))
    return None


def _irregular(piece: bytes, line: int) -> Rows | None:
    """Read lines with aligned columns, blank lines, or numbers that are not in JSON notation: .5, +1, 007."""
    if _has_empty_field(piece):
        return None
    lines = piece.replace(b",", b" ").split(b"\n")
    split = [one.split() for one in lines]
    filled = [at for at, tokens in enumerate(split, start=line) if tokens]
    lengths = {*map(len, split)}
    if lengths - {0, 7}:
        return None
    try:
        values = np.array([*map(float, chain.from_iterable(split))])
    except ValueError:
        return None
    return Rows(values.reshape(-1, 7), np.array(filled, np.int64))


def _has_empty_field(piece: bytes) -> bool:
    if b"," not in piece:
        return False
    packed = piece.translate(None, b" \t")
    return (
        packed[:1] == b","
        or packed[-1:] == b","
        or any(empty in packed for empty in _EMPTY_FIELDS)
    )


def _rows(piece: bytes, first: int) -> Iterator[tuple[int, object]]:
    for number, line in enumerate(piece.splitlines(), start=first):
        if len(line) > _LONGEST_PIECE:
            yield number, f"a line of {len(line)} characters"
            continue
        stripped = line.decode(errors="backslashreplace").strip()
        if stripped:
            yield number, re.split(r"\s*,\s*|\s+", stripped)
