"""What to do about a key of contest.toml that its table does not have: it stands in another table, or is misspelt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from lpirc_testsets.close_names import closest, did_you_mean
from referee.config.contest_values import (
    Backup,
    ContestConfig,
    Images,
    Prize,
    Station,
)
from referee.config.journal_table import Journal
from referee.config.rule_table import RuleTable
from referee.config.tracks import ModelTrack

TOP = "the top of the file, above the first [table]"
PLACES: Mapping[str, type[Any]] = {
    TOP: ContestConfig,
    "[[stations]]": Station,
    "[images]": Images,
    "[backup]": Backup,
    "[journal]": Journal,
    "[rule]": RuleTable,
    "[[tracks]]": ModelTrack,
    "[[prizes]]": Prize,
}
TABLES = ("stations", "tracks", "prizes", "images", "backup", "journal", "rule")


def about_unknown(key: str, known: Sequence[str]) -> str:
    """Return a sentence about a key that is not among the `known` ones of its table.

    TOML takes a line below a table's header as that table's, so a key appended to the file often stands too low.
    """
    if places := _places(key):
        missing = ", whose line may be missing above it" if "[[" in places else ""
        return f"unknown key {key!r} in this table; move its line to {places}{missing}."
    if closest(key, known) is not None:
        return f"unknown key {key!r}.{did_you_mean(key, known)}"
    anywhere = set().union(*map(_keys, PLACES.values()))
    meant = closest(key, anywhere)
    if meant is None:
        return f"unknown key {key!r}; the keys are {', '.join(known)}."
    return f"unknown key {key!r}. Did you mean {meant!r}, which belongs to {_places(meant)}?"


def _places(key: str) -> str:
    """Return where the key belongs, or "" if no table has it."""
    return " or ".join(place for place, kind in PLACES.items() if key in _keys(kind))


def _keys(kind: type[Any]) -> set[str]:
    return {one.name for one in fields(kind)}.difference(TABLES)
