"""The interval that a sum of independent errors stays in with a given probability, by convolution. Pure.

The numerical road of JCGM 101:2008, without drawing: each error's distribution is kept as the probabilities of equal
steps around 0, and those of the sum are their convolution.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

LEVEL: Final = math.erf(math.sqrt(2.0))
"""Probability of two standard deviations of a normal distribution, 95.45 %, which goes with k = 2 (JCGM 100, G.1.3)."""
STEPS: Final = 1 << 12
"""Steps on each side of 0; the interval is exact to about one of them."""
TAIL_STEPS: Final = 1 << 16
"""Steps where a Student distribution of few degrees of freedom has long tails."""
FEW_DEGREES: Final = 8.0
MANY_DEGREES: Final = 1e4
"""Degrees of freedom above which a Student distribution is taken as normal; the angles are too coarse for more."""
LEAST_TAIL: Final = 2e-4
"""Probability beyond the last step of a distribution without an end; it counts as outside of every interval."""
NORMAL_REACH: Final = 5.0
ANGLES: Final = 20_001

Floats = NDArray[np.float64]


class Distribution(StrEnum):
    """How an error is distributed within its limit.

    `mixed` is a mixture of rectangles of several widths, each as likely; `two-point` is an error of known size,
    uncorrected: + or - its limit (JCGM 100, F.2.4.5).
    """

    RECTANGULAR = "rectangular"
    STUDENT = "student"
    MIXED = "mixed"
    TWO_POINT = "two-point"


@dataclass(frozen=True)
class ErrorShape:
    """The distribution of one error, symmetric about 0.

    `width` is its limit; the standard uncertainty of STUDENT. `freedom` are the degrees of freedom of STUDENT,
    `profile` the relative widths of MIXED and TWO_POINT, each as likely as the others.
    """

    distribution: Distribution
    width: float
    freedom: float | None = None
    profile: tuple[float, ...] = (1.0,)

    @property
    def standard(self) -> float:
        """The standard uncertainty: JCGM 100, 4.3.7 (rectangle), 4.2.3 and G.3 (Student)."""
        if self.distribution is Distribution.RECTANGULAR:
            return self.width / math.sqrt(3.0)
        if self.distribution is Distribution.MIXED:
            return self.width / math.sqrt(3.0) * _root_mean_square(self.profile)
        if self.distribution is Distribution.TWO_POINT:
            return self.width * _root_mean_square(self.profile)
        return self.width

    @property
    def reach(self) -> float:
        """The largest error that has to be looked at."""
        if self.distribution is Distribution.STUDENT:
            return self.width * _student_reach(self.freedom or 1.0)
        return self.width * max(self.profile)

    def below(self, errors: Floats) -> Floats:
        """Return the probabilities (N,) that this error is at most `errors` (N,)."""
        if self.width <= 0.0:
            return (errors >= 0.0).astype(np.float64)
        return _BELOW[self.distribution](self, errors / self.width)


def half_width_of(shapes: Sequence[ErrorShape], level: float = LEVEL) -> float:
    """Return c: the sum of independent errors is within +-c with the probability `level`.

    0 without errors. The result is exact to about 0.1 % for bounded errors, and to 0.5 % with a Student
    distribution of one degree of freedom. Widths must be finite.
    """
    return _half_width(tuple(one for one in shapes if one.width > 0.0), level)


@functools.lru_cache(maxsize=256)
def _half_width(wide: tuple[ErrorShape, ...], level: float) -> float:
    if len(wide) == 1 and wide[0].distribution is Distribution.STUDENT:
        return wide[0].width * student_factor(wide[0].freedom or 1.0, level)
    reach = math.fsum(one.reach for one in wide)
    if not reach:
        return 0.0
    steps = TAIL_STEPS if any(_has_long_tails(one) for one in wide) else STEPS
    step = reach / steps
    edges: Floats = np.linspace(-steps - 0.5, steps + 0.5, 2 * steps + 2) * step
    size = 1 << (4 * steps).bit_length()
    of_sum = np.ones(size // 2 + 1, np.complex128)
    for one in wide:
        held = np.zeros(size)
        held[: 2 * steps + 1] = np.diff(one.below(edges))
        of_sum *= np.fft.rfft(np.roll(held, -steps))
    probable = np.fft.irfft(of_sum, size)
    return _quantile(probable, steps, level) * step


@functools.lru_cache(maxsize=256)
def student_factor(freedom: float, level: float = LEVEL) -> float:
    """Return t: an error by Student's distribution is within +-t of its standard uncertainty with `level`."""
    if freedom > MANY_DEGREES:
        return statistics.NormalDist().inv_cdf((1.0 + level) / 2.0)
    angles, below = _student_angles(freedom)
    angle = float(np.interp((1.0 + level) / 2.0, below, angles))
    return math.sqrt(freedom) * math.tan(angle)


