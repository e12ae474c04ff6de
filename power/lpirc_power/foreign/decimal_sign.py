"""The decimal sign of a file: one for all of its numbers, decided once. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lpirc_power.errors import MeterError
from lpirc_power.foreign.cell_values import without_unit

SIGNS: Final = (".", ",")
_SINGLE: Final = re.compile(
    r"[+-]?(?P<whole>\d*)(?P<sign>[.,])(?P<part>\d*)(?P<power>e[+-]?\d+)?",
    re.ASCII | re.IGNORECASE,
)
_GROUPED: Final = re.compile(
    r"[+-]?[1-9]\d{0,2}(?P<group>[.,])\d{3}(?P<more>((?P=group)\d{3})*)(?P<part>[.,]\d+)?",
    re.ASCII,
)


@dataclass(frozen=True)
class Cell:
    """A cell of a column of numbers, with its line."""

    line: int
    head: str
    text: str


@dataclass(frozen=True)
class Seen:
    """What a cell shows: the decimal sign, whether it can be no other, and whether it proves groups of thousands."""

    sign: str
    is_sure: bool
    has_groups: bool = False


Shown = tuple[Cell, Seen]


def seen_in(text: str) -> Seen | None:
    """Return what a cell shows of the decimal sign; None for nothing.

    A single sign before three digits may part thousands: 1.235 is 1.235 or 1235. 0.235 and 1.2350 are sure.
    """
    word = without_unit(text)
    grouped = _GROUPED.fullmatch(word)
    if grouped and (grouped["more"] or grouped["part"]):
        group = grouped["group"]
        if grouped["part"] and grouped["part"][0] == group:
            return None
        return Seen(_other(group), is_sure=True, has_groups=True)
    single = _SINGLE.fullmatch(word)
    if single is None or not (single["whole"] or single["part"]):
        return None
    return Seen(single["sign"], is_sure=grouped is None)


def decimal_sign(
    path: Path,
    separator: str,
    columns: Sequence[Sequence[Cell]],
    asked: str | None,
) -> tuple[str, str]:
    """Return the decimal sign of the numbers in `columns`, and a sentence that says how it is known, "" if none is.

    Raises MeterError `recording-decimal`: two signs in one file, or numbers that may be read in two ways.
    """
    shown = [_shown(one) for one in columns]
    if asked is not None:
        return asked, f"The decimal sign is {asked!r}, as --decimal states."
    first = _first_sure(path, shown)
    if first is not None:
        cell, seen = first
        sign = seen.sign
        note = f"The decimal sign is {sign!r}, as in line {cell.line}: {cell.text!r}."
    else:
        sign, note = _by_separator(path, separator, shown)
    for column in shown:
        _require_proved_groups(path, column, sign)
    return sign, note


def _shown(column: Iterable[Cell]) -> list[Shown]:
    found = ((cell, seen_in(cell.text)) for cell in column)
    return [(cell, seen) for cell, seen in found if seen]


def _first_sure(path: Path, shown: Iterable[Sequence[Shown]]) -> Shown | None:
    """Return the first cell that shows the sign for sure; None if no cell does."""
    found: dict[str, Shown] = {}
    for column in shown:
        for cell, seen in column:
            if seen.is_sure:
                found.setdefault(seen.sign, (cell, seen))
    if len(found) > 1:
        point, comma = (found[sign][0] for sign in SIGNS)
        raise MeterError(
            "recording-decimal",
            f"{path} has two decimal signs: line {point.line} has {point.text[:60]!r}, and line {comma.line} has "
            f"{comma.text[:60]!r}. A file has one; correct the lines that have the other.",
        )
    return next(iter(found.values()), None)


def _by_separator(
    path: Path, separator: str, shown: Iterable[Sequence[Shown]]
) -> tuple[str, str]:
    """Return the sign of a file without a sure cell: a point if a comma parts its cells."""
    unsure = [one for column in shown for one in column]
    if not unsure:
        return ".", ""
    if separator == "," and all(seen.sign == "." for _, seen in unsure):
        return ".", "The decimal sign is '.', since a comma parts the cells."
    other = [one for one in unsure if one[1].sign == ","]
    raise _unclear(path, (other or unsure)[0][0])


def _require_proved_groups(path: Path, column: Sequence[Shown], sign: str) -> None:
    """Refuse a column with the other sign where no cell proves that it parts thousands."""
    if any(seen.has_groups for _, seen in column):
        return
    for cell, seen in column:
        if seen.sign != sign:
            raise _unclear(path, cell)


def _unclear(path: Path, cell: Cell) -> MeterError:
    text = cell.text[:60]
    word = without_unit(cell.text)[:60]
    of_comma = word.replace(".", "").replace(",", ".")
    of_point = word.replace(",", "")
    return MeterError(
        "recording-decimal",
        f"{path}, line {cell.line}: {cell.head} is {text!r}, which is {of_point} or {of_comma}. --decimal . states the "
        "first, and --decimal , the second.",
    )


def _other(sign: str) -> str:
    return "," if sign == "." else "."
