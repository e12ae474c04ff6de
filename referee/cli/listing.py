"""A list that a command prints as a table or, with `--json`, `--csv` or `--html`, as JSON, CSV or a web page."""

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
    curves: str = "",
    to: Callable[[bytes], None] = partial(click.echo, nl=False),  # noqa: B008 - a constant
) -> None:
    """Print a list as JSON, CSV, an HTML page, or (if `form` is None) as a table.

    "json" prints the `documents`, "csv" their values under `keys`; "html" and the table print the `rows`. All forms
    except the table are written with `to`, by default to stdout. `title` and `about` appear on the page only; `notes`
    are printed below the table, and `more` rows below the notes on the page. `curves` is a picture on the page. `empty`
    is printed for a table without rows.
    """
    if form == "json":
        to(f"{json.dumps(documents)}\n".encode())
    elif form == "csv":
        cells = (_cells(row, keys) for row in documents)
        to(table_bytes(keys, map(harmless, cells)))
    elif form == "html":
        now = Clock().utc()
        page = table_page(title, about, columns, rows, notes, now, more, curves)
        to(page.encode())
    elif rows:
        print_table(columns, rows, notes[0])
        for note in notes[1:]:
            click.echo(note)
    else:
        click.echo(empty, err=True)


def in_form(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for the form, of which one may be given."""
    for form, words in (
        ("html", "a complete page for a web site"),
        ("csv", "CSV"),
        ("json", "JSON"),
    ):
        command = click.option(
            f"--{form}",
            f"as_{form}",
            is_flag=True,
            expose_value=False,
            callback=partial(_keep_form, form),
            help=f"Print {words}.",
        )(command)
    return command


def _keep_form(
    form: str, context: click.Context, _option: click.Parameter, given: bool
) -> None:
    """Keep the given form as the parameter `form`, None if none was given. Raises UsageError for a second one."""
    earlier = context.params.setdefault("form", None)
    if given and earlier is not None:
        raise click.UsageError(f"Give --{earlier} or --{form}, not both.", context)
    if given:
        context.params["form"] = form


def _cells(row: Mapping[str, Any], keys: Sequence[str]) -> dict[str, object]:
    # The further figures of a task are left out where a run has none.
    return {key: _cell(row.get(key, "")) for key in keys}


def _cell(value: object) -> object:
    """Return a list as the text of one cell, any other value unchanged."""
    if isinstance(value, dict):
        return "; ".join(f"{name} {one}" for name, one in value.items())
    return "; ".join(map(_item, value)) if isinstance(value, list) else value


def _item(one: object) -> str:
    """Return an item of a list as text.

    A team whose order is uncertain is shown with the chance of that order, a failed check by its code.
    """
    if not isinstance(one, dict):
        return str(one)
    return f"{one['team']}:{one['chance']:.3f}" if "team" in one else str(one["code"])
