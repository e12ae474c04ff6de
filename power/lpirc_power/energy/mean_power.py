"""The mean power of an energy over the time that was integrated, and its uncertainty. Pure.

The integrator may have run longer than the window by as much as starting and stopping took. Over the window alone the
mean power of a short recording would be too large, since the energy of that time is in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from lpirc_power.energy.budget import Budget, Distribution, Term
from lpirc_power.energy.energy_budget import START_STOP
from lpirc_power.energy.measured_energy import Energy
from lpirc_power.energy.measurement import TIME_RESOLUTION_S, Measurement

JOULES: Final = 3600.0


@dataclass(frozen=True)
class IntegratedTime:
    """How long the integrator ran, in seconds: within +- `half_s` of `lasted_s`."""

    lasted_s: float
    half_s: float


@dataclass(frozen=True)
class MeanPower:
    """A mean power over the integrated time. `half_w` is that of its interval of 95.45 %, None if it is unknown."""

    power_w: float
    half_w: float | None
    time: IntegratedTime


def integrated_time(energy: Energy, measured: Measurement) -> IntegratedTime:
    """Return how long the integrator ran.

    It is the meter's TIME where that is exact. Else it is the window, and half of what start and stop may have added,
    unless TIME, in whole seconds, is far from it. A sum of readings is over the window, which may be off either way.
    """
    if measured.exact:
        return IntegratedTime(measured.integrator_s, 0.0)
    window_s = measured.elapsed_s
    most_s = energy.edges.most_s
    if measured.start_stop_s == 0.0:
        return IntegratedTime(window_s, most_s)
    found = IntegratedTime(window_s + most_s / 2.0, most_s / 2.0)
    off_s = abs(measured.integrator_s - found.lasted_s) - found.half_s
    if off_s > TIME_RESOLUTION_S:
        return IntegratedTime(measured.integrator_s, TIME_RESOLUTION_S)
    return found


def mean_power_of(energy: Energy, budget: Budget, measured: Measurement) -> MeanPower:
    """Return the mean power of an energy with its budget; NaN if no time was integrated.

    Its interval has the terms of the energy, and that of the time instead of start and stop: an energy of a longer time
    has no other mean.
    """
    time = integrated_time(energy, measured)
    if not time.lasted_s > 0.0:
        return MeanPower(math.nan, None, time)
    watts_per_wh = JOULES / time.lasted_s
    terms = tuple(_terms(energy, budget, time))
    half_wh = Budget(energy.energy_wh, terms).coverage_wh
    half_w = None if half_wh is None else half_wh * watts_per_wh
    return MeanPower(energy.energy_wh * watts_per_wh, half_w, time)


def _terms(energy: Energy, budget: Budget, time: IntegratedTime) -> Iterator[Term]:
    for one in budget.terms:
        if one.code != START_STOP:
            yield one
            continue
        yield replace(
            one,
            half_width=time.half_s,
            distribution=Distribution.RECTANGULAR,
            sensitivity_wh=abs(energy.energy_wh) / time.lasted_s,
            profile=(1.0,),
        )
