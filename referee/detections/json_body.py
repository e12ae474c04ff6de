"""JSON: an array of rows of seven numbers. The line of a row is its number."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from referee.detections.numbers import NUMBER_CHARACTERS, plain_array
from referee.detections.rows import PIECE_BYTES, Rows, read_each, refuse, shown

_PLAIN = NUMBER_CHARACTERS + b",[] \t\r\n"
_BLANK = b" \t\r\n"
_BLANKS = re.compile(rb"[ \t\r\n]*+")
_END_OF_ROW = re.compile(rb"\][ \t\r\n]*,")
_LONGEST_PIECE = 4 * PIECE_BYTES
_FORM = "an array of rows of seven numbers"


def parse_json(body: bytes) -> Rows:
    """Read a JSON array of rows. An empty body has none. Raises RefereeError `bad-json`, `too-large`."""
    if not body or body.isspace():
        return Rows.none()
    if len(body) > _LONGEST_PIECE:
        return Rows.joined(_parts(body))
    values = _plain(body)
    if values is not None:
        return values
    decoded = _load(body)
    if not isinstance(decoded, list):
        refuse("bad-json", f"The body must be a JSON array: {_FORM}.")
    return read_each(enumerate(decoded, start=1), _number)


def _plain(document: bytes, first_line: int = 1) -> Rows | None:
    values = None if document.translate(None, _PLAIN) else plain_array(document)
    return None if values is None else Rows.numbered(values, first_line)


def _parts(body: bytes) -> Iterator[Rows]:
    """The rows of a large body, some at a time; it is cut only between rows."""
    at, end = body.find(b"[") + 1, body.rfind(b"]")
    if at == 0 or end < at or body[: at - 1].strip(_BLANK) or body[end + 1 :].strip(_BLANK):
        refuse("bad-json", f"The body must be a JSON array: {_FORM}.")
    if _BLANKS.fullmatch(body, at, end):
        yield Rows.none()
        return
    line, is_last = 1, False
    while not is_last:
        cut = _END_OF_ROW.search(body, at + PIECE_BYTES, min(end, at + _LONGEST_PIECE))
        is_last = cut is None
        piece = body[at : end if cut is None else cut.start() + 1]
        if len(piece) > _LONGEST_PIECE or (line > 1 and not piece.strip(_BLANK)):
            refuse("bad-json", f"After row {line - 1} the body is not {_FORM}.")
        part = _part(b"[" + piece + b"]", line)
        line += len(part.values) + part.unreadable.total
        at = end if cut is None else cut.end()
        yield part


def _part(document: bytes, line: int) -> Rows:
    plain = _plain(document, line)
    if plain is not None:
        return plain
    try:
        decoded = json.loads(document.decode())
    except (ValueError, RecursionError):
        refuse("bad-json", f"After row {line - 1} the body is not {_FORM}.")
    return read_each(enumerate(decoded, start=line), _number)


def _load(body: bytes) -> object:
    try:
        return json.loads(body.decode())
    except UnicodeDecodeError:
        refuse("bad-json", "The body is not UTF-8.")
    except json.JSONDecodeError as error:
        refuse("bad-json", f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.")
    except RecursionError:
        refuse("bad-json", f"The body is nested too deeply; send {_FORM}.")
    except ValueError:  # int() refuses more than some thousand digits
        refuse("bad-json", "The body holds a number with too many digits.")


def _number(item: object) -> float:
    if isinstance(item, bool) or not isinstance(item, (int, float)):
        raise ValueError(f"{shown(item)} is not a number")  # noqa: TRY004  # the value, not the program
    try:
        return float(item)
    except OverflowError:
        raise ValueError(f"{shown(item)} is too large for a number") from None
