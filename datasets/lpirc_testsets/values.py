"""Reads numbers and names from files, or refuses them in a sentence that shows the value, shortened."""

from __future__ import annotations

import json
import re
from contextlib import suppress

import orjson

LARGEST_ID = 2**53  # detections are float64, which holds no larger integer exactly
LONGEST_NAME = 255  # as long as a file name can be
LARGEST_NUMBER = 1e15  # pixels; the area of a box stays finite
_SHOWN = 40
_EACH = 128
_STARTS = '{["-0123456789tfnNI'
_LONG_NUMBER = re.compile(rb"[0-9]{33}")
_MORE_JSON = re.compile('[,:"\\]}]')
_DRESSED_NUMBER = re.compile(
    r"(?P<number>[+-]?\d{1,9}(?:[.,]\d{1,9})?)\s*(?P<unit>%|[A-Za-z]{0,3})", re.ASCII
)
"""A number with a decimal comma, in per cent or with its unit."""
_NEXT_VALUE = re.compile(r"-?\d|(?:true|false|null)\b")
_SURROGATE = re.compile("[\ud800-\udfff]")


def shown(value: object) -> str:
    """Return a value from a user, shortened to fit a sentence."""
    if isinstance(value, (str, bytes, list)):
        value = value[:200]  # repr of a very long one is slow
    text = repr(value)
    if len(text) <= _SHOWN:
        return text
    return f"{text[: _SHOWN - 3]}..."


def is_name(value: str) -> bool:
    """Return True for text that is not blank, has at most `LONGEST_NAME` characters, and can be encoded as UTF-8.

    UTF-8 can encode neither half of a surrogate pair, which JSON may contain, nor a file name in another encoding.
    """
    return (
        len(value) <= LONGEST_NAME
        and bool(value.strip())
        and _SURROGATE.search(value) is None
    )


def text_number(item: object) -> float:
    """Return the number in a text, possibly NaN. Raises ValueError."""
    token = str(item)
    try:
        if (
            token.isascii() and "_" not in token
        ):  # float() takes 1_000 and other scripts' digits
            return float(token)
    except ValueError:
        pass
    raise ValueError(f"{shown(item)} is not a number{as_plain(token)}")


_IN_WH = {
    "Wh": 1,
    "wh": 1,
    "kWh": 1000,
    "KWh": 1000,
    "kwh": 1000,
    "mWh": 0.001,
    "MWh": 1e6,
}
_FACTORS = {"": {"%": 0.01}, "Wh": _IN_WH}
"""By the unit that is wanted, what others are in it. A letter that is no unit may stand for a lost digit."""
_JOULES = {"J": 1.0, "Ws": 1.0, "kJ": 1e3, "kj": 1e3, "MJ": 1e6}
_JOULES_IN_WH = 3600


def as_plain(text: str, unit_wanted: str = "") -> str:
    """Return "; write 0.9" for "0,9", for "90%" and, where Wh are wanted, for "0.9 Wh"; "" for another text."""
    found = _DRESSED_NUMBER.fullmatch(text.strip())
    if found is None:
        return ""
    number = found["number"].replace(",", ".")
    unit = found["unit"]
    factor = _FACTORS.get(unit_wanted, {}).get(unit)
    if factor is not None:
        number = f"{float(number) * factor:.10g}"
    elif unit in _JOULES and unit_wanted == "Wh":
        number = f"{float(number) * _JOULES[unit] / _JOULES_IN_WH:.6g}"
    elif unit:
        return ""
    return f"; write {number}"


def of_version(key: str, given: object, known: int) -> str:
    """Return why a version is not the one that is read; a text "1" looks like the number otherwise."""
    if isinstance(given, str) and given.strip() == str(known):
        return f'{key} is {json.dumps(given)}, a text; write the number without quotation marks: "{key}": {known}'
    if given is None:
        return f'{key} is missing; write "{key}": {known}'
    return f"{key} is {shown(given)}, this program reads {known}"


def finite_number(text: str, name: str) -> float:
    """Return the number in a text, at most `LARGEST_NUMBER`. Raises ValueError with the name and the text."""
    with suppress(ValueError):
        if abs(value := text_number(text)) <= LARGEST_NUMBER:
            return value
    raise ValueError(
        f"{name} {shown(text)} is not a finite number up to {LARGEST_NUMBER:g}"
    )


def integer(text: str, name: str) -> int:
    """Return the integer in a text, at most `LARGEST_ID`. Raises ValueError with the name and the text."""
    with suppress(ValueError):
        if text.isascii() and "_" not in text and abs(value := int(text)) <= LARGEST_ID:
            return value
    if not text.strip().lstrip("+-").isdecimal():
        raise ValueError(f"{name} {shown(text)} is not a whole number")
    raise ValueError(f"{name} {shown(text)} is not an integer of at most 53 bits")


