"""The part of an energy that no reading covers, and its largest error. Pure.

A meter latches a stop of its integrator and a signal over range. It does not latch that a range was changed and changed
back, although each change spoils the update in which it happens. So the power in a gap is unknown, and an update
without data is known to be bad. Both are bounded by the powers of the other readings. With automatic ranges the meter
itself causes updates without data, so they are not counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lpirc_power.energy.measurement import TIME_RESOLUTION_S, Measurement
from lpirc_power.energy.reading_columns import column
from lpirc_power.meter import Reading

LEAST_GAP_S: Final = 1.0
"""Least pause that is a gap: a busy host causes shorter ones, whose energy `integrator-trapezoid` checks."""
LATE_S: Final = 0.5
"""Largest delay of a reading after its update; a pause of more than 1.5 updates plus this has missed one."""
MISSED_UPDATES: Final = 1.5


@dataclass(frozen=True)
class Stretch:
    """Part of the window in which no reading carries data: when it begins, how long it lasts, and its energy.

    `grown_wh` is the rise of WH in this part; `blind` counts its readings without data.
    """

    begin_s: float
    unseen_s: float
    grown_wh: float
    blind: int

    def off_wh(self, least_w: float, most_w: float) -> float:
        """Return the largest error of `grown_wh`, given that the power was between `least_w` and `most_w`."""
        return max(*self.bounds_wh(least_w, most_w), 0.0)

    def bounds_wh(self, least_w: float, most_w: float) -> tuple[float, float]:
        """Return by how much `grown_wh` may be too little, and by how much too much; below 0 if it must be off."""
        lost_wh = most_w * self.unseen_s / 3600.0 - self.grown_wh
        return lost_wh, self.grown_wh - least_w * self.unseen_s / 3600.0


@dataclass(frozen=True)
class Unseen:
    """Stretches of a window without readings, and the least and largest power read elsewhere in the window."""

    stretches: tuple[Stretch, ...] = ()
    least_w: float = math.nan
    most_w: float = math.nan

    @property
    def lasted_s(self) -> float:
        """Return the total length of the stretches."""
        return math.fsum(one.unseen_s for one in self.stretches)

    @property
    def blind(self) -> int:
        """Return the number of readings without data in the stretches."""
        return sum(one.blind for one in self.stretches)

    @property
    def bounds_wh(self) -> tuple[float, float]:
        """Return by how much all stretches together may have too little energy, and by how much too much."""
        bounds = [one.bounds_wh(self.least_w, self.most_w) for one in self.stretches]
        too_little_wh = math.fsum(lost_wh for lost_wh, _ in bounds)
        return too_little_wh, math.fsum(more_wh for _, more_wh in bounds)

    @property
    def off_wh(self) -> float:
        """Return the largest energy error from the stretches, if the power stayed between `least_w` and `most_w`."""
        return math.fsum(
            one.off_wh(self.least_w, self.most_w) for one in self.stretches
        )


def unseen_of(inside: Sequence[Reading], measured: Measurement) -> Unseen:
    """Return the parts of a window that its readings, `inside`, do not cover; empty if no reading has a power."""
    powers_w = column(inside, "power_w")
    finite_w = powers_w[np.isfinite(powers_w)]
    if not len(finite_w):
        return Unseen()
    least_w = float(finite_w.min())
    most_w = float(finite_w.max())
    return Unseen(_stretches(inside, measured), least_w, most_w)


def _stretches(inside: Sequence[Reading], measured: Measurement) -> tuple[Stretch, ...]:
    """Return the gaps and the updates without data."""
    interval_s = measured.setup.update_interval_s
    longest_s = max(MISSED_UPDATES * interval_s + LATE_S, LEAST_GAP_S)
    counts_blind = (
        measured.setup.range_w is not None
    )  # automatic ranging blinds a meter, and nobody touched it
    settled_s = measured.start_s + max(2.0 * interval_s, TIME_RESOLUTION_S)
    times_s = column(inside, "monotonic_s")
    powers_w = column(inside, "power_w")
    sums_wh = column(inside, "energy_wh")
    is_seen = np.isfinite(powers_w) & np.isfinite(sums_wh)
    blind_s = np.sort(times_s[np.isnan(powers_w) & (times_s > settled_s)])
    # The last point is the end of the window, where no reading is.
    points_s = np.concatenate(([measured.start_s], times_s[is_seen], [measured.end_s]))
    points_wh = np.concatenate(([0.0], sums_wh[is_seen], [measured.integrator_wh]))
    shown_w = np.concatenate((powers_w[is_seen], [math.nan]))
    before = np.searchsorted(blind_s, points_s[:-1], "right")
    until = np.searchsorted(blind_s, points_s[1:], "left")
    until[-1] = len(blind_s)
    blinds = until - before
    is_stretch = np.diff(points_s) > longest_s
    if counts_blind:
        is_stretch |= blinds != 0
    found: list[Stretch] = []
    for place in np.flatnonzero(is_stretch).tolist():
        begin_s, end_s = points_s[place : place + 2].tolist()
        begin_wh, end_wh = points_wh[place : place + 2].tolist()
        blind = int(blinds[place])
        unseen_s = max(end_s - begin_s, 0.0)
        grown_wh = end_wh - begin_wh
        if place < len(shown_w) - 1:
            # The last update is that of the reading at its end.
            updates = max(round((end_s - begin_s) / interval_s) - 1, blind)
            unseen_s = updates * interval_s
            grown_wh -= float(shown_w[place]) * interval_s / 3600.0
        found.append(Stretch(begin_s, unseen_s, grown_wh, blind))
    return tuple(found)
