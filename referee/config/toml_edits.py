"""Edits of a TOML text: a value set or no longer set, a row of an array of tables added or taken away. Pure.

tomlkit replaces values. A key that is new goes below the comment that shows it, else below the last key of its table;
what is taken away becomes a comment. Every way is tried until the result has the values that it must have, and no
others, by Python's own parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from referee.config import CONFIG_NAME, toml_table
from referee.config.toml_lines import (
    HEADER,
    inserted,
    line_of,
    lines_of,
    span_of,
    with_subtables,
)
from referee.errors import RefereeError

COMMENTED_KEY = r"\s*#+\s*{}\s*="
KEY = re.compile(r"""\s*["']?[\w-]+["']?\s*[=.]""")
TRIED = (
    TOMLKitError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    RecursionError,
)
Table = dict[str, Any]
Way = Callable[[str], str]


@dataclass(frozen=True)
class Setting:
    """A value to set; None: no longer set. `row` names a row of an array of tables by its `name`."""

    key: str
    value: object
    table: str = ""
    row: str = ""

    @property
    def named(self) -> str:
        """The key with its table and its row."""
        return ".".join(one for one in (self.table, self.row, self.key) if one)

    @property
    def wanted(self) -> object:
        """The value, as a parser returns it."""
        return list(self.value) if isinstance(self.value, tuple) else self.value


@dataclass(frozen=True)
class NewRow:
    """A row to add to an array of tables, with a `name` that no other row has."""

    table: str
    values: Mapping[str, object] = field(default_factory=dict)

    @property
    def named(self) -> str:
        """The table with the name of the row."""
        return f"{self.table}.{self.values['name']}"

    @property
    def wanted(self) -> object:
        """The row, as a parser returns it."""
        return dict(self.values)


@dataclass(frozen=True)
class NoRow:
    """A row to take away from an array of tables; its lines become comments."""

    table: str
    row: str

    @property
    def named(self) -> str:
        """The table with the name of the row."""
        return f"{self.table}.{self.row}"

    @property
    def wanted(self) -> object:
        """None: no row of that name."""
        return None


Edit = Setting | NewRow | NoRow


def edited(text: str, edit: Edit) -> str:
    """Return the text with one edit made. Raises RefereeError `settings-form` if no way of making it is known."""
    table = toml_table(text)
    wanted = _expected(table, edit)
    if wanted == table:
        return text
    for way in _ways(text, edit):
        try:
            result = way(text)
            if toml_table(result) == wanted:
                return result
        except TRIED:
            continue
    sentence = f"{CONFIG_NAME} has {edit.named} in a form that this page cannot change; {_by_hand(text, edit)}."
    raise RefereeError("settings-form", sentence)


def _by_hand(text: str, edit: Edit) -> str:
    """Return what to do instead, with the line if one is found."""
    places = [(edit.table, "", 1)]
    if isinstance(edit, Setting):
        places = [(edit.key, edit.table, 1), (edit.table, "", 1), (edit.key, "", 1)]
    for key, table, number in places:
        line = line_of(text, key, table, number)
        if line is not None:
            return f"change line {line} in an editor"
    return "change it in an editor"


def value_in(table: Table, edit: Edit) -> object:
    """Return the present value of what the edit is about; None if it is not set."""
    if isinstance(edit, Setting):
        place: Any = table.get(edit.table, {}) if edit.table else table
        if edit.row:
            place = _row(place, edit.row) or {}
        return place.get(edit.key) if isinstance(place, dict) else None
    name = edit.row if isinstance(edit, NoRow) else str(edit.values["name"])
    return _row(table.get(edit.table, []), name)


def _row(rows: Any, name: str) -> Table | None:
    return next((one for one in rows if one.get("name") == name), None)


def _expected(table: Table, edit: Edit) -> Table:
    """Return the values that the text must have after the edit. Raises RefereeError `settings-form`."""
    wanted = deepcopy(table)
    if isinstance(edit, NewRow):
        wanted.setdefault(edit.table, []).append(dict(edit.values))
        return wanted
    if isinstance(edit, NoRow):
        rows = wanted.get(edit.table, [])
        wanted[edit.table] = [one for one in rows if one.get("name") != edit.row]
        if not wanted[edit.table]:
            del wanted[edit.table]
        return wanted
    place: Any = wanted
    if edit.row:
        place = _row(wanted.get(edit.table, []), edit.row)
        if place is None:
            words = f"{CONFIG_NAME} has no {edit.table.removesuffix('s')} {edit.row!r}; load the page again."
            raise RefereeError("settings-form", words)
    elif edit.table:
        place = wanted.setdefault(edit.table, {})
    if edit.value is None:
        place.pop(edit.key, None)
        if edit.table and not edit.row and not place and edit.table not in table:
            del wanted[edit.table]
    else:
        place[edit.key] = edit.wanted
    return wanted


def _ways(text: str, edit: Edit) -> Iterator[Way]:
    """Yield the ways of making an edit, the one that looks best first."""
    if isinstance(edit, NewRow):
        yield partial(_below_last_row, edit)
        yield partial(
            _at_end,
            edit.table,
            edit.values,
        )
        return
    if isinstance(edit, NoRow):
        yield partial(_without_row, edit)
        return
    if edit.value is None:
        yield partial(_commented_key, edit)
        yield partial(_in_own_lines, edit)
        return
    if value_in(toml_table(text), edit) is not None:
        yield partial(_in_own_lines, edit)
        yield partial(_in_top_lines, edit)
        return
    if edit.table and edit.table not in toml_table(text):
        yield partial(_below_shown_table, edit)
        yield partial(
            _at_end,
            edit.table,
            {edit.key: edit.wanted},
            is_row=False,
        )
    yield partial(_below_comment, edit)
    yield partial(_below_last_key, edit)
    yield partial(_in_top_lines, edit)


def _in_own_lines(edit: Setting, text: str) -> str:
    """Change the value in the lines of its table alone: tomlkit would gather tables that stand apart."""
    span = _span(text, edit)
    return _by_tomlkit(
        edit,
        text,
        span,
        nested=False,
    )


def _in_top_lines(edit: Setting, text: str) -> str:
    """Change the value among the keys at the top, where it is written as `table.key` or in an inline table."""
    return _by_tomlkit(
        edit,
        text,
        span_of(text, "", 1),
        nested=True,
    )


def _by_tomlkit(
    edit: Setting,
    text: str,
    span: range,
    *,
    nested: bool,
) -> str:
    lines = lines_of(text)
    document: Any = tomlkit.parse("".join(lines[span.start : span.stop]))
    place = document
    if edit.table:
        place = document[edit.table]
    if edit.row:
        place = _row(place, edit.row) if nested else place[0]
    if edit.value is None:
        del place[edit.key]
    else:
        place[edit.key] = edit.wanted
    changed = str(document.as_string())
    return "".join([*lines[: span.start], changed, *lines[span.stop :]])


def _commented_key(edit: Setting, text: str) -> str:
    lines = lines_of(text)
    own = re.compile(rf"""\s*["']?{re.escape(edit.key)}["']?\s*=""")
    for number in _span(text, edit):
        if own.match(lines[number]):
            lines[number] = f"# {lines[number]}"
            return "".join(lines)
    raise KeyError(edit.key)


def _below_comment(edit: Setting, text: str) -> str:
    lines = lines_of(text)
    comment = re.compile(COMMENTED_KEY.format(re.escape(edit.key)))
    for number in _span(text, edit):
        if comment.match(lines[number]):
            return inserted(
                text,
                number + 1,
                [_assignment(edit.key, edit.wanted)],
            )
    raise KeyError(edit.key)


def _below_last_key(edit: Setting, text: str) -> str:
    lines = lines_of(text)
    span = _span(text, edit)
    last = [
        number
        for number in span
        if KEY.match(lines[number]) or HEADER.match(lines[number])
    ]
    below = last[-1] + 1 if last else span.start
    return inserted(
        text,
        below,
        [_assignment(edit.key, edit.wanted)],
    )


def _below_shown_table(edit: Setting, text: str) -> str:
    """Insert a table below the comments that show it."""
    shown = re.compile(rf"\s*#+\s*\[{re.escape(edit.table)}\]")
    lines = lines_of(text)
    for number, line in enumerate(lines):
        if not shown.match(line):
            continue
        below = number + 1
        while below < len(lines) and lines[below].lstrip().startswith("#"):
            below += 1
        new = [f"[{edit.table}]", _assignment(edit.key, edit.wanted)]
        return inserted(
            text,
            below,
            new,
        )
    raise KeyError(edit.table)


def _below_last_row(edit: NewRow, text: str) -> str:
    rows = len(toml_table(text)[edit.table])
    span = span_of(
        text,
        edit.table,
        rows,
    )
    lines = lines_of(text)
    keys = [number for number in span if KEY.match(lines[number])]
    new = ["", f"[[{edit.table}]]", *_assignments(edit.values)]
    below = keys[-1] + 1
    while below in span and re.match(r"\s*#", lines[below]):
        below += 1
    return inserted(
        text,
        below,
        new,
    )


def _at_end(
    table: str, values: Mapping[str, object], text: str, *, is_row: bool = True
) -> str:
    header = f"[[{table}]]" if is_row else f"[{table}]"
    lines = lines_of(text)
    return inserted(
        text,
        len(lines),
        ["", header, *_assignments(values)],
    )


def _without_row(edit: NoRow, text: str) -> str:
    rows = toml_table(text)[edit.table]
    numbers = [
        number
        for number, one in enumerate(rows, start=1)
        if one.get("name") == edit.row
    ]
    lines = lines_of(text)
    for number in with_subtables(text, edit.table, numbers[0]):
        if lines[number].strip() and not lines[number].lstrip().startswith("#"):
            lines[number] = f"# {lines[number]}"
    return "".join(lines)


def _span(text: str, edit: Setting) -> range:
    """Return the lines of the edit's table."""
    if not edit.row:
        return span_of(
            text,
            edit.table,
            1,
        )
    rows = toml_table(text)[edit.table]
    names = [one.get("name") for one in rows]
    return span_of(
        text,
        edit.table,
        names.index(edit.row) + 1,
    )


def _assignments(values: Mapping[str, object]) -> list[str]:
    return [_assignment(key, value) for key, value in values.items()]


def _assignment(key: str, value: object) -> str:
    return f"{key} = {tomlkit.item(value).as_string()}"
