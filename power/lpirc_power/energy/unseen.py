"""The part of an energy that no reading has seen, and its largest error. Pure.

A meter latches that its integrator stopped, or that a signal was over range, but not that a range was changed and put
back, and each change costs the update that it falls into. So what happened in a gap stays unknown, and in an update
without data it is known to be bad: both are bounded by what the other readings show. With automatic ranges such updates
are the meter's own doing, and not counted.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.energy.measurement import TIME_RESOLUTION_S, Measurement
from lpirc_power.meter import Reading

LEAST_GAP_S: Final = 1.0
"""A shorter pause counts as that of a busy host; `integrator-trapezoid` checks the energy lost in it."""
LATE_S: Final = 0.5
"""Seconds by which a reading may follow its update; a pause of 1.5 updates plus this has missed one."""
MISSED_UPDATES: Final = 1.5


@dataclass(frozen=True)
class Stretch:
    """A part of the window without a reading that carries data: when it begins, how long it lasts, and its energy.

    `grown_wh` is what WH rose by in it; `blind` counts the readings in it that carry no data.
    """

    begin_s: float
    unseen_s: float
    grown_wh: float
    blind: int

    def off_wh(self, least_w: float, most_w: float) -> float:
        """Return how far `grown_wh` may be from the truth, if the power was between `least_w` and `most_w`."""
        lost_wh = most_w * self.unseen_s / 3600.0 - self.grown_wh
        return max(lost_wh, self.grown_wh - least_w * self.unseen_s / 3600.0, 0.0)


@dataclass(frozen=True)
class Unseen:
    """The stretches of a window that no reading has seen, and the least and the largest power that were read in it."""

    stretches: tuple[Stretch, ...] = ()
    least_w: float = math.nan
    most_w: float = math.nan

    @property
    def lasted_s(self) -> float:
        """Return how long it lasted."""
        return math.fsum(one.unseen_s for one in self.stretches)

    @property
    def blind(self) -> int:
        """Return how many updates carried no data."""
        return sum(one.blind for one in self.stretches)

    @property
    def off_wh(self) -> float:
        """Return how far the energy may be off by it, if the power lay between those that were read."""
        return math.fsum(
            one.off_wh(self.least_w, self.most_w) for one in self.stretches
        )


def unseen_of(inside: Sequence[Reading], measured: Measurement) -> Unseen:
    """Return the parts of a window that its readings, `inside`, have not seen; empty if none carries a power."""
    powers_w = [one.power_w for one in inside if math.isfinite(one.power_w)]
    return (
        Unseen(_stretches(inside, measured), min(powers_w), max(powers_w))
        if powers_w
        else Unseen()
    )


def _stretches(inside: Sequence[Reading], measured: Measurement) -> tuple[Stretch, ...]:
    """Gaps, and updates without data."""
    interval_s = measured.setup.update_interval_s
    longest_s = max(MISSED_UPDATES * interval_s + LATE_S, LEAST_GAP_S)
    counts_blind = (
        measured.setup.range_w is not None
    )  # automatic ranging blinds a meter, and nobody touched it
    settled_s = measured.start_s + max(2.0 * interval_s, TIME_RESOLUTION_S)
    seen = [one for one in inside if math.isfinite(one.power_w + one.energy_wh)]
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
