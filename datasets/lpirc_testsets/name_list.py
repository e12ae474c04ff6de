"""Reads a file of names, one a line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from lpirc_testsets.errors import Problems
from lpirc_testsets.file_bytes import read_text
from lpirc_testsets.values import is_name, shown


def read_names(path: Path, problems: Problems) -> list[str]:
    """Return the names in the order of the lines; blank lines at the end are ignored.

    A line without a name, a name that is used twice and a file without names are added to `problems`. Raises
    TestSetError `ground-truth-missing` or `ground-truth-unreadable`.
    """
    text = read_text(path)
    if text.lstrip().startswith(("{", "[", "<")):
        kind = "XML" if text.lstrip().startswith("<") else "JSON"
        problems.add(f"{path}: it is {kind}, and no list of names, one a line")
        return []
    names = [line.strip() for line in text.rstrip().splitlines()]
    require_unique(names, path, problems)
    for number, name in enumerate(names, start=1):
        if not is_name(name):
            problems.add(f"{path}: line {number}: {shown(name)} is not a name")
    return names


def require_unique(names: list[str], path: Path, problems: Problems) -> None:
    """Add to `problems` if there are no names, or some are used more than once."""
    if not names:
        problems.add(f"{path}: no names in it")
    for name, uses in Counter(names).items():
        if uses > 1:
            problems.add(f"{path}: the name {shown(name)} is used {uses} times")