def json_value(text: str) -> object:
    """Read JSON. Raises ValueError with a reason, also for deep nesting and numbers of thousands of digits."""
    with suppress(
        ValueError
    ):  # it refuses what the slow way takes: NaN, and half of a surrogate pair
        return orjson.loads(text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(not_json(error)) from error


def not_json(error: Exception) -> str:
    """Return why text is not JSON, from the error raised when reading it."""
    if isinstance(error, json.JSONDecodeError):
        rest = error.doc[error.pos :]
        if error.msg == "Extra data" and rest.startswith(("{", "[")):
            return f"not JSON: line {error.lineno} begins a second document, where one is needed"
        begun = error.doc.lstrip("\ufeff \t\r\n")
        if not begun:
            return "not JSON: the file is empty"
        if begun[0] not in _STARTS:
            return f"not JSON: it begins with {shown(begun.splitlines()[0])}"
        is_begun = begun.startswith(("{", "["))
        is_open = error.msg.startswith("Unterminated") or not _MORE_JSON.search(rest)
        if is_begun and is_open and error.msg != "Extra data":
            return "not JSON: it ends in the middle, so it was cut short; copy or write it again"
        if trailing := _trailing_comma(error):
            return f"not JSON: {trailing}"
        if slip := _slip_of_json(error):
            return f"not JSON: line {error.lineno}: {slip}"
    return f"not JSON: {str(error).partition('; use sys')[0]}"


def _trailing_comma(error: json.JSONDecodeError) -> str:
    """Return the line of a comma before a bracket that closes, where parsers stop at the one or the other; or ""."""
    if error.msg.startswith(("Invalid", "Unterminated")):  # it is within a text
        return ""
    comma = error.doc.rfind(",", 0, error.pos + 1)
    rest = error.doc[error.pos :].lstrip(", \t\r\n")
    is_last = comma >= 0 and not error.doc[comma + 1 : error.pos].strip()
    if not (is_last and rest.startswith(("]", "}"))):
        return ""
    line = error.doc.count("\n", 0, comma) + 1
    return f"line {line}: take out the comma before {rest[0]}"


def _slip_of_json(error: json.JSONDecodeError) -> str:
    """Return what is written otherwise in JSON at the place where a parser stops; "" for any other mistake."""
    at = error.doc[error.pos :]
    if error.msg.startswith("Invalid control"):
        known = {"\t": "a tab", "\n": "a line break", "\r": "a line break"}
        what = known.get(at[0], "a control character")
        written = json.dumps(at[0]).strip('"')
        return f"a text has {what} in it; close its quotation marks, or write {written}"
    if "uXXXX" in error.msg:
        return "behind \\u in a text stand four hexadecimal digits"
    if error.msg.startswith("Invalid"):
        return "a text has one \\ in it; write two"
    rest = at.lstrip(", \t\r\n")
    line = shown(rest.partition("\n")[0])
    if rest.startswith(("//", "#", "/*")):
        return "JSON has no comments; take it out"
    if rest.startswith("'"):
        return f"{line}: a text stands in double quotes"
    if error.msg == "Expecting ',' delimiter":
        before = error.doc[max(0, error.pos - _SHOWN) : error.pos]
        return _slip_behind_value(before, at, line)
    word = re.match(r"[A-Za-z_]\w*", rest)
    if word is not None and error.msg != "Extra data":
        known = {"True": "true", "False": "false", "None": "null", "nan": "null"}
        write = known.get(word[0], f'"{word[0]}", in quotes, if it is a text')
        return f"{word[0]} is not JSON; write {write}"
    return ""


def _slip_behind_value(
    before: str,
    at: str,
    line: str,
) -> str:
    """Return why a parser stops behind a value: a comma is missing, or a number is written otherwise; or ""."""
    is_apart = before[-1:].isspace() and _NEXT_VALUE.match(at) is not None
    if is_apart or at.startswith(('"', "{", "[")):
        return f"a comma is missing before {line}"
    number = re.search(r"[\w.+-]+$", before)
    rest = re.match(r"[\w.+-]+", at[:_SHOWN])
    if number and rest:
        is_number = number[0][0] in "0123456789+-."
        kind = "a number in JSON" if is_number else "JSON"
        return f"{number[0]}{rest[0]} is not {kind}"
    return ""


def has_long_number(text: str | bytes) -> bool:
    """Return True if JSON may contain an integer of more than 4,300 digits, which Python refuses and msgspec skips.

    The test looks at every 128th character, and finds such a number where 33 of them in a row are digits. In other text
    that hardly ever happens.
    """
    some = text[::_EACH]
    return (
        _LONG_NUMBER.search(some.encode() if isinstance(some, str) else some)
        is not None
    )
