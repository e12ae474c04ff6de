"""What to do about a line of contest.toml that is not TOML: the slips that people make, each by its form. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from datetime import date, time

from referee.given_units import as_number, unit_of

LONGEST_LINE = 120
"""Characters of a line that a sentence shows."""
TIME_FORM = "2027-06-20T15:30:00+02:00"
"""A time with its offset from UTC, as contest.toml has it."""
SEVERAL = ("stations", "tracks", "prizes")
"""The tables of which there may be several."""
ANY = "a text stands in quotes, true and false are written small, and each key and table once"

_QUOTED = r""""(?:[^"\\]|\\.)*"|'[^']*'"""
_COMMENT = re.compile(rf"""((?:{_QUOTED}|[^"'#])*)#""")
_KEY_AND_VALUE = re.compile(rf"""\s*(?:{_QUOTED}|[\w.-]+)\s*=\s*(.*)""")
_DAY = r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{4}"
_NUMBER = r"[+-]?\d[\d_]*(?:\.\d+)?"
_CALCULATION = rf"{_NUMBER}(?:\s*[-+*/x]\s*{_NUMBER})+\s*$"

_SLIPS: Sequence[tuple[str, str]] = (
    ("[\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb]", 'quotes are straight ones: "..."'),
    (rf"(?:{_DAY}|\d{{1,2}}:\d\d)", f"a time is written {TIME_FORM}"),
    (r"[+-]?\d+,\d+$", "the decimal sign is a point, as in 0.5"),
    (rf"{_NUMBER}\s*%$", "a share is a number from 0 to 1, such as 0.01"),
    (rf"{_NUMBER}\s*[A-Za-zµ]+$", "a number stands alone, in the unit of its key"),
    (_CALCULATION, "TOML does not calculate; write the result"),
    (r"(?i:true|false|yes|no|on|off)$", "write true or false, in small letters"),
    (r"$", "its value is missing"),
    (r"=", "one = stands between a key and its value"),
    (r"[+-]?\.\d", "a number begins with a digit, as in 0.5"),
    (r"0\d", "a number has no 0 in front"),
    (r"[^\[].*,$", "no comma stands at the end of a line"),
    (r".*;$", "no ; stands at the end of a line"),
    (r"'.*'.+'$", 'a text with an apostrophe stands in double quotes: "..."'),
    (r'"[^"]*\\[^"]*"', "in a path write / instead of \\"),
    (r'"[^"]*$|' + r"'[^']*$", "the quote at the end of the text is missing"),
    (r"""[^"'\[{\d+-]""", 'a text stands in quotes: "..."'),
)
"""The beginnings of values that are not TOML, each with its remedy; the first one that fits is meant."""


def shown_line(line: str) -> str:
    """Return a line as a sentence shows it: without its comment, and not longer than LONGEST_LINE."""
    found = _COMMENT.match(line)
    return (line if found is None else found[1]).strip()[:LONGEST_LINE]


def shown(value: object) -> str:
    """Return a value as a sentence shows it: truth values and times as TOML writes them."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date | time):  # a datetime is a date, too
        return value.isoformat()
    return repr(value)


def not_toml(text: str, error: tomllib.TOMLDecodeError) -> str:
    """Return the line that is not TOML and what to do about it; the parser's words where it names no line."""
    found = re.search(r"at line (\d+)", str(error))
    lines = text.split("\n")
    if found is None or not 1 <= int(found[1]) <= len(lines):
        return str(error)
    number = int(found[1])
    line = shown_line(lines[number - 1])
    return f"line {number} is not TOML: {line!r}; {remedy(text, number)}"


def remedy(text: str, number: int) -> str:
    """Return what to do about line `number`, from 1, at which a parser stops; without a full stop."""
    lines = text.split("\n")
    line = shown_line(lines[number - 1])
    if _is_toml(line):  # alone it is right, so it disagrees with the lines before
        if _is_toml("\n".join(lines[: number - 1])):
            if table := re.fullmatch(rf"\[\s*({'|'.join(SEVERAL)})\s*\]", line):
                one = f"[[{table[1]}]]"
                return (
                    f"a further one begins with {one}, in two brackets, as each of them"
                )
            return "the file has it already; each key and each table stands once"
        return "a list or text that begins above it has no end"
    if re.match(r"\[+[^\]=]*\]?$", line):
        return "a table's name stands in brackets, such as [backup] or [[stations]]"
    if line.startswith((";", "//", "--")):
        return "a comment begins with #"
    assigned = _KEY_AND_VALUE.match(line)
    if assigned is None:
        return "a key of one word and its value have = between them: window_s = 600"
    for form, words in _SLIPS:
        if re.match(form, assigned[1]):
            key = line.partition("=")[0].strip()
            exact = as_number(key, assigned[1]) if unit_of(key) else ""
            if "decimal sign" in exact:  # it says what the words say, with the number
                return exact.removeprefix("; ")
            return words + exact
    return ANY


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
