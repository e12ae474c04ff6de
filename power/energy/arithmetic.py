"""Energy arithmetic: the integral beside the meter's own, means, and what is above an idle baseline. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def mean_power_w(energy_wh: float, elapsed_s: float) -> float:
    """Return the mean power over a window; NaN for a window of no length."""
    return energy_wh * 3600.0 / elapsed_s if elapsed_s > 0 else math.nan


def above_idle_wh(energy_wh: float, idle_power_w: float, elapsed_s: float) -> float:
    """Return the energy that is left when a board's idle power over the same time is taken off.

    Below 0 if the board drew less than when it was idle; that is said as it is.
    """
    return energy_wh - idle_power_w * elapsed_s / 3600.0


def trapezoid_wh(
    monotonic_s: Sequence[float], power_w: Sequence[float], start_s: float, end_s: float
) -> float:
    """Return the energy in Wh from `start_s` to `end_s`, by trapezoids between the readings.

    Readings without a finite power are left out. Between two readings the power is a straight line, also
    where an edge of the window cuts it; before the first and after the last one it is held. NaN if there is
    no finite reading.
    """
    times = np.asarray(monotonic_s, dtype=np.float64)
    powers = np.asarray(power_w, dtype=np.float64)
    finite = np.isfinite(powers) & np.isfinite(times)
    times, powers = times[finite], powers[finite]
    if times.size == 0:
        return math.nan
    if end_s <= start_s:
        return 0.0
    order = np.argsort(times, kind="stable")
    times, powers = times[order], powers[order]
    inside = times[(times > start_s) & (times < end_s)]
    grid = np.concatenate(([start_s], inside, [end_s]))
    return float(np.trapezoid(np.interp(grid, times, powers), grid)) / 3600.0
