"""How much of an energy no reading has seen, and how far it may be off there. Pure.

A meter latches that its integrator stopped, or that a signal was over range, but not that a range was changed and put
back, and each change costs the update that it falls into. So what happened in a gap stays unknown, and in an update
without data it is known to be bad: both are bounded by what the other readings show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.energy.accuracy import LARGEST_UNCERTAINTY
from lpirc_power.energy.integral import START_STOP_S
from lpirc_power.energy.measurement import TIME_RESOLUTION_S, Check, Measurement, check
from lpirc_power.energy.result import Energy
from lpirc_power.meter import Reading

LEAST_GAP_S: Final = 1.0
"""A shorter pause is that of a busy host. What is lost in it, `integrator-trapezoid` compares."""
LATE_S: Final = 0.5
"""How much later than an update its reading may be: a pause of 1.5 updates and this has missed one."""
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
        """How far `grown_wh` may be from the truth, if the power was between `least_w` and `most_w`."""
        lost_wh = most_w * self.unseen_s / 3600.0 - self.grown_wh
        return max(lost_wh, self.grown_wh - least_w * self.unseen_s / 3600.0, 0.0)


def unseen_energy(inside: Sequence[Reading], measured: Measurement, energy: Energy) -> Check:
    """`unseen-energy`: what happened unseen cannot have cost more of the energy than its stated limit.

    Where no limit is known, it is that of an energy to rank by. In each stretch the power is taken to lie between the
    least and the largest that were read in the run. What is allowed beside the limit, of the largest power, is the
    time by which a reading may be later than its update, and what starting and stopping took.
    """
    powers_w = [one.power_w for one in inside if math.isfinite(one.power_w)]
    if not powers_w:
        sentence = "Unknown: no reading carries a power."
        return check("unseen-energy", False, "error", sentence)
    found = stretches(inside, measured)
    least_w, most_w = min(powers_w), max(powers_w)
    off_wh = math.fsum(one.off_wh(least_w, most_w) for one in found)
    unseen_s = math.fsum(one.unseen_s for one in found)
    start_stop_s = START_STOP_S if measured.start_stop_s is None else measured.start_stop_s
    edges_s = min(measured.setup.update_interval_s, LATE_S) + start_stop_s
    edges_wh = max(most_w, 0.0) * edges_s / 3600.0
    limit = LARGEST_UNCERTAINTY if energy.limit is None else energy.limit
    allowed_wh = limit * abs(measured.integrator_wh) + edges_wh
    ok = off_wh <= allowed_wh
    figures = {"stretches": len(found), "unseen_s": unseen_s, "off_wh": off_wh, "allowed_wh": allowed_wh}
    return check("unseen-energy", ok, "error", _sentence(found, off_wh, allowed_wh, measured), **figures)


def _sentence(found: Sequence[Stretch], off_wh: float, allowed_wh: float, measured: Measurement) -> str:
    if not found:
        return "Readings with data cover the whole window."
    blind, unseen_s = sum(one.blind for one in found), math.fsum(one.unseen_s for one in found)
    share = off_wh / abs(measured.integrator_wh) if measured.integrator_wh else math.inf
    sentence = (
        f"{unseen_s:.1f} s of the window were not seen ({len(found)} times, the first at "
        f"{found[0].begin_s - measured.start_s:.1f} s)"
    )
    if blind:
        sentence += f", {blind} updates carried no data"
    sentence += f": the energy may be off by up to {off_wh:.3g} Wh ({share:.1%}) there"
    if off_wh <= allowed_wh:
        return f"{sentence}, within the {allowed_wh:.3g} Wh that are allowed."
    return f"{sentence}, more than the {allowed_wh:.3g} Wh that are allowed; a range may have been changed unseen."


def stretches(inside: Sequence[Reading], measured: Measurement) -> list[Stretch]:
    """Return the stretches of the window without data, in order: gaps, and updates that carry none."""
    interval_s = measured.setup.update_interval_s
    longest_s = max(MISSED_UPDATES * interval_s + LATE_S, LEAST_GAP_S)
    settled_s = measured.start_s + max(2.0 * interval_s, TIME_RESOLUTION_S)
    seen = [one for one in inside if math.isfinite(one.power_w + one.energy_wh)]
    points = [(measured.start_s, 0.0), *((one.monotonic_s, one.energy_wh) for one in seen)]
    blind_s = [one.monotonic_s for one in inside if math.isnan(one.power_w) and one.monotonic_s > settled_s]
    found = []
    for (begin_s, begin_wh), (end_s, end_wh), one in zip(points, points[1:], seen, strict=False):
        blind = sum(begin_s < at_s < end_s for at_s in blind_s)
        if blind or end_s - begin_s > longest_s:
            updates = max(round((end_s - begin_s) / interval_s) - 1, blind)  # the last of them is `one`
            grown_wh = end_wh - begin_wh - one.power_w * interval_s / 3600.0
            found.append(Stretch(begin_s, updates * interval_s, grown_wh, blind))
    begin_s, begin_wh = points[-1]
    blind = sum(at_s > begin_s for at_s in blind_s)
    if blind or measured.end_s - begin_s > longest_s:
        unseen_s = max(measured.end_s - begin_s, 0.0)
        found.append(Stretch(begin_s, unseen_s, measured.integrator_wh - begin_wh, blind))
    return found
