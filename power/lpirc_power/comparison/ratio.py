"""The ratio of two mean energies with its interval, by Fieller's theorem. Pure.

The interval holds each r for which B - r A does not differ from 0. So it holds 1 exactly if no difference is shown, and
the interval of A / B is that of B / A turned over. Energies are above 0, and so are ratios.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lpirc_power.comparison.difference import Attempts, difference_of
from lpirc_power.energy.common_error import Common

EXACT: Final = 1e-4
"""Part of the interval to which its ends are known."""
MOST_STEPS: Final = 60


@dataclass(frozen=True)
class Ratio:
    """B / A and the ends of its interval, 95.45 %.

    `high` is infinite, or `low` 0, if the energy of one side may be anything above 0. Both are NaN if there is no
    interval.
    """

    value: float
    low: float
    high: float


def ratio_of(
    first: Attempts, second: Attempts, *, is_paired: bool, common: Common
) -> Ratio:
    """Return the ratio of the mean energies; the arguments are those of `difference_of`."""
    value = second.mean_wh / first.mean_wh
    found = difference_of(first, second, is_paired=is_paired, common=common)
    if not found.is_known:
        return Ratio(value, math.nan, math.nan)

    def low_end(one: Attempts, other: Attempts) -> float:
        def beyond_wh(ratio: float) -> float:
            tried = difference_of(
                one, other, is_paired=is_paired, common=common, ratio=ratio
            )
            return tried.value_wh - tried.half_wh

        return _low_end(beyond_wh, other.mean_wh / one.mean_wh)

    turned = low_end(second, first)
    return Ratio(
        value, low_end(first, second), 1.0 / turned if turned > 0.0 else math.inf
    )


def _low_end(beyond_wh: Callable[[float], float], value: float) -> float:
    """Return the smallest ratio from 0 to `value` that the interval holds: `beyond_wh` is at most 0 there."""
    held = value
    out = 0.0
    if value > 1.0:  # 1 first, so that the interval and the verdict agree
        if beyond_wh(1.0) > 0.0:
            out = 1.0
        else:
            held = 1.0
    at_out = beyond_wh(out)
    at_held = beyond_wh(held)
    if at_out <= 0.0:
        return out
    if at_held >= 0.0:
        return held
    return _crossing(beyond_wh, (out, at_out), (held, at_held))


def _crossing(
    function: Callable[[float], float],
    above: tuple[float, float],
    below: tuple[float, float],
) -> float:
    """Return where a function passes 0 between two points with their values, by the Illinois method."""
    value = below[0]
    place = above[0]
    last = 0.0
    for _ in range(MOST_STEPS):
        before = place
        left, at_left = above
        right, at_right = below
        place = left + (right - left) * at_left / (at_left - at_right)
        if abs(place - before) <= EXACT * abs(value - place):
            break
        at_place = function(place)
        if at_place > 0.0:
            above = (place, at_place)
            below = (right, at_right / 2.0 if last > 0.0 else at_right)
        else:
            below = (place, at_place)
            above = (left, at_left / 2.0 if last < 0.0 else at_left)
        last = at_place
    return place
