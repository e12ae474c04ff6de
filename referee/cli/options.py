"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

contest_folder = click.option(
    "--contest",
    "folder",
    type=click.Path(path_type=Path),
    default=Path(),
    envvar="REFEREE_CONTEST",
    help="The contest folder; default: $REFEREE_CONTEST, or the present folder.",
)
run_number = click.IntRange(1, 2**63 - 1)  # what the database can look for
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
