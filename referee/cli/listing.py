"""A list that a command prints as a table, JSON, CSV, or as a page of its own: `--json`, `--csv`, `--html`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from referee.cli.terminal import Column, print_table
from referee.clock import Clock
from referee.files.tables import harmless, table_bytes
from referee.pages.table import table_page


@dataclass(frozen=True)
class Listing:
    """What all forms show: `documents` as JSON, their `keys` as CSV, the `rows` as a table with its `caption`.

    The `title` and `about` are the page's alone; `notes` stand below the table. `empty` is said where there is no row.
    """

    documents: Sequence[dict[str, Any]]
    keys: Sequence[str]
    title: str
    about: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    caption: str
    notes: Sequence[str]
    empty: str


def print_listing(one: Listing, form: str | None) -> None:
    """Print it as `json`, `csv` or `html`; None: as a table."""
    if form == "json":
        click.echo(json.dumps(one.documents))
    elif form == "csv":
        rows = ({key: _cell(row[key]) for key in one.keys} for row in one.documents)
        click.echo(table_bytes(one.keys, map(harmless, rows)), nl=False)
    elif form == "html":
        columns = [(column.name, column.is_figure) for column in one.columns]
        page = table_page(one.title, one.about, columns, one.rows, [one.caption, *one.notes], Clock().utc())
        click.echo(page, nl=False)
    elif one.rows:
        print_table(one.columns, one.rows, one.caption)
        for note in one.notes:
            click.echo(note)
    else:
        click.echo(one.empty, err=True)


def in_form(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options; of several the last one counts."""
    for form, words in (("html", "a page of its own for a web site"), ("csv", "CSV"), ("json", "JSON")):
        command = click.option(f"--{form}", "form", flag_value=form, help=f"Print {words}.")(command)
    return command


def _cell(value: object) -> object:
    """A list in one cell; of teams that a run is level with, each with the chance."""
    if not isinstance(value, list):
        return value
    return "; ".join(
        f"{one['team']}:{one['chance']:.3f}" if isinstance(one, dict) else str(one) for one in value
    )
