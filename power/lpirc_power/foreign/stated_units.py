"""Units that stand elsewhere than in a head: in a row of their own, or in the lines before the heading. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from lpirc_power.errors import MeterError
from lpirc_power.foreign.cell_values import NO_DATA
from lpirc_power.foreign.column_names import (
    UNITS,
    Column,
    plain_unit,
    recognized,
)

Rows = list[tuple[int, Sequence[str]]]
SPLIT: Final = re.compile(r"[\s,;:=|\[\](){}\"'#/]+")
NUMBER: Final = re.compile(r"[+-]?[\d.,]*\d[\d.,]*", re.ASCII)


def with_units(
    heads: Sequence[str], rows: Rows
) -> tuple[list[str], Rows, Sequence[str]]:
    """Return heads and rows; a row of units below the heading goes into the heads, and a sentence says so.

    It is one if a cell is a unit, and no cell has a digit.
    """
    if not rows:
        return list(heads), rows, ()
    line, cells = rows[0]
    units = [_bare(cell) for cell in cells]
    has_digit = any(one.isdigit() for one in "".join(cells))
    if has_digit or not any(map(is_unit, units)):
        return list(heads), rows, ()
    named = [_with_unit(head, unit) for head, unit in zip(heads, units, strict=True)]
    return named, rows[1:], (f"Line {line} has the units of the columns.",)


def _bare(cell: str) -> str:
    """Return a cell without brackets around it; "" for a word that stands for no data."""
    word = cell.strip().strip("[]()").strip()
    return "" if word.casefold() in NO_DATA else word


def is_unit(word: str) -> bool:
    """Return True for a word that is a unit of any quantity, also in brackets."""
    return any(plain_unit(_bare(word)) in units for units in UNITS.values())


def _with_unit(head: str, unit: str) -> str:
    """Return a head with its unit; one that states the same unit as it is, and one that contradicts with both."""
    if not unit:
        return head
    known = recognized(0, head)
    size = UNITS[known.quantity].get(plain_unit(unit)) if known else None
    if known and known.is_stated and known.size == size:
        return head
    return f"{head} [{unit}]"


def require_its_unit(
    path: Path, column: Column, preamble: Iterable[tuple[int, str]]
) -> None:
    """Refuse a column without a unit if a line before the heading names another than the usual one.

    Raises MeterError `recording-columns`.
    """
    if column.is_stated and column.size is not None:
        return
    for line, text in preamble:
        unit = _other_unit(column, text)
        if unit:
            raise MeterError(
                "recording-columns",
                f"{path}, line {line} names the unit {unit!r}, and the column {column.head!r} has none; state it: "
                f"--columns {column.quantity}:{unit}={column.head}, or another unit.",
            )


def _other_unit(column: Column, text: str) -> str:
    """Return the unit in a line that is not the column's usual one; one behind a number is that of a setting."""
    before = ""
    for word in SPLIT.split(text):
        if _is_other(column, word) and not NUMBER.fullmatch(before):
            return word
        before = word
    return ""


def _is_other(column: Column, word: str) -> bool:
    """Return True for mW, kW, milliwatts and so on: not for NA, which is no nA, nor for single letters."""
    if len(word) < 2 or (len(word) < 4 and word[0].isupper() and word != "MW"):
        return False
    if word == "MW":
        return column.quantity == "power"
    size = UNITS[column.quantity].get(plain_unit(word))
    return size is not None and size != (column.size or 1.0)
