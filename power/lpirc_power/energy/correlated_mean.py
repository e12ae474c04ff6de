"""The uncertainty of the mean of readings that need not be independent, by the means of their parts. Pure."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.energy.coverage import student_factor

MANY_PARTS: Final = 10
"""Parts of independent readings. Schmeiser (Operations Research 30, 1982, page 556): 10 to 30 are enough."""
FEW_PARTS: Final = (5, 3)
"""Parts of correlated readings: each is longer, and so more nearly independent of the next one."""
FEW_READINGS: Final = 30
"""Below so many readings a correlation that matters may stay unseen; the longer parts then count as well."""
LEVEL_5_PERCENT: Final = 1.645
"""Standard deviations of a normal distribution that chance exceeds in 5 % on one side."""
LEAST_EFFECTIVE: Final = 10.0
"""Independent readings that correlated ones must be worth for their parts to state the uncertainty."""


@dataclass(frozen=True)
class CorrelatedMean:
    """The standard uncertainty of a mean in its unit, with its degrees of freedom; NaN and 0 if unknown.

    `lengthen` is how many times as long the readings should have lasted, 1 if they lasted long enough.
    """

    standard: float
    freedom: float
    lengthen: float = 1.0

    @property
    def half(self) -> float:
        """Half of the interval by Student's t, 95.45 %."""
        return student_factor(self.freedom) * self.standard


def correlated_mean(values: Sequence[float]) -> CorrelatedMean:
    """Return the uncertainty of the mean of consecutive values, in their order; unknown for fewer than two.

    It is that of the means of ten equal parts (batch means: Law, Simulation Modeling and Analysis, 5th edition,
    9.5.3). If neighbouring values are correlated by more than chance, or if there are few, it is the widest interval of
    ten, five and three parts. The correlated values are worth `deviation² / standard²` independent ones (Zhang,
    Metrologia 43, 2006, S276); worth fewer than LEAST_EFFECTIVE, they are too short.
    """
    if len(values) < 2:
        return CorrelatedMean(math.nan, 0.0)
    found = _of_parts(values, MANY_PARTS)
    is_correlated = neighbours_agree(values)
    if is_correlated or len(values) < FEW_READINGS:
        longer = (_of_parts(values, parts) for parts in FEW_PARTS)
        found = max(found, *longer, key=lambda one: one.half)
    if not is_correlated or not found.standard:
        return found
    effective = (statistics.stdev(values) / found.standard) ** 2
    lengthen = max(1.0, LEAST_EFFECTIVE / effective)
    return CorrelatedMean(found.standard, found.freedom, lengthen)


def neighbours_agree(values: Sequence[float]) -> bool:
    """Return True if values resemble their neighbours by more than chance, which does so in about 1 of 20 cases.

    The correlation of neighbours, of mean -1/n and deviation 1/sqrt(n) for independent values, is compared with its
    95 % quantile (Box, Jenkins, Reinsel and Ljung, Time Series Analysis, 5th edition, 2.1.6).
    """
    mean = statistics.fmean(values)
    off = [value - mean for value in values]
    squares = math.fsum(one * one for one in off)
    if not squares:
        return False
    together = math.fsum(one * later for one, later in itertools.pairwise(off))
    count = len(values)
    return together / squares > LEVEL_5_PERCENT / math.sqrt(count) - 1.0 / count


def _of_parts(values: Sequence[float], parts: int) -> CorrelatedMean:
    """Return the uncertainty by the means of at least so many equal parts; what is left over comes first."""
    size = max(1, len(values) // parts)
    begins = range(len(values) % size, len(values), size)
    means = [statistics.fmean(values[begin : begin + size]) for begin in begins]
    standard = statistics.stdev(means) / math.sqrt(len(means))
    return CorrelatedMean(standard, len(means) - 1.0)
