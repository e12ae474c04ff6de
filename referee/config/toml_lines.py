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


def with_subtables(text: str, table: str, number: int) -> range:
    """Return the lines of a row with those of the tables inside it, such as [tracks.settings]."""
    own = span_of(text, table, number)
    lines = lines_of(text)
    for at in range(own.stop, len(lines)):
        header = HEADER.match(lines[at])
        if header and not header[1].startswith(f"{table}."):
            return range(own.start, at)
    return range(own.start, len(lines))


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


def row_headers(text: str, table: str) -> list[int]:
    """Return the line numbers, from 1, of the headers of an array of tables."""
    found = []
    for number, line in enumerate(lines_of(text), start=1):
        header = HEADER.match(line)
        if header and header[1] == table and line.lstrip().startswith("[["):
            found.append(number)
    return found


def line_of(text: str, key: str, table: str = "", number: int = 1) -> int | None:
    """Return the line, from 1, of a key in the `number`th table of that name; None if no line begins with it."""
    own = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""")
    try:
        span = span_of(text, table, number)
    except KeyError:
        return None
    for at in span:
        if own.match(lines_of(text)[at]):
            return at + 1
    return None
