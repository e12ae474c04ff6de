"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

any_path = click.Path(path_type=Path)
as_json = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document."
)
