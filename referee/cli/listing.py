"""A list that a command prints as a table, JSON, CSV, or as a page of its own: `--json`, `--csv`, `--html`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import click

from lpirc_score.cli.terminal_tables import Column, print_table
from lpirc_score.files.csv_tables import harmless, table_bytes
from referee.clock import Clock
from referee.pages import table_page


def print_listing(
    form: str | None,
    documents: Sequence[dict[str, Any]],
    keys: Sequence[str],
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    *,
    title: str,
    about: str,
    notes: Sequence[str],
    empty: str,
    more: Sequence[Sequence[str]] = (),
    to: Callable[[bytes], None] = partial(click.echo, nl=False),  # noqa: B008 - a constant
) -> None:
    """Print `documents` as `json`, their `keys` as `csv`, or the `rows` as a page of `html`, or for None as a table.

    In a form it goes `to` stdout. The `title` and `about` are the page's alone; the `notes` stand below the table,
    `more` rows below them on the page. `empty` is said of no rows.
    """
    if form == "json":
        to(f"{json.dumps(documents)}\n".encode())
    elif form == "csv":
        cells = (_cells(row, keys) for row in documents)
        to(table_bytes(keys, map(harmless, cells)))
    elif form == "html":
        to(table_page(title, about, columns, rows, notes, Clock().utc(), more).encode())
    elif rows:
        print_table(columns, rows, notes[0])
        for note in notes[1:]:
            click.echo(note)
    else:
        click.echo(empty, err=True)


def in_form(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options; of several the last one counts."""
    for form, words in (
        ("html", "a page of its own for a web site"),
        ("csv", "CSV"),
        ("json", "JSON"),
    ):
        command = click.option(
            f"--{form}", "form", flag_value=form, help=f"Print {words}."
        )(command)
    return command


def _cells(row: Mapping[str, Any], keys: Sequence[str]) -> dict[str, object]:
    return {key: _cell(row[key]) for key in keys}


def _cell(value: object) -> object:
    """A list in one cell."""
    return "; ".join(map(_item, value)) if isinstance(value, list) else value


def _item(one: object) -> str:
    """A team that a run is level with, with the chance; a failed check by its code."""
    if not isinstance(one, dict):
        return str(one)
    return f"{one['team']}:{one['chance']:.3f}" if "team" in one else str(one["code"])
