"""JSON: an array of rows of seven numbers. The line of a row is its number in the array."""

from __future__ import annotations

import json

from lpirc_score.detections.json_elements import elements, is_array
from lpirc_score.detections.numbers import NUMBER_CHARACTERS, flat_array
from lpirc_score.detections.parsed_rows import Rows, read_each, refuse
from lpirc_testsets.values import shown

_BLANK = b" \t\r\n"
_ROW_MARKS = b"[,,,,,,],"
_NO_BRACKETS = bytes.maketrans(b"[]", b"  ")
_FORM = "an array of rows of seven numbers"
_SHOWN = 20
"""Characters of a body that a refusal shows."""
_WORDS = {None: "null", True: "true", False: "false"}
"""What JSON calls these values of Python."""


def parse_json(body: bytes) -> Rows:
    """Read a JSON array of rows. An empty body has no rows. Raises CodedError `bad-json`."""
    if not body or body.isspace():
        return Rows.none()
    # The fast path: without numbers and blanks, only the punctuation of rows of seven is left.
    marks = body.translate(None, NUMBER_CHARACTERS + _BLANK)
    count = (len(marks) - 1) // len(_ROW_MARKS)
    if count and marks == b"[" + (_ROW_MARKS * count)[:-1] + b"]":
        # Replace each bracket by a blank, so that misplaced numbers beside a bracket are not joined.
        values = flat_array(body.translate(_NO_BRACKETS), (count, 7))
        if values is not None:
            return Rows(values, range(1, count + 1))
    try:
        text = body.decode()
        if not is_array(text):
            begin = text.strip()[:_SHOWN]
            refuse(
                "bad-json",
                f"The body must be a JSON array: {_FORM}; it begins with {begin!r}.",
            )
        return read_each(enumerate(elements(text), start=1), _number)
    except UnicodeDecodeError:
        refuse("bad-json", "The body is not UTF-8.")
    except json.JSONDecodeError as error:
        refuse(
            "bad-json",
            f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.",
        )
    except RecursionError:
        refuse("bad-json", f"The body is nested too deeply; send {_FORM}.")
    except ValueError:  # int() refuses more than some thousand digits
        refuse("bad-json", "The body holds a number with too many digits.")


def _number(item: object) -> float:
    if item is None or isinstance(item, bool):
        raise ValueError(f"{_WORDS[item]} is not a number")
    if not isinstance(item, (int, float)):
        raise ValueError(f"{shown(item)} is not a number")  # noqa: TRY004 - the value, not the program
    try:
        return float(item)
    except OverflowError:
        raise ValueError(f"{shown(item)} is too large for a number") from None
