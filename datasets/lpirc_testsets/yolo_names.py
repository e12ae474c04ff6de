"""Reads the names of YOLO's classes: a file with one a line, or `names` in a data.yaml.

Of YAML only the forms are read that such files have: a list in brackets, a list with dashes, numbers with names, and
these in braces. The class of a name is its place, from 0.
"""

from __future__ import annotations

import re
from pathlib import Path

from lpirc_testsets.errors import Problems
from lpirc_testsets.file_bytes import read_text
from lpirc_testsets.name_list import read_names, require_unique
from lpirc_testsets.values import LARGEST_ID, is_name, shown

YAML = (".yaml", ".yml")
KEY = re.compile(r"(?m)^names[ \t]*:(.*)$")
COUNT = re.compile(r"(?m)^nc[ \t]*:[ \t]*([0-9]+)")
NUMBER = r"\s*(?:(?P<number>[0-9]+)\s*:\s+)?"
QUOTED = r"""'(?P<single>(?:[^']|'')*)'|"(?P<double>[^"]*)\""""
OF_BLOCK = re.compile(rf"""{NUMBER}(?:{QUOTED}|(?P<plain>[^\s'"\[{{].*?))\s*""")
OF_LIST = re.compile(
    rf"""{NUMBER}(?:{QUOTED}|(?P<plain>[^,'"\[\]{{}}]*[^\s,'"\[\]{{}}]))\s*(?:,|$)"""
)


def read_classes(path: Path, problems: Problems) -> dict[int, str]:
    """Return the names of the classes by number; what is wrong is added to `problems`.

    Raises TestSetError `ground-truth-missing` or `ground-truth-unreadable`.
    """
    if path.suffix.lower() not in YAML:
        return dict(enumerate(read_names(path, problems)))
    text = read_text(path)
    found = KEY.search(text)
    if found is None:
        problems.add(f"{path}: no line that begins with `names:`")
        return {}
    try:
        classes = _classes(found[1], text[found.end() :])
    except ValueError as error:
        problems.add(f"{path}: names: {error}")
        return {}
    require_unique([*classes.values()], path, problems)
    for number, name in classes.items():
        if not is_name(name):
            problems.add(f"{path}: names: {number}: {shown(name)} is not a name")
    stated = COUNT.search(text)
    if stated and int(stated[1]) != len(classes):
        problems.add(f"{path}: nc is {stated[1]}, but there are {len(classes)} names")
    return classes


def _classes(first: str, rest: str) -> dict[int, str]:
    value = _without_comment(first)
    if not value:
        return _numbered(_block_items(rest))
    closing = {"[": "]", "{": "}"}.get(value[0])
    if closing is None:
        raise ValueError(f"{shown(value)} is not a list of names")
    lines = [value, *map(_without_comment, rest.splitlines())]
    whole = " ".join(lines)
    end = _end(whole, closing)
    return _numbered(_items(whole[1:end]))


def _without_comment(line: str) -> str:
    return re.sub(r"(^|\s)#.*$", "", line).strip()


def _end(text: str, closing: str) -> int:
    """Return where the bracket closes, outside quotes."""
    quote = ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == closing:
            return place
    raise ValueError(f"the list has no {closing!r} at its end")


def _block_items(text: str) -> list[tuple[int | None, str]]:
    """Return the items of an indented list below `names:`, or of one with dashes."""
    items = []
    for line in text.splitlines():
        content = _without_comment(line)
        if not content:
            continue
        is_dash = content.startswith("-")
        if not is_dash and not line[:1].isspace():
            break
        items.append(_item(content.removeprefix("-")))
    return items


def _item(text: str) -> tuple[int | None, str]:
    found = OF_BLOCK.fullmatch(text)
    if found is None:
        raise ValueError(f"{shown(text.strip())} is not a name, or NUMBER: NAME")
    return _values(found)


def _items(text: str) -> list[tuple[int | None, str]]:
    items = []
    place = 0
    while text[place:].strip():
        found = OF_LIST.match(text, place)
        if found is None:
            raise ValueError(f"{shown(text[place:].strip())} cannot be read as names")
        items.append(_values(found))
        place = found.end()
    return items


def _values(found: re.Match[str]) -> tuple[int | None, str]:
    single = found["single"]
    name = found["double"] or found["plain"] or ""
    if single is not None:
        name = single.replace("''", "'")
    number = found["number"]
    return None if number is None else int(number), name


def _numbered(items: list[tuple[int | None, str]]) -> dict[int, str]:
    classes: dict[int, str] = {}
    for place, (stated, name) in enumerate(items):
        number = place if stated is None else stated
        if number in classes or number > LARGEST_ID:
            raise ValueError(f"class {shown(number)} is not a number of its own")
        classes[number] = name
    return classes
