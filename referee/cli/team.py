"""`referee team add|list|disable|enable`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from referee.auth.passwords import hash_password
from referee.cli.options import as_json, contest_folder
from referee.clock import Clock
from referee.contest import open_contest
from referee.errors import RefereeError

PASSWORD_VARIABLE = "LPIRC_PASSWORD"  # noqa: S105 - a variable's name


@click.group()
def team() -> None:
    """Register, list, disable and enable teams."""


@team.command()
@click.argument("name")
@click.option("--password-file", type=click.Path(path_type=Path), help="Its first line is the password.")
@contest_folder
def add(name: str, password_file: Path | None, folder: Path) -> None:
    """Register team NAME; the password comes from a file, $LPIRC_PASSWORD, or a prompt."""
    if not name.strip() or not name.isprintable():
        raise RefereeError("team-name", "A team needs a name that is not blank and can be printed on a line.")
    with open_contest(folder) as contest:
        contest.store.add_team(name, hash_password(password_of(password_file)), Clock().utc())
    click.echo(f"Registered {name}.")


@team.command("list")
@contest_folder
@as_json
def list_teams(folder: Path, *, as_json: bool) -> None:
    """List the teams."""
    with open_contest(folder) as contest:
        teams = contest.store.teams()
    if as_json:
        click.echo(json.dumps([{"team": name, "disabled": disabled} for name, disabled in teams.items()]))
        return
    if not teams:
        click.echo("No team is registered yet; see: referee team add --help", err=True)
    for name, disabled in teams.items():
        click.echo(f"{name} (disabled)" if disabled else name)


@team.command()
@click.argument("name")
@contest_folder
def disable(name: str, folder: Path) -> None:
    """Disable team NAME: it can no longer log in; its runs stay."""
    with open_contest(folder) as contest:
        contest.store.set_team_disabled(name, True)
    click.echo(f"{name} is disabled: it can no longer log in.")


@team.command()
@click.argument("name")
@contest_folder
def enable(name: str, folder: Path) -> None:
    """Enable team NAME: it can log in again, with the password it had."""
    with open_contest(folder) as contest:
        contest.store.set_team_disabled(name, False)
    click.echo(f"{name} is enabled: it can log in.")


def password_of(file: Path | None) -> str:
    """The password from a file, the environment or a prompt. Raises RefereeError."""
    if file is not None:
        try:
            password = file.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
        except (OSError, UnicodeDecodeError) as error:
            raise RefereeError(
                "password-file", f"The password file {file} cannot be read: {error}."
            ) from error
    elif PASSWORD_VARIABLE in os.environ:
        password = os.environ[PASSWORD_VARIABLE]
    elif not sys.stdin.isatty():
        raise RefereeError(
            "password-missing", f"There is no password: give --password-file, or set {PASSWORD_VARIABLE}."
        )
    else:
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    if not password:
        raise RefereeError("password-empty", "The password is empty.")
    return password
