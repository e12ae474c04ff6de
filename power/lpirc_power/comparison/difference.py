"""The difference of two mean energies with its interval. Pure.

It is that of B - r A, with r = 1; the ratio's interval tries other values of r.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.comparison.meter_errors import rest_of_meter
from lpirc_power.energy.budget import Budget, Distribution
from lpirc_power.energy.common_error import Common
from lpirc_power.energy.coverage import ErrorShape, half_width_of
from lpirc_power.energy.integral import ROUNDED, difference_wh

MOST_ATTEMPTS: Final = 1000
"""Largest number of attempts that is advised."""


@dataclass(frozen=True)
class Attempts:
    """The energies of one side, in Wh, above 0, and the budget of each; None if it has none."""

    energies_wh: Sequence[float]
    budgets: Sequence[Budget | None]

    @property
    def mean_wh(self) -> float:
        """The mean energy."""
        return statistics.fmean(self.energies_wh)


@dataclass(frozen=True)
class Difference:
    """B - A in Wh with what its interval is made of.

    `spread_wh` is its standard uncertainty from the attempts and `freedom` the degrees of freedom, None if a side has
    a single attempt. `meter` are the known errors of the meters that do not cancel, `unknown` the names of those that
    no budget has a size of.
    """

    value_wh: float
    attempts: int
    is_paired: bool
    spread_wh: float | None
    freedom: float
    meter: tuple[ErrorShape, ...]
    unknown: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Return True if there is an interval: all errors are known, or some are and have a size."""
        return not self.unknown or any(one.width > 0.0 for one in self.shapes)

    @property
    def shapes(self) -> tuple[ErrorShape, ...]:
        """The independent errors that are known."""
        found = list(self.meter)
        if self.spread_wh is not None:
            found.append(_student(self.spread_wh, self.freedom))
        return tuple(found)

    @functools.cached_property
    def half_wh(self) -> float:
        """The half-width of the interval that holds the difference with 95.45 %, by the errors that are known."""
        return half_width_of(self.shapes)

    @functools.cached_property
    def meter_half_wh(self) -> float:
        """The part of the half-width that no further attempt makes smaller."""
        return half_width_of(self.meter)

    @property
    def is_shown(self) -> bool | None:
        """Whether a difference is shown, never while an error is unknown; None if the attempts cannot tell."""
        if self.spread_wh is None or not self.is_known:
            return None
        return not self.unknown and self.is_beyond

    @property
    def is_beyond(self) -> bool:
        """Whether the difference is larger than the errors that are known."""
        return abs(self.value_wh) > self.half_wh

    def more_attempts(self, least_wh: float) -> int | None:
        """Return how many more attempts of each side would make the half-width at most `least_wh`; None if none would.

        It takes the spread between attempts to stay as it is. None also while an error is unknown.
        """
        is_open = self.spread_wh is None or bool(self.unknown)
        if is_open or self.meter_half_wh >= least_wh:
            return None
        per_attempt_wh = (self.spread_wh or 0.0) * math.sqrt(self.attempts)
        low = self.attempts
        high = MOST_ATTEMPTS
        if self._half_wh_with(high, per_attempt_wh) > least_wh:
            return None
        while low < high:
            middle = (low + high) // 2
            if self._half_wh_with(middle, per_attempt_wh) <= least_wh:
                high = middle
            else:
                low = middle + 1
        return low - self.attempts

    def _half_wh_with(self, attempts: int, per_attempt_wh: float) -> float:
        degrees = attempts - 1.0 if self.is_paired else 2.0 * (attempts - 1)
        spread = _student(per_attempt_wh / math.sqrt(attempts), max(degrees, 1.0))
        return half_width_of((*self.meter, spread))


def _student(spread_wh: float, freedom: float) -> ErrorShape:
    return ErrorShape(Distribution.STUDENT, spread_wh, freedom)


def difference_of(
    first: Attempts,
    second: Attempts,
    *,
    is_paired: bool,
    common: Common,
    ratio: float = 1.0,
) -> Difference:
    """Return B - `ratio` x A of the mean energies.

    Paired, each attempt of one side goes with that of the other in the same place, and their numbers are equal;
    otherwise the variances of both sides are taken as unequal (Welch). `common` is what cancels of the meter's errors.
    """
    spread_wh, freedom = _spread(first, second, ratio, is_paired=is_paired)
    if spread_wh is not None and spread_wh < ROUNDED * second.mean_wh:
        spread_wh = 0.0
    rest = rest_of_meter(first.budgets, second.budgets, ratio, common)
    return Difference(
        value_wh=difference_wh(second.mean_wh, ratio * first.mean_wh),
        attempts=min(len(first.energies_wh), len(second.energies_wh)),
        is_paired=is_paired,
        spread_wh=spread_wh,
        freedom=freedom,
        meter=rest.known,
        unknown=rest.unknown,
    )


def _spread(
    first: Attempts, second: Attempts, ratio: float, *, is_paired: bool
) -> tuple[float | None, float]:
    """Return the standard uncertainty of B - r A from the attempts, and its degrees of freedom."""
    counts = (len(first.energies_wh), len(second.energies_wh))
    if min(counts) < 2:
        return None, 1.0
    if is_paired:
        pairs = zip(first.energies_wh, second.energies_wh, strict=True)
        rest = [other - ratio * one for one, other in pairs]
        return statistics.stdev(rest) / math.sqrt(counts[0]), counts[0] - 1.0
    of_first = ratio**2 * statistics.variance(first.energies_wh) / counts[0]
    of_second = statistics.variance(second.energies_wh) / counts[1]
    whole = of_first + of_second
    if not whole:
        return 0.0, sum(counts) - 2.0
    # Welch and Satterthwaite.
    of_first /= whole
    of_second /= whole
    parts = of_first**2 / (counts[0] - 1) + of_second**2 / (counts[1] - 1)
    return math.sqrt(whole), 1.0 / parts
