"""Reads the names of YOLO's classes: a file with one a line, or `names` in a data.yaml.

`yaml_texts` says which YAML is read. The class of a name in a list is its place, from 0; in a map it is its key.
"""

from __future__ import annotations

import re
from pathlib import Path

from lpirc_testsets.errors import Problems
from lpirc_testsets.file_bytes import read_text
from lpirc_testsets.name_list import read_names, require_unique
from lpirc_testsets.values import LARGEST_ID, is_name, shown
from lpirc_testsets.yaml_texts import Value, in_brackets, of_lines

YAML = (".yaml", ".yml")
_KEY = re.compile(r"""(?m)^(?:names|'names'|"names")[ \t]*:(?=\s|$)[ \t]*""")
_COUNT = re.compile(
    r"""(?m)^(?:nc|'nc'|"nc")[ \t]*:[ \t]*([0-9]+)[ \t\r]*(?:\s#.*)?$"""
)
_START = re.compile(r"(?:\s+|#[^\n]*|%[^\n]*|---(?=\s))*")
_BLANK = re.compile(r"\A(?:\s+|#[^\n]*)*")
_BRACKETS = ("[", "{")
_REST_OF_LINE = re.compile(r"[ \t\r]*(?:(?<=\s)#[^\n]*)?(?:\n|$)")
_NUMBER = re.compile("0|[1-9][0-9]*")


def has_names(text: str) -> bool:
    """Return True if the text of a data.yaml has the key `names`."""
    return bool(_KEY.search(text)) or (_is_in_braces(text) and "names" in text)


def read_classes(path: Path, problems: Problems) -> dict[int, str]:
    """Return the names of the classes by number; what is wrong is added to `problems`.

    Raises TestSetError `ground-truth-missing` or `ground-truth-unreadable`.
    """
    if path.suffix.lower() not in YAML:
        return dict(enumerate(read_names(path, problems)))
    text = read_text(path)
    if not has_names(text):
        problems.add(f"{path}: no line that begins with `names:`")
        return {}
    try:
        value, count = _value_and_count(text)
        classes = _numbered(value)
    except ValueError as error:
        problems.add(f"{path}: names: {error}")
        return {}
    require_unique([*classes.values()], path, problems)
    for number, name in classes.items():
        if not is_name(name):
            problems.add(f"{path}: names: {number}: {shown(name)} is not a name")
    if count is not None and count != str(len(classes)):
        problems.add(f"{path}: nc is {count}, but there are {len(classes)} names")
    return classes


def _is_in_braces(text: str) -> bool:
    found = _START.match(text)
    return found is not None and text.startswith("{", found.end())


def _value_and_count(text: str) -> tuple[Value, str | None]:
    """Return the value of `names`, and that of `nc` as text. Raises ValueError."""
    if _is_in_braces(text):
        return _in_braces(text)
    keys = [*_KEY.finditer(text)]
    if len(keys) > 1:
        raise ValueError("the key is there twice")
    at = keys[0].end()
    count = _COUNT.search(text)
    return _value(text, at), count and count[1]


def _in_braces(text: str) -> tuple[Value, str | None]:
    whole, _ = in_brackets(text, text.index("{"))
    pairs = [*whole.values()] if isinstance(whole, dict) else []
    named = [value for key, value in pairs if key == "names"]
    if len(named) != 1:
        raise ValueError(f"the key is there {len(named)} times, not once")
    counts = [value for key, value in pairs if key == "nc"]
    count = counts[0] if counts else None
    return named[0], count if isinstance(count, str) else None


def _value(text: str, at: int) -> Value:
    """Return what stands behind the key: in the same line, or below it. Raises ValueError."""
    line = text[at:].partition("\n")[0].strip()
    if not line or line.startswith("#"):
        end = text.find("\n", at) + 1
        below = text[end:] if end else ""
        at = len(text) - len(_BLANK.sub("", below, count=1))
        if text[at - 1] != " " or text[at : at + 1] not in _BRACKETS:
            return of_lines(below)
    elif line[0] in "&*!":
        raise ValueError(
            f"{shown(line)}: anchors, aliases and tags are not read; write the names themselves"
        )
    elif line[0] not in _BRACKETS:
        raise ValueError(f"{shown(line)} is not a list of names")
    value, end = in_brackets(text, at)
    if not _REST_OF_LINE.match(text, end):
        rest = text[end:].partition("\n")[0]
        raise ValueError(f"{shown(rest)} stands behind the list")
    return value


def _numbered(value: Value) -> dict[int, str]:
    if isinstance(value, str):
        raise ValueError(f"{shown(value)} is not a list of names")  # noqa: TRY004 - it is in a file
    pairs = [*value.values()] if isinstance(value, dict) else []
    if isinstance(value, list):
        pairs = [(str(place), one) for place, one in enumerate(value)]
    classes: dict[int, str] = {}
    for key, name in pairs:
        if not _NUMBER.fullmatch(key):
            raise ValueError(f"{shown(key)} is not the number of a class")
        if not isinstance(name, str):
            raise ValueError(f"class {shown(key)} has a list and no name")  # noqa: TRY004
        number = int(key[:17])
        if number in classes or number > LARGEST_ID:
            raise ValueError(f"class {shown(number)} is not a number of its own")
        classes[number] = name
    return classes
