"""`referee queue ...` and `referee announce`: they ask the server."""

from __future__ import annotations

from pathlib import Path

import click

from referee.cli.options import contest_folder
from referee.cli.server import ask


@click.group()
def queue() -> None:
    """Who runs next."""


@queue.command()
@contest_folder
def draw(folder: Path) -> None:
    """Draw by lot the order of all teams that may run; it replaces the queue and is on record."""
    _print(ask(folder, "/queue/draw", {})["queue"])


@queue.command("list")
@contest_folder
def list_queue(folder: Path) -> None:
    """List the teams that wait, the next one first."""
    _print([one["team"] for one in ask(folder, "/status")["queue"]])


def _change(name: str, help_text: str) -> None:
    @queue.command(name, help=help_text)
    @click.argument("team")
    @contest_folder
    def change(team: str, folder: Path) -> None:
        _print(ask(folder, f"/queue/{name}", {"team": team})["queue"])


_change("absent", "Move TEAM, which is absent, to the end.")
_change("add", "Add TEAM at the end.")
_change("remove", "Take TEAM out of the queue.")


@click.command()
@click.argument("text")
@contest_folder
def announce(text: str, folder: Path) -> None:
    """Show TEXT on the board and to every operator."""
    click.echo(f"Announcement {ask(folder, '/announcements', {'text': text})['id']} is published.")


def _print(teams: list[str]) -> None:
    for number, team in enumerate(teams, start=1):
        click.echo(f"{number:3d}  {team}")
    if not teams:
        click.echo("The queue is empty.", err=True)
