"""The fields of the settings' forms: how a value is shown, read back, and made a setting."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from referee.config.toml_edits import Setting
from referee.errors import RefereeError
from referee.given_units import as_number
from referee.web.setup.form_body import Form

YES = "yes"
WAS = "was."
"""Prefix of the hidden field that has the value with which the form was made."""
_WHOLE = re.compile(r"-?[0-9]{1,9}")


@dataclass(frozen=True)
class Field:
    """A key of contest.toml as a field: `kind` is text, whole, number, flag, moment or list.

    A field with `choices` is a selection. A blank field that `may_be_blank` means: not set.
    """

    key: str
    label: str
    kind: str = "text"
    hint: str = ""
    table: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    may_be_blank: bool = False

    @property
    def name(self) -> str:
        """The name of the field in the form."""
        return f"{self.table}.{self.key}" if self.table else self.key


@dataclass(frozen=True)
class Shown:
    """A field with the text that the form shows, the one with which it was made, and what another hand wrote."""

    field: Field
    text: str
    was: str
    other: str | None = None


def text_of(value: object) -> str:
    """Return a value as a field shows it."""
    if value is None or value is False:
        return ""
    if value is True:
        return YES
    if isinstance(value, datetime):
        return local_text(value)
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def fields_shown(
    fields: Sequence[Field],
    values: Mapping[str, object],
    form: Form | None = None,
) -> list[Shown]:
    """Return the fields with the values of the file or, after a refusal, with what the form has."""
    shown = []
    for field in fields:
        present = text_of(values.get(field.name))
        if form is None:
            shown.append(Shown(field, present, present))
            continue
        given = form.text(field.name)
        is_untouched = given == form.text(WAS + field.name)
        text = present if is_untouched else given
        other = None if is_untouched or present == given else present or "not set"
        shown.append(Shown(field, text, present, other))
    return shown


def settings_of(
    fields: Sequence[Field], form: Form, *, table: str = "", row: str = ""
) -> list[Setting]:
    """Return a setting for each field that was changed in the form.

    `table` and `row` place them in an array of tables. Raises RefereeError `bad-request`, which names every bad value.
    """
    found = []
    problems = []
    for field in fields:
        given = form.text(field.name)
        if given == form.text(WAS + field.name):
            continue
        try:
            value = value_of(field, given)
        except ValueError as error:
            problems.append(f"{field.label}: {error}")
            continue
        found.append(Setting(field.key, value, table or field.table, row))
    if problems:
        sentence = f"{'; '.join(problems)}. Nothing was written."
        raise RefereeError("bad-request", sentence)
    return found


def in_labels(words: str, fields: Sequence[Field]) -> str:
    """Return a sentence about keys and values of contest.toml with the labels of their fields and choices."""
    for table in {one.table for one in fields if one.table}:
        words = words.removeprefix(f"{table}: ")
    # Of two fields with one key, the one of a table is the one whose key stands in sentences.
    for field in sorted(fields, key=lambda one: (-len(one.key), not one.table)):
        words = _labelled(words, field)
    return words


def _labelled(words: str, field: Field) -> str:
    """Return a sentence with the label of one field, and of its choices."""
    label = f"“{field.label}”"
    words = words.replace(
        f"the key {field.key!r} is missing", f"{label} is blank; fill it in"
    )
    if "_" in field.key:
        words = re.sub(rf"(?<!\w){field.key}\b", label, words)
    else:  # it is a word of plain sentences, too
        words = re.sub(rf"(?<![\w'“]){field.key}(?= = )", label, words)
        words = re.sub(
            rf"((?:^|: |and |or |needs ){field.key})(?= (?:has|is|are|and|or|needs)\b|:)",
            lambda found: found[0].removesuffix(field.key) + label,
            words,
        )
    if field.kind == "flag":
        words = words.replace(f"{label} = true", f"{label} ticked")
        words = words.replace(f"{label} = false", f"{label} unticked")
    for value, choice in field.choices:
        if value and value != choice:
            words = re.sub(rf"(['\"]){re.escape(value)}\1", f"“{choice}”", words)
    return words


def value_of(field: Field, given: str) -> Any:
    """Return the value that a text means. Raises ValueError with what is wrong."""
    if field.kind == "flag":
        return given == YES
    if not given:
        if field.may_be_blank:
            return None
        raise ValueError("it is blank; fill it in")
    if field.choices and given not in dict(field.choices):
        labels = ", ".join(label for _, label in field.choices)
        raise ValueError(f"{given!r} is none of {labels}")
    if field.kind == "whole":
        return _whole(given, field.key)
    if field.kind == "number":
        return _number(given, field.key)
    if field.kind == "moment":
        return _moment(given)
    if field.kind == "list":
        return tuple(one.strip() for one in given.split(",") if one.strip())
    return given


def _whole(given: str, key: str) -> int:
    if not _WHOLE.fullmatch(given):  # one below 0 has a better refusal, by its key
        raise ValueError(f"{given!r} is not a whole number{as_number(key, given)}")
    return int(given)


def _number(given: str, key: str) -> float | int:
    try:
        value = float(given.replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{given!r} is not a number{as_number(key, given)}")
    return int(value) if value.is_integer() else value


def local_text(moment: datetime) -> str:
    """Return a time as a date-time picker has it: by this machine's clock, without an offset."""
    local = moment.astimezone().replace(tzinfo=None)
    return local.isoformat(timespec="seconds" if local.second else "minutes")


def _moment(given: str) -> datetime:
    """Return the time of a date-time picker, which is by this machine's clock, or of a text with its own offset."""
    try:
        value = datetime.fromisoformat(given)
        local_text(value)  # raises OverflowError for a day before the first one
        return value.astimezone() if value.tzinfo is None else value
    except (ValueError, OverflowError, OSError) as error:
        form = "2027-06-20T15:30"
        raise ValueError(f"{given!r} is not a time, such as {form}") from error