def _quantile(probable: Floats, steps: int, level: float) -> float:
    """Return how many steps from 0 the probability `level` is reached; those of -k are kept at the end, as by FFT."""
    folded = np.empty(steps + 1)
    folded[0] = probable[0]
    above = probable[1 : steps + 1]
    below = probable[: -steps - 1 : -1]
    folded[1:] = above + below
    sums = np.cumsum(np.clip(folded, 0.0, None))
    within = np.concatenate(([0.0], sums))
    edges = np.arange(steps + 1) + 0.5
    ends = np.concatenate(([0.0], edges))
    return float(np.interp(level, within, ends))


def _has_long_tails(one: ErrorShape) -> bool:
    return (
        one.distribution is Distribution.STUDENT and (one.freedom or 1.0) < FEW_DEGREES
    )


def _rectangle(one: ErrorShape, x: Floats) -> Floats:
    return np.clip((x + 1.0) / 2.0, 0.0, 1.0)


def _normal(x: Floats) -> Floats:
    near = np.clip(x, -8.0, 8.0)
    return np.array([0.5 + 0.5 * math.erf(each / math.sqrt(2.0)) for each in near])


def _mixed(one: ErrorShape, x: Floats) -> Floats:
    total = np.zeros_like(x)
    for relative in one.profile:
        total += _rectangle(one, x / relative) if relative > 0.0 else x >= 0.0
    return total / len(one.profile)


def _two_point(one: ErrorShape, x: Floats) -> Floats:
    total = np.zeros_like(x)
    for relative in one.profile:
        total += (x >= -relative).astype(np.float64) + (x >= relative)
    return total / (2.0 * len(one.profile))


def _student(one: ErrorShape, x: Floats) -> Floats:
    if (one.freedom or 1.0) > MANY_DEGREES:
        return _normal(x)
    angles, below = _student_angles(one.freedom or 1.0)
    return np.interp(np.arctan(x / math.sqrt(one.freedom or 1.0)), angles, below)


def _student_angles(freedom: float) -> tuple[Floats, Floats]:
    """Return angles and the probabilities below them.

    With t = sqrt(freedom) x tan(angle), the density of the angle is cos^(freedom - 1).
    """
    quarter = math.pi / 2.0
    angles = np.linspace(-quarter, quarter, ANGLES)
    cosines = np.clip(np.cos(angles), 0.0, 1.0)
    density = cosines ** (freedom - 1.0)
    between = (density[1:] + density[:-1]) / 2.0
    sums = np.cumsum(between)
    below = np.concatenate(([0.0], sums))
    return angles, below / below[-1]


def _student_reach(freedom: float) -> float:
    if freedom > MANY_DEGREES:
        return NORMAL_REACH
    angles, below = _student_angles(freedom)
    angle = float(np.interp(1.0 - LEAST_TAIL / 2.0, below, angles))
    return math.sqrt(freedom) * math.tan(angle)


def _root_mean_square(values: Sequence[float]) -> float:
    return math.sqrt(math.fsum(one * one for one in values) / len(values))


_BELOW: Final[dict[Distribution, Callable[[ErrorShape, Floats], Floats]]] = {
    Distribution.RECTANGULAR: _rectangle,
    Distribution.STUDENT: _student,
    Distribution.MIXED: _mixed,
    Distribution.TWO_POINT: _two_point,
}
