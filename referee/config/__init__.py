"""Reads `contest.toml` of a contest folder into a frozen value; unknown keys and invalid values are refused.

Start with `ContestConfig`; `tracks` has the keys of model tracks, `contest_file` changes values in the file and keeps
its comments. Does not know how the values are used.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from lpirc_testsets.system_failures import reason_of
from referee.config.contest_problems import (
    LONGEST_WINDOW_S,
    PUBLISH_BY,
    contest_problems,
)
from referee.config.contest_values import (
    PRIZE_RULES,
    Backup,
    ContestConfig,
    Images,
    Prize,
    Station,
)
from referee.config.journal_table import Journal
from referee.config.missing_contest import missing_contest
from referee.config.rule_table import RuleTable
from referee.config.toml_slips import TIME_FORM, not_toml, shown
from referee.config.tracks import ModelTrack
from referee.config.unknown_keys import about_unknown
from referee.errors import BadSetting, RefereeError
from referee.given_units import as_number, of_unit
from referee.networks import network
from referee.presence import not_accessible

__all__ = [
    "CONFIG_NAME",
    "LONGEST_WINDOW_S",
    "PRIZE_RULES",
    "Backup",
    "ContestConfig",
    "Images",
    "ModelTrack",
    "Prize",
    "Station",
    "config_of",
    "place_of_key",
    "read_config",
    "toml_table",
]

CONFIG_NAME = "contest.toml"
LARGEST_INTEGER = 2**63
LARGEST_FIGURE = 1e6  # volts, amperes, seconds
SINGLE_TABLES: Mapping[str, type[Any]] = {
    "images": Images,
    "backup": Backup,
    "journal": Journal,
    "rule": RuleTable,
}
NUMBERS_OF_MEANING = {"publish_by": PUBLISH_BY}
_UNQUOTED = re.compile(r"true|false|\d{1,9}(\.\d{1,9})?")
EMPTY = (
    "it has no settings; take it from a backup, which makes a new folder: "
    "referee restore BACKUP.zip NEW_FOLDER"
)
MAY_BE_0 = ("settle_s", "zero_max_age_min", "ambient_change_c")


def read_config(folder: Path) -> ContestConfig:
    """Read the configuration of the contest in `folder`.

    Raises RefereeError `contest-missing`, `not-accessible` or `bad-config`; the sentence of `bad-config` names the
    file, the line, the key and the value.
    """
    path = folder / CONFIG_NAME
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise missing_contest(folder, CONFIG_NAME) from None
    except NotADirectoryError:
        sentence = f"{folder} is a file, and a contest is a folder; check the path."
        raise RefereeError("contest-missing", sentence) from None
    except PermissionError as error:
        raise not_accessible(path, error) from error
    except UnicodeDecodeError as error:
        raise _unreadable(path, "it is not text in UTF-8; save it as UTF-8") from error
    except OSError as error:
        raise _unreadable(path, reason_of(error)) from error
    return config_of(path, text)


def config_of(path: Path, text: str) -> ContestConfig:
    """Return the configuration that `text` would be as the file at `path`. Raises RefereeError `bad-config`."""
    try:
        table = toml_table(text)
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(path, not_toml(text, error)) from error
    except (ValueError, RecursionError) as error:  # a huge number, or too deep
        raise _unreadable(path, str(error)) from error
    if not table:
        raise _unreadable(path, EMPTY)
    return _contest(_Table(path, text), table)


def _in_quotes(value: object) -> str:
    """Return what a text must be; a number is shown as one."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'a text in quotes: "{value}"'
    return "a text in quotes"


def place_of_key(where: Path | str, key: str) -> str:
    """Return where a key at the top of a file stands, as "contest.toml, line 4"; a name that is no path stays."""
    if isinstance(where, str):
        return where
    try:
        text = where.read_text(encoding="utf-8-sig")
    except (OSError, ValueError):  # it was removed or spoilt since it was read
        return str(where)
    return ", ".join([str(where), *_Table(where, text).line(key)])


def _unreadable(path: Path, reason: str) -> RefereeError:
    return RefereeError("bad-config", f"{path} cannot be read: {reason}.")


