"""The part of an energy that no reading covers, and its largest error. Pure.

A meter latches a stop of its integrator and a signal over range. It does not latch that a range was changed and changed
back, although each change spoils the update in which it happens. So the power in a gap is unknown, and an update
without data is known to be bad. Both are bounded by the powers of the other readings. With automatic ranges the meter
itself causes updates without data, so they are not counted.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.energy.measurement import TIME_RESOLUTION_S, Measurement
from lpirc_power.energy.reading_columns import chosen
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
    powers_w = [one.power_w for one in inside if math.isfinite(one.power_w)]
    return (
        Unseen(_stretches(inside, measured), min(powers_w), max(powers_w))
        if powers_w
        else Unseen()
    )


def _stretches(inside: Sequence[Reading], measured: Measurement) -> tuple[Stretch, ...]:
    """Return the gaps and the updates without data."""
    interval_s = measured.setup.update_interval_s
    longest_s = max(MISSED_UPDATES * interval_s + LATE_S, LEAST_GAP_S)
    counts_blind = (
        measured.setup.range_w is not None
    )  # automatic ranging blinds a meter, and nobody touched it
    settled_s = measured.start_s + max(2.0 * interval_s, TIME_RESOLUTION_S)
    seen = chosen(inside, lambda one: math.isfinite(one.power_w + one.energy_wh))
    points = [
        (measured.start_s, 0.0),
        *((one.monotonic_s, one.energy_wh) for one in seen),
    ]
    blind_s = sorted(
        one.monotonic_s
        for one in inside
        if math.isnan(one.power_w) and one.monotonic_s > settled_s
    )
    found: list[Stretch] = []
    for (begin_s, begin_wh), (end_s, end_wh), one in zip(
        points, points[1:], seen, strict=False
    ):
        blind = bisect_left(blind_s, end_s) - bisect_right(blind_s, begin_s)
        if (blind and counts_blind) or end_s - begin_s > longest_s:
            updates = max(
                round((end_s - begin_s) / interval_s) - 1, blind
            )  # the last of them is `one`
            grown_wh = end_wh - begin_wh - one.power_w * interval_s / 3600.0
            found.append(Stretch(begin_s, updates * interval_s, grown_wh, blind))
    begin_s, begin_wh = points[-1]
    blind = len(blind_s) - bisect_right(blind_s, begin_s)
    if (blind and counts_blind) or measured.end_s - begin_s > longest_s:
        unseen_s = max(measured.end_s - begin_s, 0.0)
        found.append(
            Stretch(begin_s, unseen_s, measured.integrator_wh - begin_wh, blind)
        )
    return tuple(found)
