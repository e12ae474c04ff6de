"""What is left of the meters' errors in B - r A. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lpirc_power.energy.budget import Budget, Distribution, Term
from lpirc_power.energy.common_error import Common, is_common
from lpirc_power.energy.coverage import ErrorShape

Sizes = Mapping[str, float]
"""The limit, in Wh, of each independent error of a mean energy."""


@dataclass(frozen=True)
class RestOfMeter:
    """The meters' errors that do not cancel: those that are known, in Wh, and the names of those that are not."""

    known: tuple[ErrorShape, ...]
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Side:
    """The errors of one side: those in common with the other one, and its own."""

    common: Sizes
    own: Sizes


def rest_of_meter(
    first: Sequence[Budget | None],
    second: Sequence[Budget | None],
    ratio: float,
    common: Common,
) -> RestOfMeter:
    """Return the errors, in Wh, of the mean of `second` - `ratio` x that of `first`.

    An error that both have in common cancels as far as it is alike (JCGM 100, 5.2.2, with a correlation of 1). The
    errors of the attempts of a side are taken to be the same, so repeating makes none smaller. Those that are known
    count whatever else is unknown.
    """
    one = _side(first, common)
    other = _side(second, common)
    widths = [
        abs(other.common.get(key, 0.0) - ratio * one.common.get(key, 0.0))
        for key in dict.fromkeys((*one.common, *other.common))
    ]
    widths += [ratio * width for width in one.own.values()]
    widths += other.own.values()
    # In one order, whichever side is first: the interval is then the same to the last digit.
    known = tuple(
        ErrorShape(Distribution.RECTANGULAR, width)
        for width in sorted(widths, reverse=True)
        if width > 0.0
    )
    return RestOfMeter(known, _unknown((*first, *second)))


def _unknown(budgets: Sequence[Budget | None]) -> tuple[str, ...]:
    """Return the names of the terms that have no size, each once."""
    names: dict[str, None] = {}
    for budget in budgets:
        if budget is None or not budget.terms:
            names["the errors of an energy without a budget"] = None
            continue
        names |= {one.name: None for one in budget.terms if not one.is_known}
    return tuple(names)


def _side(budgets: Sequence[Budget | None], common: Common) -> _Side:
    shared: dict[str, float] = defaultdict(float)
    own: dict[str, float] = defaultdict(float)
    for budget in budgets:
        for term in () if budget is None else budget.terms:
            found = shared if is_common(term, common) else own
            found[term.group or term.code] += _size(term) / len(budgets)
    return _Side(shared, own)


def _size(term: Term) -> float:
    """Return the half-width of the rectangle of the term's standard uncertainty."""
    return math.sqrt(3.0) * (term.standard_wh or 0.0)
