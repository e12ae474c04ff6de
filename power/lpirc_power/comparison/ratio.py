"""The ratio of two mean energies with its interval. Pure.

The ratio's error is linear in small errors: r = B / A is off by (b - r a) / A for errors a and b. So an error that both
sides have in common, in the same proportion, cancels (JCGM 100, 5.2.2, with a correlation of 1).
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.energy.budget import Budget, Distribution, Term
from lpirc_power.energy.coverage import ErrorShape, half_width_of

MOST_ATTEMPTS: Final = 1000
"""Largest number of attempts that is advised."""


@dataclass(frozen=True)
class Attempts:
    """The energies of one side, in Wh, above 0, and the budget of each; a budget may be unknown."""

    energies_wh: Sequence[float]
    budgets: Sequence[Budget]

    @property
    def mean_wh(self) -> float:
        """The mean energy."""
        return statistics.fmean(self.energies_wh)


@dataclass(frozen=True)
class Ratio:
    """B / A with what its interval is made of.

    `spread` is the standard uncertainty of the ratio from the attempts and `freedom` its degrees of freedom, None if a
    side has a single attempt. `meter` are the errors of the meters that do not cancel, None if they are unknown.
    """

    value: float
    first_wh: float
    second_wh: float
    attempts: int
    is_paired: bool
    spread: float | None
    freedom: float
    meter: tuple[ErrorShape, ...] | None

    @property
    def shapes(self) -> tuple[ErrorShape, ...]:
        """The independent errors of the ratio that are known."""
        found = list(self.meter or ())
        if self.spread is not None:
            found.append(_student(self.spread, self.freedom))
        return tuple(found)

    @functools.cached_property
    def half_width(self) -> float:
        """The half-width of the interval that holds the ratio with 95.45 %, by the errors that are known."""
        return half_width_of(self.shapes)

    @functools.cached_property
    def meter_half_width(self) -> float:
        """The part of the half-width that no further attempt makes smaller."""
        return half_width_of(self.meter or ())

    @property
    def is_shown(self) -> bool | None:
        """Whether a difference is shown; None if single attempts cannot tell."""
        if self.spread is None:
            return None
        return abs(self.value - 1.0) > self.half_width

    def more_attempts(self, least: float) -> int | None:
        """Return how many more attempts of each side would make the half-width at most `least`; None if none would.

        It takes the spread between attempts to stay as it is.
        """
        if self.spread is None or self.meter_half_width >= least:
            return None
        per_attempt = self.spread * math.sqrt(self.attempts)
        low = self.attempts
        high = MOST_ATTEMPTS
        if self._half_width_with(high, per_attempt) > least:
            return None
        while low < high:
            middle = (low + high) // 2
            if self._half_width_with(middle, per_attempt) <= least:
                high = middle
            else:
                low = middle + 1
        return low - self.attempts

    def _half_width_with(self, attempts: int, per_attempt: float) -> float:
        degrees = attempts - 1.0 if self.is_paired else 2.0 * (attempts - 1)
        spread = _student(per_attempt / math.sqrt(attempts), max(degrees, 1.0))
        return half_width_of((*(self.meter or ()), spread))


def _student(spread: float, freedom: float) -> ErrorShape:
    return ErrorShape(Distribution.STUDENT, spread, freedom)


def ratio_of(
    first: Attempts, second: Attempts, *, is_paired: bool, is_same_meter: bool
) -> Ratio:
    """Return the ratio of the mean energies.

    Paired, each attempt of one side goes with that of the other in the same place, and their numbers are equal;
    otherwise the variances of both sides are taken as unequal (Welch). The shared terms of the budgets are one error of
    both sides if `is_same_meter`, else one error of each side.
    """
    value = second.mean_wh / first.mean_wh
    spread, freedom = _spread(first, second, value, is_paired=is_paired)
    return Ratio(
        value=value,
        first_wh=first.mean_wh,
        second_wh=second.mean_wh,
        attempts=min(len(first.energies_wh), len(second.energies_wh)),
        is_paired=is_paired,
        spread=spread,
        freedom=freedom,
        meter=_meter(first, second, value, is_same_meter=is_same_meter),
    )


def _spread(
    first: Attempts, second: Attempts, value: float, *, is_paired: bool
) -> tuple[float | None, float]:
    """Return the standard uncertainty of the ratio from the attempts, and its degrees of freedom."""
    counts = (len(first.energies_wh), len(second.energies_wh))
    if min(counts) < 2:
        return None, 1.0
    if is_paired:
        pairs = zip(first.energies_wh, second.energies_wh, strict=True)
        rest = [(other - value * one) / first.mean_wh for one, other in pairs]
        return statistics.stdev(rest) / math.sqrt(counts[0]), counts[0] - 1.0
    of_first = value**2 * statistics.variance(first.energies_wh) / counts[0]
    of_second = statistics.variance(second.energies_wh) / counts[1]
    whole = of_first + of_second
    if not whole:
        return 0.0, sum(counts) - 2.0
    # Welch and Satterthwaite.
    parts = of_first**2 / (counts[0] - 1) + of_second**2 / (counts[1] - 1)
    return math.sqrt(whole) / first.mean_wh, whole**2 / parts


def _meter(
    first: Attempts, second: Attempts, value: float, *, is_same_meter: bool
) -> tuple[ErrorShape, ...] | None:
    """Return the errors of the ratio from the budgets; None if one is unknown."""
    if not all(one.is_known for one in (*first.budgets, *second.budgets)):
        return None
    shapes: list[ErrorShape] = []
    of_first = _shared(first)
    of_second = _shared(second)
    if is_same_meter:
        for key in dict.fromkeys((*of_first, *of_second)):
            width = of_second.get(key, 0.0) - value * of_first.get(key, 0.0)
            shapes.append(_rectangle(abs(width) / first.mean_wh))
    else:
        shapes += [_rectangle(one * value / first.mean_wh) for one in of_first.values()]
        shapes += [_rectangle(one / first.mean_wh) for one in of_second.values()]
    shapes += _own(first, value / first.mean_wh)
    shapes += _own(second, 1.0 / first.mean_wh)
    return tuple(one for one in shapes if one.width > 0.0)


def _shared(side: Attempts) -> dict[str, float]:
    """Return the mean size, in Wh, of each error that the attempts of a side have in common; a group is one error."""
    found: dict[str, float] = {}
    for budget in side.budgets:
        for term in budget.terms:
            if term.is_shared:
                key = term.group or term.code
                found[key] = found.get(key, 0.0) + _size(term) / len(side.budgets)
    return found


def _own(side: Attempts, scale: float) -> list[ErrorShape]:
    """Return the other errors of the mean, in parts of the ratio.

    They are those of start and stop, of gaps and of drift. They may be the same in all attempts of a side, so repeating
    does not make them smaller.
    """
    count = len(side.budgets)
    codes = {
        term.code
        for budget in side.budgets
        for term in budget.terms
        if not term.is_shared
    }
    shapes = []
    for code in sorted(codes):
        terms = [
            term for one in side.budgets for term in one.terms if term.code == code
        ]
        standard = math.fsum(term.standard_wh or 0.0 for term in terms) / count
        shapes.append(_rectangle(math.sqrt(3.0) * standard * scale))
    return shapes


def _size(term: Term) -> float:
    return abs(term.sensitivity_wh) * (term.half_width or 0.0)


def _rectangle(width: float) -> ErrorShape:
    return ErrorShape(Distribution.RECTANGULAR, width)
