"""The power beyond a window, while its integrator is started and stopped. Pure.

No reading shows it. It is taken as any that was read: half of the powers that stand for it are of readings near the
ends of the window, the other half of all.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lpirc_power.energy.measurement import Measurement
from lpirc_power.energy.reading_columns import Column, column
from lpirc_power.meter import Reading

POWERS: Final = 20
"""Powers that stand for all that were read."""
EDGE_UPDATES: Final = 2.0
LEAST_VARIATION: Final = 0.02
"""Variation, as a part of the mean, below which the powers are one."""


@dataclass(frozen=True)
class PowerBeyond:
    """The mean of powers in watts, and these as parts of it, each as likely; (1.0,) for a steady one.

    The last of them is the largest that was read, or the energy's mean over the window if that is larger.
    """

    mean_w: float = 0.0
    profile: tuple[float, ...] = (1.0,)


def power_beyond(
    shown: Sequence[Reading], measured: Measurement, most_s: float
) -> PowerBeyond:
    """Return the power beyond the window, which the integrator may have outrun by `most_s`.

    `shown` are the readings in the window with a power. The energy's mean over the window stands for them where there
    is none. It is too large in a short window, since it has start and stop in it; so it counts as one of twenty.
    """
    window_s = measured.elapsed_s
    energy_wh = abs(measured.integrator_wh)
    mean_w = 3600.0 * energy_wh / window_s if window_s > 0 else 0.0
    if not shown:
        return PowerBeyond(mean_w)
    near_s = most_s + EDGE_UPDATES * measured.setup.update_interval_s
    powers_w = np.abs(column(shown, "power_w"))
    times_s = column(shown, "monotonic_s")
    inner_s = np.minimum(times_s - measured.start_s, measured.end_s - times_s)
    near_w = powers_w[inner_s <= near_s]
    largest_w = max(mean_w, float(powers_w.max()))
    if not len(near_w):
        return _relative(_steps(powers_w, POWERS), largest_w)
    half = POWERS // 2
    chosen_w = [*_steps(near_w, half), *_steps(powers_w, half)]
    return _relative(sorted(chosen_w), largest_w)


def _steps(powers_w: Column, count: int) -> list[float]:
    """Return so many powers at equal steps of their distribution."""
    ordered = np.sort(powers_w)
    places = (int((step + 0.5) / count * len(ordered)) for step in range(count))
    return [float(ordered[place]) for place in places]


def _relative(powers_w: list[float], largest_w: float) -> PowerBeyond:
    mean_w = statistics.fmean(powers_w)
    if not 0.0 < mean_w < math.inf:
        return PowerBeyond(mean_w)
    whole = [*powers_w[:-1], largest_w]
    if largest_w - min(whole) < LEAST_VARIATION * mean_w:
        return PowerBeyond(largest_w)
    return PowerBeyond(mean_w, tuple(one / mean_w for one in whole))
