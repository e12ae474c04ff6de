"""Edits of a row of an array of tables: a prize, a track, a station."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from referee.config.toml_edits import Edit, NewRow, Setting
from referee.config.toml_lines import line_of, row_headers
from referee.web.setup.form_body import Form
from referee.web.setup.form_fields import (
    Field,
    Shown,
    fields_shown,
    settings_of,
)


@dataclass(frozen=True)
class ShownRow:
    """A row as its form shows it, and the line of contest.toml at which it begins; None if it has none of its own."""

    name: str
    fields: Sequence[Shown]
    line: int | None


def row_edits(table: str, row: str, fields: Sequence[Field], form: Form) -> list[Edit]:
    """Return the edits of a row's form; its name comes last, since the others name the row by it."""
    found = settings_of(fields, form, table=table, row=row)
    named = [one for one in found if one.key == "name"]
    others = [one for one in found if one.key != "name"]
    return [*(_without_default(one) for one in others), *named]


def new_row(table: str, fields: Sequence[Field], form: Form) -> NewRow:
    """Return a row with the fields that are not blank. Raises RefereeError `bad-request`."""
    filled = [one for one in fields if one.name == "name" or form.text(one.name)]
    made = settings_of(filled, form, table=table)
    return NewRow(table, {one.key: one.wanted for one in made})


def new_row_given(names: Sequence[str], form: Form | None) -> dict[str, str]:
    """Return what the form for a new row shows: blank, or what it had when it was refused."""
    if form is None or "row" in form.texts:
        return dict.fromkeys(names, "")
    return {name: form.text(name) for name in names}


def shown_rows(
    table: str,
    rows: Sequence[object],
    fields: Sequence[Field],
    text: str,
    form: Form | None,
) -> list[ShownRow]:
    """Return the rows of a table; the form that was refused stays in the row it is of."""
    headers = row_headers(text, table)
    shown = []
    for number, row in enumerate(rows):
        values = {one.name: getattr(row, one.key) for one in fields}
        name = str(values["name"])
        own = form if form is not None and form.text("row") == name else None
        line = headers[number] if number < len(headers) else None
        shown.append(ShownRow(name, fields_shown(fields, values, own), line))
    return shown


def written_elsewhere(text: str, table: str, rows: Sequence[object]) -> int | None:
    """Return the line at which rows stand in a form to which pages add none; None if they stand as tables."""
    if not rows or len(row_headers(text, table)) == len(rows):
        return None
    return line_of(text, table) or 1


def _without_default(setting: Setting) -> Setting:
    """Return the setting, or one that takes the key away if a blank list means the default."""
    return replace(setting, value=None) if setting.value == () else setting
