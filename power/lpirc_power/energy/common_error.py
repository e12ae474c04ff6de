"""What of a meter's error two measurements by it have in common, so that it cancels between them. Pure.

A maker states limits, not errors: within its limit, the error of the range may be another one at each load. So between
different loads in one fixed range only the error of the reading, which is a factor of the range, is the same. What the
line filter adds is not: it takes from the harmonics of a current, and each load has others. All that subtracts or
compares energies asks here: a comparison, the energy above idle, and the order of two runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from lpirc_power.energy.budget import Budget, Term
from lpirc_power.energy.limit_parts import POWER_FACTOR, RANGE, READING
from lpirc_power.energy.measured_energy import Energy

ALIKE: Final = 0.03
"""Relative difference of powers, and of apparent powers, up to which loads are alike to a meter."""


class Common(StrEnum):
    """The errors that measurements have in common: none, that of the reading, or all that a budget names as shared."""

    NOTHING = "nothing"
    READING = "reading"
    ALL = "all"


def is_common(term: Term, common: Common) -> bool:
    """Return True if the error of a term is among those in common."""
    if common is Common.READING:
        return term.is_shared and term.code == READING
    return term.is_shared and common is Common.ALL


def in_one_range(energy: Energy) -> bool:
    """Return True if one range was used throughout, so that the error of the reading is one factor.

    That is so in fixed ranges, and with a meter that has none: no reading names a range, and its driver states limits
    in which there is none.
    """
    if not energy.automatic:
        return True
    has_ranges = energy.has_ranges or energy.depends_on_ranges
    return energy.meter_limit is not None and not has_ranges


def common_of(budgets: Sequence[Budget], *, is_range_known: bool = True) -> Common:
    """Return what measurements by one meter in one setup and range have in common.

    Of a meter without a known range, nothing says how far a load fills it, so no loads are alike.
    """
    limits = {reading_limit(one) for one in budgets}
    if None in limits or len(limits) > 1:
        return Common.NOTHING
    if not is_range_known:
        return Common.READING
    loads = [load_of(one) for one in budgets]
    known = [one for one in loads if one is not None]
    return Common.ALL if len(known) == len(loads) and alike(known) else Common.READING


def alike(loads: Sequence[tuple[float, float]]) -> bool:
    """Return True if loads, as of `load_of`, agree within `ALIKE` in power and in apparent power."""
    return all(
        max(values) <= (1.0 + ALIKE) * min(values)
        for values in zip(*loads, strict=True)
    )


def load_of(budget: Budget) -> tuple[float, float] | None:
    """Return the power and the apparent power, as parts of the power range, that a budget rests on; None if unknown.

    The error of the range is R / S of the energy for each part of the range R, and that of the power factor tan(phi).
    """
    found = {one.code: one for one in budget.terms}
    of_range = _per_energy(found.get(RANGE), budget)
    if not of_range:
        return None
    reactive = _per_energy(found.get(POWER_FACTOR), budget) or 0.0
    apparent = 1.0 / of_range
    return apparent / math.hypot(1.0, reactive), apparent


def _per_energy(term: Term | None, budget: Budget) -> float | None:
    """Return the watt-hours of a whole, of which the term is percents, for each watt-hour of energy."""
    if term is None or not term.is_known or not budget.energy_wh > 0:
        return None
    return 100.0 * abs(term.sensitivity_wh) / budget.energy_wh


def reading_limit(budget: Budget) -> float | None:
    """Return the limit of the reading's error in percent; None if it is unknown."""
    for one in budget.terms:
        if one.code == READING and one.is_shared and one.is_known:
            return one.half_width
    return None
