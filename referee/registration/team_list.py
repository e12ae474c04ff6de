"""Reads a list of teams from a CSV text. A bad line is named by its number, and then nothing of the list is taken."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lpirc_testsets.close_names import closest
from lpirc_testsets.system_failures import reason_of
from referee.errors import RefereeError
from referee.registration.registered_names import folded, team_problem

COLUMNS = ("team", "affiliation")
SURPLUS = "more cells than the header has columns"
Row = tuple[int, dict[str | Any, str | Any]]
"""A line's number, and its cells by column."""


def read_teams(file: Path, present: Iterable[str]) -> dict[str, str | None]:
    """Return the teams of a CSV file with their affiliations; see `teams_in`."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise RefereeError(
            "bad-team-list", f"{file} cannot be read: {reason_of(error)}."
        ) from error
    return teams_in(text_of_list(content, str(file)), str(file), present)


WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""How the files of spreadsheets begin: a ZIP archive, or a compound file of before 2007."""


class OtherEncoding(RefereeError):
    """A list that is not in UTF-8; `guess` is its text as a spreadsheet of Windows would have written it."""

    def __init__(self, sentence: str, guess: str) -> None:
        super().__init__("bad-team-list", sentence)
        self.guess = guess


def text_of_list(content: bytes, source: str) -> str:
    """Return the text of a list in UTF-8, or in UTF-16 with its mark. Raises OtherEncoding; RefereeError for others."""
    if content.startswith(WORKBOOKS):
        sentence = f'{source} is a workbook of a spreadsheet, and no CSV; save it as "CSV UTF-8". Nothing is imported.'
        raise RefereeError("bad-team-list", sentence)
    is_utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if is_utf_16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        guess = content.decode("cp1252", "replace")
        seen = guess.splitlines()[line - 1]
        sentence = (
            f'{source}: line {line} is not UTF-8; as Windows-1252 it reads {seen!r}. Save it as "CSV UTF-8". '
            "Nothing is imported."
        )
        raise OtherEncoding(sentence, guess) from error


def teams_in(text: str, source: str, present: Iterable[str]) -> dict[str, str | None]:
    """Return the teams of a CSV text with their affiliations; its first line names the columns.

    `source` names the text in sentences.
    `present` are the teams already in the contest. Raises RefereeError `bad-team-list`, which lists every bad line.
    """
    reader, rows = _rows_of(text, source)
    listed: dict[str, str | None] = {}
    seen = {folded(team): team for team in present}
    lines: dict[str, int] = {}
    columns = [*(reader.fieldnames or ())]
    head = _head_of(text)
    problems = [
        f"its first line has the column {name!r} twice; remove one of them"
        for name in COLUMNS
        if columns.count(name) > 1
    ]
    problems += _unknown_columns(columns, head)
    for line, row in rows if not problems else ():
        surplus = row.pop(SURPLUS, [])
        team = row["team"].strip()
        affiliation = row.get("affiliation", "").strip()
        if not any(map(str.strip, [*row.values(), *surplus])):
            continue
        problem = (
            f"{team!r} has more cells than the first line; quote a comma"
            if any(surplus)
            else None
        )
        if problem := problem or _problem(team, affiliation, lines, seen):
            problems.append(f"line {line}: {problem}")
        seen.setdefault(folded(team), team)
        lines.setdefault(team, line)
        listed[team] = affiliation or None
    if not listed and not problems:
        problems = ["it has no team; write one team per line: team,affiliation"]
    if problems:
        sentence = f"{source}: {'; '.join(problems)}. Nothing is imported."
        raise RefereeError("bad-team-list", sentence, problems=problems)
    return listed


def _unknown_columns(columns: Sequence[str], head: str) -> Iterator[str]:
    """Yield what is wrong with the names of the columns; those for other purposes, such as `mail`, are left out.

    `head` is the line that names them.
    """
    others = [name for name in columns if name not in COLUMNS]
    if "team" not in columns:
        has = f", and not {head!r}" if any(columns) else ""
        form = _delimiter(head).join(COLUMNS)
        yield f"its first line must be: {form}{has}; further columns are not read"
        return
    if {"password", "passwords"} & {*others}:
        yield "its passwords are not read, as each team gets a new one; remove their column"
    for name in others:
        meant = closest(name, COLUMNS)
        if meant is not None and meant not in columns:
            yield f"its first line has the column {name!r}, which is not read; write {meant!r} if it is meant"


def _rows_of(text: str, source: str) -> tuple[csv.DictReader[str], list[Row]]:
    """Return the reader, which knows the columns, and each row with its line. Raises RefereeError `bad-team-list`."""
    text, above = _without_marks(text)
    try:
        reader = csv.DictReader(
            io.StringIO(text, newline=""),
            None,
            SURPLUS,
            "",
            delimiter=_delimiter(text),
            strict=True,
        )
        reader.fieldnames = [
            name.strip().casefold() for name in reader.fieldnames or ()
        ]
        rows = [(reader.line_num + above, row) for row in reader]
    except csv.Error as error:
        line = _begun_line(text, reader.line_num) + above
        sentence = (
            f"{source}: line {line} cannot be read as CSV ({error}); write one team per line: team,affiliation, and a "
            "quote inside a name twice. Nothing is imported."
        )
        raise RefereeError("bad-team-list", sentence) from error
    return reader, rows


def _without_marks(text: str) -> tuple[str, int]:
    """Return a text without the line by which spreadsheets name their delimiter, and how many lines that leaves out."""
    text = text.removeprefix("\ufeff")
    if text[:4].casefold() == "sep=":
        return text.partition("\n")[2], 1
    return text, 0


def _head_of(text: str) -> str:
    """Return the line that names the columns, as it stands in the file."""
    return _without_marks(text)[0].partition("\n")[0].strip()


def _begun_line(text: str, before: int) -> int:
    """Return the line, from 1, at which the row after line `before` begins: blank lines are no rows."""
    lines = list(io.StringIO(text, newline=None))
    line = before
    while line < len(lines) and not lines[line].strip():
        line += 1
    return line + 1


def _delimiter(text: str) -> str:
    """Return the delimiter of the first line: spreadsheets write a semicolon or a tab where the comma is decimal."""
    first = text.partition("\n")[0]
    return next((one for one in (";", "\t") if one in first), ",")


def _problem(
    team: str, affiliation: str, lines: Mapping[str, int], seen: Mapping[str, str]
) -> str | None:
    """Return the problem of a line, or None.

    `lines` has the line of each team above; `seen` has all known teams by their folded names.
    """
    if not team:
        of = f" ({affiliation!r})" if affiliation else ""
        return f"the team's name is blank{of}; write a name, or remove the line"
    if team in lines:
        return f"{team!r} is in line {lines[team]} already; remove one of them"
    alike = seen.get(folded(team))
    return team_problem(team, affiliation, [] if alike is None else [alike])
