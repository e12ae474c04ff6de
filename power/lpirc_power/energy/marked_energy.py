"""The energy of stretches of a recording, from its readings, and by how much the edges may falsify it. Pure.

A reading is the mean power of the update before it. So an edge of a stretch cuts an update whose power is known only as
a mean: half of that update's energy, at the largest power near it, is the limit of the error at that edge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lpirc_power.energy.integral import UNSEEN_UPDATES
from lpirc_power.energy.measurement import Measurement
from lpirc_power.meter import Reading

Stretch = tuple[float, float]
"""Begin and end on the clock of the readings."""
Column = NDArray[Any]

MOST_EDGES: Final = 2
"""Edges in one update that count: with two, its whole energy is in doubt."""


@dataclass(frozen=True)
class StretchEnergy:
    """The energy of the union of some stretches, its duration, and the limit of its error at the edges in Wh."""

    energy_wh: float
    duration_s: float
    edges_wh: float


class PowerCourse:
    """The power during a window as steps, one for each update; in a gap it is the power that WH implies."""

    def __init__(self, readings: Sequence[Reading], measured: Measurement) -> None:
        """Take the readings in the window that have a power."""
        rows = (
            (one.monotonic_s, one.power_w, one.energy_wh)
            for one in readings
            if measured.start_s < one.monotonic_s <= measured.end_s
        )
        table = np.fromiter(rows, np.dtype((np.float64, 3)))
        table = table[np.isfinite(table[:, 1])]
        self._window = (measured.start_s, measured.end_s)
        self.times_s, self.powers_w = _steps(table, measured)
        energies_wh = self.powers_w * np.diff(self.times_s) / 3600.0
        self._sums_wh = np.concatenate(([0.0], np.cumsum(energies_wh)))

    def of(self, stretches: Iterable[Stretch], doubt_s: float = 0.0) -> StretchEnergy:
        """Return the energy of the union of stretches, within the window; NaN if no reading has a power.

        `doubt_s` is how far the times themselves may be wrong.
        """
        found = _union(stretches, *self._window)
        duration_s = math.fsum(end_s - begin_s for begin_s, end_s in found)
        if not len(self.powers_w):
            return StretchEnergy(math.nan, duration_s, math.nan)
        sums_wh = np.interp(np.array(found).ravel(), self.times_s, self._sums_wh)
        energy_wh = float(np.sum(np.diff(sums_wh)[::2]))
        return StretchEnergy(energy_wh, duration_s, self._edges_wh(found, doubt_s))

    def _edges_wh(self, found: Sequence[Stretch], doubt_s: float) -> float:
        inner_s = [one for both in found for one in both if one not in self._window]
        last = len(self.powers_w) - 1
        places = np.clip(np.searchsorted(self.times_s, inner_s, "left") - 1, 0, last)
        largest_w = np.abs(self.powers_w)
        padded = np.pad(largest_w, 1, mode="edge")
        near_w = np.maximum(np.maximum(padded[:-2], padded[2:]), largest_w)
        counts = np.minimum(np.bincount(places, minlength=last + 1), MOST_EDGES)
        cut_ws = np.sum(counts / 2.0 * near_w * np.diff(self.times_s))
        return float(cut_ws + doubt_s * np.sum(near_w[places])) / 3600.0


def _steps(table: Column, measured: Measurement) -> tuple[Column, Column]:
    """Return the times that delimit the steps, one more than the powers, and the powers."""
    interval_s = measured.setup.update_interval_s
    times_s = [measured.start_s]
    powers_w: list[float] = []
    before_wh = 0.0
    for at_s, power_w, sum_wh in table.tolist():
        pause_s = at_s - times_s[-1]
        if pause_s > UNSEEN_UPDATES * interval_s:
            rest_s = pause_s - interval_s
            rest_w = (
                3600.0 * (sum_wh - before_wh) / rest_s - power_w * interval_s / rest_s
            )
            is_known = math.isfinite(rest_w) and 0.0 <= rest_w <= measured.most_w
            times_s.append(at_s - interval_s)
            powers_w.append(rest_w if is_known else power_w)
        times_s.append(at_s)
        powers_w.append(power_w)
        before_wh = sum_wh
    if powers_w and measured.end_s > times_s[-1]:
        times_s.append(measured.end_s)
        powers_w.append(powers_w[-1])
    return np.array(times_s), np.array(powers_w)


def _union(stretches: Iterable[Stretch], start_s: float, end_s: float) -> list[Stretch]:
    """Return the stretches within the window, those that overlap or touch joined."""
    found: list[Stretch] = []
    for one in sorted(stretches):
        begin_s = max(one[0], start_s)
        until_s = min(one[1], end_s)
        if until_s <= begin_s:
            continue
        if found and begin_s <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], until_s))
        else:
            found.append((begin_s, until_s))
    return found
