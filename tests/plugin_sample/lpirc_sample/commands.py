"""A command: `referee window FOLDER` prints the time of a run."""

from __future__ import annotations

from pathlib import Path

import click

from referee.config import read_config


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
def window(folder: Path) -> None:
    """Print how long a run of the contest in FOLDER may take."""
    config = read_config(folder)
    click.echo(f"{config.name}: {config.window_s / 60:g} minutes")
