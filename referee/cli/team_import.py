"""`referee team import`: registers the teams of a CSV file, with new passwords and a sheet to cut into strips."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
from collections.abc import Container, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from lpirc_score.files.atomic_write import write_atomically
from referee.auth.passwords import generate_password, hash_password
from referee.cli.recorded_acts import act
from referee.cli.shared_options import any_path, contest_folder
from referee.clock import Clock
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.pages import page_style, template_environment
from referee.presence import is_there

PRIVATE = 0o600
SURPLUS = "more cells than the header has columns"


@click.command("import")
@click.argument("file", type=any_path)
@click.option(
    "--sheet",
    type=any_path,
    help="Write a printable HTML page with one strip per team.",
)
@click.option(
    "--url", help="Address that the sheet tells the teams: http://192.168.1.10:8080"
)
@contest_folder
def import_teams(file: Path, sheet: Path | None, url: str | None, folder: Path) -> None:
    """Register the teams of FILE, each with a new password; its first line is team,affiliation.

    The passwords are shown once, here or on the sheet. A team of the contest that is in FILE stays as it is.
    """
    if (sheet is None) != (url is None):
        raise click.UsageError("Give both --sheet and --url, or neither.")
    if sheet is not None and is_there(sheet):
        sentence = (
            f"{sheet} exists and may hold passwords of other teams; name a new file."
        )
        raise RefereeError("sheet-exists", sentence)
    with open_contest(folder) as contest:
        present = contest.store.teams.all()
        listed = read_teams(file, present)
        new = {
            team: affiliation
            for team, affiliation in listed.items()
            if team not in present
        }
        passwords = {team: generate_password() for team in new}
        hashes = _hashed(list(passwords.values()))
        hashed = {
            team: (made, new[team]) for team, made in zip(new, hashes, strict=True)
        }
        if sheet is not None and url is not None and new:
            named = {
                "contest": contest.config.name,
                "url": url.rstrip("/"),
                "key": contest.store.identity.public_key(),
            }
            write_atomically(
                sheet, _sheet(named, passwords, new).encode(), mode=PRIVATE
            )
        try:
            with act(contest.store, "team-import", teams=[*hashed]) as under_way:
                contest.store.teams.add_all(hashed, Clock().utc(), under_way)
        except BaseException:
            if sheet is not None:
                sheet.unlink(missing_ok=True)
            raise
    for team, password in passwords.items() if sheet is None else ():
        click.echo(f"{team}\t{password}")
    kept = len(listed) - len(new)
    before = f"; {kept} were registered before and keep their passwords" if kept else ""
    where = f"; the passwords are only in {sheet}" if sheet is not None and new else ""
    click.echo(f"Registered {len(new)} teams{before}{where}.", err=sheet is None)


def _hashed(passwords: list[str]) -> list[str]:
    """Return the hashes of the passwords, computed on all cores, because each takes tens of milliseconds."""
    console = Console(stderr=True)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        made = threads.map(hash_password, passwords)
        is_hidden = not console.is_terminal
        return list(
            track(
                made,
                "Hashing passwords",
                len(passwords),
                console=console,
                disable=is_hidden,
            )
        )


def read_teams(file: Path, present: Iterable[str]) -> dict[str, str | None]:
    """Return the teams of a CSV file with their affiliations; its first line names the columns.

    `present` are the teams already in the contest. Raises RefereeError `bad-team-list`, which lists every bad line.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
        delimiter = ";" if ";" in text.partition("\n")[0] else ","
        reader = csv.DictReader(
            io.StringIO(text), None, SURPLUS, "", delimiter=delimiter, strict=True
        )
        reader.fieldnames = [
            name.strip().casefold() for name in reader.fieldnames or ()
        ]
        rows = [(reader.line_num, row) for row in reader]
    except OSError as error:
        raise RefereeError(
            "bad-team-list", f"{file} cannot be read: {error.strerror}."
        ) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise RefereeError(
            "bad-team-list", f"{file} cannot be read as CSV in UTF-8: {error}."
        ) from error
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
        sentence = f"{file}: {'; '.join(problems)}. Nothing is imported."
        raise RefereeError("bad-team-list", sentence, problems=problems)
    return listed


def require_team_name(name: str) -> None:
    """Raise RefereeError `team-name` if a name is blank or cannot be printed on one line."""
    if not name.strip() or not name.isprintable():
        raise RefereeError(
            "team-name",
            "A team needs a name that is not blank and can be printed on a line.",
        )


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


def _sheet(
    named: Mapping[str, str | None],
    passwords: Mapping[str, str],
    new: Mapping[str, str | None],
) -> str:
    strips = [
        {
            "team": team,
            "affiliation": new[team],
            "password": password,
            "log_in": _curl(str(named["url"]), team, password),
        }
        for team, password in passwords.items()
    ]
    page = template_environment().get_template("team_sheet.html")
    return page.render(**named, strips=strips, style=page_style())


def _curl(url: str, team: str, password: str) -> str:
    body = shlex.quote(
        json.dumps({"team": team, "password": password}, ensure_ascii=False)
    )
    return f"curl {shlex.quote(url + '/v1/session')} -H 'Content-Type: application/json' -d {body}"
