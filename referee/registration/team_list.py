"""Reads a list of teams from a CSV text. A bad line is named by its number, and then nothing of the list is taken."""

from __future__ import annotations

import csv
import io
from collections.abc import Container, Iterable, Mapping
from pathlib import Path

from referee.errors import RefereeError

SURPLUS = "more cells than the header has columns"


def read_teams(file: Path, present: Iterable[str]) -> dict[str, str | None]:
    """Return the teams of a CSV file with their affiliations; see `teams_in`."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise RefereeError(
            "bad-team-list", f"{file} cannot be read: {error.strerror}."
        ) from error
    except UnicodeDecodeError as error:
        raise _not_csv(str(file), error) from error
    return teams_in(text, str(file), present)


def teams_in(text: str, source: str, present: Iterable[str]) -> dict[str, str | None]:
    """Return the teams of a CSV text with their affiliations; its first line names the columns.

    `source` names the text in sentences.
    `present` are the teams already in the contest. Raises RefereeError `bad-team-list`, which lists every bad line.
    """
    try:
        delimiter = ";" if ";" in text.partition("\n")[0] else ","
        reader = csv.DictReader(
            io.StringIO(text), None, SURPLUS, "", delimiter=delimiter, strict=True
        )
        reader.fieldnames = [
            name.strip().casefold() for name in reader.fieldnames or ()
        ]
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise _not_csv(source, error) from error
    listed: dict[str, str | None] = {}
    seen = {team.casefold(): team for team in present}
    problems = (
        []
        if "team" in reader.fieldnames
        else ["its first line must be: team,affiliation"]
    )
    for line, row in rows if not problems else ():
        surplus = row.pop(SURPLUS, [])
        team = row["team"].strip()
        affiliation = row.get("affiliation", "").strip()
        if not any(map(str.strip, [*row.values(), *surplus])):
            continue
        problem = (
            "it has more cells than the first line; quote a comma"
            if any(surplus)
            else None
        )
        if problem := problem or _problem(team, affiliation, listed, seen):
            problems.append(f"line {line}: {problem}")
        seen.setdefault(team.casefold(), team)
        listed[team] = affiliation or None
    if not listed and not problems:
        problems = ["it has no team; write one team per line: team,affiliation"]
    if problems:
        sentence = f"{source}: {'; '.join(problems)}. Nothing is imported."
        raise RefereeError("bad-team-list", sentence, problems=problems)
    return listed


def _problem(
    team: str, affiliation: str, listed: Container[str], seen: Mapping[str, str]
) -> str | None:
    """Return the problem of a line, or None.

    `listed` are the teams in the lines above; `seen` are all known teams by their casefolded names.
    """
    if not team:
        return "the team's name is blank"
    if not (team + affiliation).isprintable():
        return f"{team!r} has characters that cannot be printed on a line"
    if team in listed:
        return f"{team!r} is in the file already"
    if seen.get(team.casefold(), team) != team:
        return f"{team!r} differs from {seen[team.casefold()]!r} only in capitals"
    return None


def _not_csv(source: str, error: Exception) -> RefereeError:
    sentence = f"{source} cannot be read as CSV in UTF-8: {error}."
    return RefereeError("bad-team-list", sentence)
