"""`referee operator add|list|remove`."""

from __future__ import annotations

from pathlib import Path

import click

from referee.auth.passwords import hash_password
from referee.cli.recorded_acts import act, optional_reason
from referee.cli.shared_options import any_path, contest_folder
from referee.cli.team_command import password_of
from referee.clock import Clock
from referee.contest import open_contest
from referee.registration.registered_names import (
    require_operator_name,
    require_password,
)


@click.group()
def operator() -> None:
    """Register, list and remove operators of the console."""


@operator.command()
@click.argument("name")
@click.option(
    "--password-file", type=any_path, help="File whose first line is the password."
)
@contest_folder
def add(name: str, password_file: Path | None, folder: Path) -> None:
    """Register operator NAME; the password comes from a file, $LPIRC_PASSWORD, or a prompt."""
    require_operator_name(name)
    with open_contest(folder) as contest:
        password = password_of(password_file)
        require_password(password)
        hashed = hash_password(password)
        with act(contest.store, "operator-add", name=name.strip()) as under_way:
            contest.store.operators.add(name.strip(), hashed, Clock().utc(), under_way)
    click.echo(f"Registered {name.strip()}, who can log in at /operator/.")


@operator.command("list")
@contest_folder
def list_operators(folder: Path) -> None:
    """List the operators; whoever has the operator key needs no name."""
    with open_contest(folder, only_looks=True) as contest:
        for name in contest.store.operators.password_hashes():
            click.echo(name)


@operator.command()
@click.argument("name")
@optional_reason
@contest_folder
def remove(name: str, reason: str | None, folder: Path) -> None:
    """Remove operator NAME and end the sessions; acts under that name stay on record."""
    with (
        open_contest(folder) as contest,
        act(contest.store, "operator-remove", name=name, reason=reason) as under_way,
    ):
        contest.store.operators.remove(name, under_way)
    click.echo(f"{name} is removed.")
