"""`referee board ...`: each command sends a request to the server."""

from __future__ import annotations

from pathlib import Path

import click

from referee.cli.ask_server import ask
from referee.cli.shared_options import contest_folder
from referee.config.toml_slips import TIME_FORM

FREEZE_AT = (
    f"To freeze the board at a time, set freeze_at = {TIME_FORM} in contest.toml."
)


@click.group()
def board() -> None:
    """Freeze and unveil the public board."""


@board.command(epilog=FREEZE_AT)
@contest_folder
def freeze(folder: Path) -> None:
    """Keep the public board as it is now, for everyone but the operators."""
    click.echo(
        f"The board has been frozen since {ask(folder, '/board/freeze', {})['frozen_utc']}."
    )


@board.command()
@click.option(
    "--all",
    "all_places",
    is_flag=True,
    help="Show all remaining places; the board is live again.",
)
@contest_folder
def unveil(folder: Path, *, all_places: bool) -> None:
    """Show one more place of the final ranking, the last one first; after the first place the board is live again."""
    board = ask(folder, "/board/unveil", {"places": "all"} if all_places else {})
    shown = f"{board['unveiled']} of {board['places']} places are shown."
    click.echo("The board is live." if board["state"] == "live" else shown)
