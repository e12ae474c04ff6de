"""`referee team add|list|password|disable|enable`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from lpirc_testsets.system_failures import reason_of
from referee.auth.passwords import generate_password, hash_password
from referee.cli.recorded_acts import act, optional_reason
from referee.cli.shared_options import any_path, as_json, contest_folder
from referee.cli.team_import import import_teams
from referee.clock import Clock
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.judging.team_documents import team_documents
from referee.registration.registered_names import require_new_team
from referee.store.records import RunState

PASSWORD_VARIABLE = "LPIRC_PASSWORD"  # noqa: S105 - a variable's name


@click.group()
def team() -> None:
    """Register, import, list, disable and enable teams; give new passwords."""


team.add_command(import_teams)


@team.command()
@click.argument("name")
@click.option(
    "--password-file", type=any_path, help="File whose first line is the password."
)
@click.option("--affiliation", help="Text shown next to the team's name.")
@contest_folder
def add(
    name: str, password_file: Path | None, affiliation: str | None, folder: Path
) -> None:
    """Register team NAME; the password comes from a file, $LPIRC_PASSWORD, or a prompt."""
    affiliation = (affiliation or "").strip() or None
    require_new_team(name, affiliation, ())
    with open_contest(folder) as contest:
        require_new_team(name, affiliation, contest.store.teams.all())
        hashed = hash_password(password_of(password_file))
        with act(contest.store, "team-add", team=name) as under_way:
            contest.store.teams.add(name, hashed, Clock().utc(), affiliation, under_way)
    click.echo(f"Registered {name}.")


@team.command("list")
@contest_folder
@as_json
def list_teams(folder: Path, *, as_json: bool) -> None:
    """List the teams."""
    with open_contest(folder, only_looks=True) as contest:
        teams = team_documents(contest.store)
    if as_json:
        click.echo(json.dumps([*teams.values()]))
        return
    if not teams:
        click.echo("No team is registered yet; see: referee team add --help", err=True)
    for name, one in teams.items():
        where = f", {one['affiliation']}" if one["affiliation"] else ""
        click.echo(f"{name}{where}{' (disabled)' if one['disabled'] else ''}")


@team.command()
@click.argument("name")
@optional_reason
@contest_folder
def password(name: str, reason: str | None, folder: Path) -> None:
    """Give team NAME a new password, generated and shown once.

    The old one ends at once. A run that is open goes on: its token stays valid.
    """
    new = generate_password()
    with (
        open_contest(folder) as contest,
        act(contest.store, "team-password", team=name, reason=reason) as under_way,
    ):
        contest.store.teams.set_password(name, hash_password(new), under_way)
    click.echo(f"The new password of {name}: {new}")


@team.command()
@click.argument("name")
@optional_reason
@contest_folder
def disable(name: str, reason: str | None, folder: Path) -> None:
    """Disable team NAME: it can no longer log in; its runs stay, and an open run goes on."""
    with open_contest(folder) as contest:
        with act(contest.store, "team-disable", team=name, reason=reason) as under_way:
            contest.store.teams.set_disabled(name, True, under_way)
        runs = [
            run
            for run in contest.store.runs.find(team=name)
            if run.state in (RunState.ARMED, RunState.OPEN)
        ]
    click.echo(f"{name} is disabled: it can no longer log in.")
    for run in runs:
        goes_on = run.state is RunState.OPEN
        how = (
            "goes on until its end" if goes_on else "stays armed and keeps its station"
        )
        end = f"close {run.id}" if goes_on else f'void {run.id} --reason "…"'
        click.echo(f"Run {run.id} {how}; to end it now: referee run {end}")


@team.command()
@click.argument("name")
@optional_reason
@contest_folder
def enable(name: str, reason: str | None, folder: Path) -> None:
    """Enable team NAME: it can log in again, with the password it had."""
    with (
        open_contest(folder) as contest,
        act(contest.store, "team-enable", team=name, reason=reason) as under_way,
    ):
        contest.store.teams.set_disabled(name, False, under_way)
    click.echo(f"{name} is enabled: it can log in.")


def password_of(file: Path | None) -> str:
    """Return the password from a file, the environment or a prompt. Raises RefereeError."""
    if file is not None:
        try:
            password = file.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
        except UnicodeDecodeError as error:
            words = "it is not text in UTF-8; write the password into its first line"
            sentence = f"The password file {file} cannot be read: {words}."
            raise RefereeError("password-file", sentence) from error
        except OSError as error:
            reason = reason_of(error)
            sentence = f"The password file {file} cannot be read: {reason}."
            raise RefereeError("password-file", sentence) from error
    elif PASSWORD_VARIABLE in os.environ:
        password = os.environ[PASSWORD_VARIABLE]
    elif not sys.stdin.isatty():
        sentence = (
            f"There is no password: give --password-file, or set {PASSWORD_VARIABLE}."
        )
        raise RefereeError("password-missing", sentence)
    else:
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    if not password:
        place = PASSWORD_VARIABLE if file is None else f"the first line of {file}"
        sentence = f"The password is empty; write one into {place}."
        raise RefereeError("password-empty", sentence)
    return password
