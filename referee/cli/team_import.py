"""`referee team import`: registers the teams of a CSV file, with new passwords and a sheet to cut into strips."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from lpirc_score.files.atomic_write import write_atomically
from referee.auth.passwords import generate_password, hash_password
from referee.cli.output_paths import page_file
from referee.cli.recorded_acts import act
from referee.cli.shared_options import any_path, contest_folder
from referee.clock import Clock
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.networks import has_host
from referee.presence import is_there
from referee.registration.team_list import read_teams
from referee.registration.team_sheet import team_sheet

PRIVATE = 0o600
WEB = ("http://", "https://")


@click.command("import")
@click.argument("file", type=any_path)
@click.option(
    "--sheet",
    type=page_file,
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
    if url is not None and not url.startswith(WEB):
        words = f"{url!r} does not begin with http:// or https://; write"
        hint = "--url"
        raise click.BadParameter(f"{words} http://{url}", param_hint=hint)
    if url is not None and not has_host(url):
        words = f"{url!r} has no host or port that can be"
        raise click.BadParameter(
            f"{words}; write one such as http://192.168.1.10:8080", param_hint="--url"
        )
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
                sheet, team_sheet(named, passwords, new).encode(), mode=PRIVATE
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