@dataclass(frozen=True)
class _Table:
    """A table of the file: the `number`th among the tables of that name.

    Lines are found by searching the text: tomllib does not give them.
    """

    path: Path
    text: str
    name: str = ""
    number: int = 0

    def refused(self, key: str, words: str) -> RefereeError:
        """Return the error for a key or its value."""
        one = (
            f"{self.name.removesuffix('s')} {self.number}" if self.number else self.name
        )
        where = [str(self.path), *self.line(key), *([one] if one else [])]
        return BadSetting(", ".join(where), words)

    def line(self, key: str) -> list[str]:
        """Return the line of the key, else of its table, as a list; an empty list for an inline value."""
        table = ""
        seen = Counter[str]()
        at = 0
        for number, line in enumerate(self.text.split("\n"), start=1):
            if header := re.match(r"\s*\[+\s*([\w.-]+)\s*\]", line):
                table = header[1]
                seen[table] += 1
            if table != self.name or (seen[table] != self.number and self.number):
                continue
            if re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""", line):
                return [f"line {number}"]
            if header and not at:
                at = number
        if not at and not self.name:
            at = self._header(key)
        return [f"line {at}"] if at else []

    def _header(self, table: str) -> int:
        """Return the line of the first header of a table; 0 if there is none."""
        header = re.compile(rf"\s*\[+\s*{re.escape(table)}\s*\]")
        for number, line in enumerate(self.text.split("\n"), start=1):
            if header.match(line):
                return number
        return 0


def _contest(top: _Table, table: dict[str, Any]) -> ContestConfig:
    stations = [Station(**row) for row in _rows(top, table, "stations", Station)]
    tracks = [ModelTrack(**row) for row in _rows(top, table, "tracks", ModelTrack)]
    prizes = (
        [Prize(**row) for row in _rows(top, table, "prizes", Prize)]
        if "prizes" in table
        else None
    )
    single: dict[str, Any] = {}
    for key, kind in SINGLE_TABLES.items():
        if not isinstance(found := table.pop(key, {}), dict):
            raise top.refused(key, f"{key} must be written as one table [{key}].")
        single[key] = kind(**_checked(kind, replace(top, name=key), found))
    rest = single | _checked(
        ContestConfig, top, table, given=("stations", "tracks", "prizes", *single)
    )
    if prizes is not None:
        rest["prizes"] = tuple(prizes)
    config = ContestConfig(stations=tuple(stations), tracks=tuple(tracks), **rest)
    for name, number, key, words in contest_problems(config):
        where = [str(top.path), *replace(top, name=name, number=number).line(key)]
        raise BadSetting(", ".join(where), words)
    return config


def _rows(
    top: _Table, table: dict[str, Any], key: str, kind: type[Any]
) -> list[dict[str, Any]]:
    rows = table.pop(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise top.refused(key, f"{key} must be written as [[{key}]] tables.")
    return [
        _checked(kind, replace(top, name=key, number=i), row)
        for i, row in enumerate(rows, start=1)
    ]


def _checked(
    kind: type[Any], where: _Table, table: dict[str, Any], given: tuple[str, ...] = ()
) -> dict[str, Any]:
    known = {field.name: field for field in fields(kind) if field.name not in given}
    for key in table:
        if key not in known:
            words = about_unknown(key, sorted((*known, *given)))
            raise where.refused(key, words)
    for name, one in known.items():
        if (
            name not in table
            and one.default is MISSING
            and one.default_factory is MISSING
        ):
            raise where.refused(name, f"the key {name!r} is missing.")
    return {
        key: _typed(where, key, value, str(known[key].type))
        for key, value in table.items()
    }


def _typed(where: _Table, key: str, value: object, kind: str) -> object:
    if key in ("devices", "official_makers"):
        return _names(where, key, value)
    if kind.startswith("tuple"):
        return _networks(where, key, value)
    if kind.startswith("Mapping"):  # the track's rule checks names and values
        if isinstance(value, dict):
            return value
        raise where.refused(
            key, f"{key} = {shown(value)} must be written as [tracks.{key}]."
        )
    if kind.startswith("datetime"):
        return _moment(where, key, value)
    accepted = {"str": str, "bool": bool, "int": int}.get(kind, (int, float))
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind != "bool"):
        words = {
            "str": _in_quotes(value),
            "bool": "true or false",
            "int": f"a whole number{of_unit(key)}",
        }.get(kind, f"a number{of_unit(key)}")
        if choice := NUMBERS_OF_MEANING.get(key):
            words = choice.removeprefix("must be ").removesuffix(".")
        words += as_number(key, value) or _unquoted(value)
        raise where.refused(key, f"{key} = {shown(value)} must be {words}.")
    if not (kind.startswith("float") and isinstance(value, int | float)):
        return value
    if not 0 <= value <= LARGEST_FIGURE or (
        value == 0 and key not in MAY_BE_0
    ):  # the first is false for NaN
        least = "of 0 or more" if key in MAY_BE_0 else "above 0"
        raise where.refused(key, f"{key} = {shown(value)} must be a number {least}.")
    return float(value)


def _unquoted(value: object) -> str:
    """Return ", without quotes: 60" for a number or a truth value that stands in quotes; "" for another value."""
    is_meant = isinstance(value, str) and _UNQUOTED.fullmatch(value)
    return f", without quotes: {value}" if is_meant else ""


def _moment(where: _Table, key: str, value: object) -> datetime:
    if not isinstance(value, datetime):
        form = f"a time with its offset, unquoted: {TIME_FORM}."
        raise where.refused(key, f"{key} = {shown(value)} must be {form}")
    if value.tzinfo is None:
        form = f"{shown(value)}Z in UTC, or {shown(value)}+02:00"
        words = f"{key} = {shown(value)} has no offset from UTC; write {form}."
        raise where.refused(key, words)
    return value


def _names(where: _Table, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise where.refused(key, f"{key} = {shown(value)} must be a list of names.")
    return tuple(value)


def _networks(where: _Table, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise where.refused(
            key,
            f'{key} = {shown(value)} must be a list of networks: ["192.168.1.0/24"].',
        )
    for one in value:
        try:
            network(one)
        except ValueError as error:
            words = f"{key} has {one!r}, which is neither a network nor an address ({error})."
            raise where.refused(key, words) from error
    return tuple(value)


def toml_table(text: str) -> dict[str, Any]:
    """Parse a text as TOML.

    Raises ValueError if it is not TOML, or contains an integer beyond 64 bits, since one written in hexadecimal may
    have more digits than Python prints. Raises RecursionError if it is nested too deeply.
    """
    table = tomllib.loads(text)
    _require_range(table)
    return table


def _require_range(value: object) -> None:
    if isinstance(value, int) and not -LARGEST_INTEGER <= value < LARGEST_INTEGER:
        raise ValueError("it has a whole number that does not fit into 64 bits")
    for one in (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else ()
    ):
        _require_range(one)
