"""The energy of stretches of a recording, from what WH rose by, and how far their edges may falsify it. Pure.

Between two readings the energy is known: WH rose by it. Where an edge of a stretch cuts an update, only the sum of both
parts is known, so anything from none to all of it may belong to the stretch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lpirc_power.energy.measurement import Measurement
from lpirc_power.energy.power_steps import Steps, steps_of
from lpirc_power.energy.unseen import Stretch, Unseen
from lpirc_power.meter import Reading

Span = tuple[float, float]
"""Begin and end on the clock of the readings."""
Column = NDArray[Any]

WHOLE: Final = 1.0 - 1e-9
"""Part of an update that counts as all of it: times are sums of floats."""
LEAST_S: Final = 1e-12


@dataclass(frozen=True)
class StretchEnergy:
    """The energy of the union of some stretches, its duration, and the limit of its error at the edges in Wh.

    `pieces` is the number of stretches that do not touch. `end_w` is the largest power at an end of the window that a
    stretch touches, 0 if none does.
    """

    energy_wh: float
    duration_s: float
    edges_wh: float
    pieces: int = 1
    end_w: float = 0.0


class PowerCourse:
    """The energy during a window in steps, one for each update and one for the rest of each gap."""

    def __init__(self, readings: Sequence[Reading], measured: Measurement) -> None:
        """Take the readings in the window that have a power."""
        self._window = (measured.start_s, measured.end_s)
        self._steps: Steps = steps_of(readings, measured)
        self._sums_wh = np.concatenate(([0.0], np.cumsum(self._steps.energies_wh)))

    def of(self, stretches: Iterable[Span], doubt_s: float = 0.0) -> StretchEnergy:
        """Return the energy of the union of stretches, within the window; NaN if no reading has a power.

        `doubt_s` is how far the times themselves may be wrong.
        """
        found = _union(stretches, *self._window)
        duration_s = math.fsum(end_s - begin_s for begin_s, end_s in found)
        if not len(self._steps.energies_wh):
            return StretchEnergy(math.nan, duration_s, math.nan)
        return StretchEnergy(
            self.total_wh(found),
            duration_s,
            self._edges_wh(found, doubt_s),
            len(found),
            self._end_w(found),
        )

    def total_wh(self, stretches: Iterable[Span]) -> float:
        """Return the sum of the energies of stretches; what several of them share counts for each."""
        times_s = np.array(list(stretches)).ravel()
        sums_wh = np.interp(times_s, self._steps.times_s, self._sums_wh)
        return float(np.sum(np.diff(sums_wh)[::2]))

    def unseen(self, whole: Unseen, stretches: Iterable[Span]) -> Unseen:
        """Return the part of what no reading has seen that lies in stretches."""
        found = _union(stretches, *self._window)
        parts = []
        for gap in whole.stretches:
            ends = np.array([gap.begin_s, gap.begin_s + gap.unseen_s])
            part = float(np.diff(_covered_s(found, ends))[0])
            if part > 0.0:
                share = part / gap.unseen_s
                parts.append(
                    Stretch(gap.begin_s, part, share * gap.grown_wh, gap.blind)
                )
        return Unseen(tuple(parts), whole.least_w, whole.most_w)

    def _edges_wh(self, found: Sequence[Span], doubt_s: float) -> float:
        """Return the largest error of the energy: all or nothing of each update that is not for certain in or out."""
        steps = self._steps
        window = self._window
        earliest_s = steps.earliest_s
        latest_s = steps.latest_s
        shorter = _moved(found, window, -doubt_s)
        longer = _moved(found, window, doubt_s)
        least = _union(shorter, *window)
        most = _union(longer, *window)
        begins_s = earliest_s[:-1]
        ends_s = latest_s[1:]
        spans_s = ends_s - np.maximum(begins_s, window[0])
        touched_s = _covered_s(most, ends_s) - _covered_s(most, begins_s)
        sure_s = _covered_s(least, ends_s) - _covered_s(least, begins_s)
        lengths_s = np.maximum(np.diff(steps.times_s), LEAST_S)
        counted_s = np.diff(_covered_s(found, steps.times_s))
        parts = counted_s / lengths_s
        is_cut = (touched_s > 0.0) & (sure_s < WHOLE * spans_s)
        counted_wh = parts * np.abs(steps.energies_wh)
        lost_wh = np.sum((steps.most_wh - counted_wh)[is_cut])
        extra_wh = np.sum(counted_wh[is_cut])
        return float(max(lost_wh, extra_wh))

    def _end_w(self, found: Sequence[Span]) -> float:
        """Return the largest power near an end of the window that stretches reach; where they do not, an edge cuts."""
        steps = self._steps
        if not found:
            return 0.0
        touched = (found[0][0] <= self._window[0], found[-1][1] >= self._window[1])
        powers_w = zip(touched, steps.ends_w, strict=True)
        return max(
            (power_w for is_touched, power_w in powers_w if is_touched), default=0.0
        )


def _moved(found: Iterable[Span], window: Span, by_s: float) -> list[Span]:
    """Return stretches that are longer by `by_s` at each edge, but at the ends of the window, where no edge is."""
    moved = []
    for begin_s, end_s in found:
        is_inner = (begin_s > window[0], end_s < window[1])
        moved.append((begin_s - by_s * is_inner[0], end_s + by_s * is_inner[1]))
    return moved


def _covered_s(found: Sequence[Span], until_s: Column) -> Column:
    """Return how long disjoint stretches last before each time."""
    if not found:
        return np.zeros(len(until_s))
    edges_s = np.array(found).ravel()
    lengths_s = np.diff(edges_s)
    lengths_s[1::2] = 0.0
    return np.interp(until_s, edges_s, np.concatenate(([0.0], np.cumsum(lengths_s))))


def _union(stretches: Iterable[Span], start_s: float, end_s: float) -> list[Span]:
    """Return the stretches within the window, those that overlap or touch joined."""
    found: list[Span] = []
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
