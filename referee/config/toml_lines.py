"""The lines of a TOML text: those of a table, and new ones between them. Pure.

Lines are found by searching the text: no parser gives them. Whoever edits by them compares the result.
"""

from __future__ import annotations

import re

HEADER = re.compile(r"\s*\[+\s*([\w.-]+)\s*\]+")


def span_of(
    text: str,
    table: str,
    number: int,
) -> range:
    """Return the lines of the `number`th table of that name; of the top, which has no header, for a blank name."""
    lines = lines_of(text)
    start = None if table else 0
    seen = 0
    for at, line in enumerate(lines):
        header = HEADER.match(line)
        if header is None:
            continue
        if start is not None:
            return range(start, at)
        seen += header[1] == table
        if header[1] == table and seen == number:
            start = at
    if start is None:
        raise KeyError(table)
    return range(start, len(lines))


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with their ends."""
    # str.splitlines knows more ends of lines than TOML.
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def inserted(
    text: str,
    at: int,
    new: list[str],
) -> str:
    """Return the text with new lines before line `at`, with the ends of lines that the text has."""
    end = "\r\n" if "\r\n" in text else "\n"
    lines = lines_of(text)
    if at and not lines[at - 1].endswith("\n"):
        lines[at - 1] += end
    return "".join([*lines[:at], *(one + end for one in new), *lines[at:]])
