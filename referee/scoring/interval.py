"""How sure a published number is: intervals, the energy's share in them, and whether two of them meet."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from referee.errors import RefereeError
from referee.scoring.contest_score import score

READING_SHARE = 0.001
RANGE_SHARE = 0.0005
APPARENT_SHARE = 0.001
"""Limits of error of a WT310E for active power at 45-66 Hz: 0.1 % of the reading, 0.05 % of the range, and 0.1 % of
the apparent power for a low power factor (IM WT310-17EN; a WT310 has 0.1 % of the range, both 0.2 % of it for DC)."""
AUTO_RANGE_LEAST = 0.30
"""Automatic ranging goes down below this part of a range, in volts and in amperes (IM WT310-17EN)."""


@dataclass(frozen=True, eq=False)
class Interval:
    """A value, an interval around it at `level`, and the `samples` (R,) whose quantiles its ends are."""

    value: float
    low: float
    high: float
    level: float
    samples: NDArray[np.float64] = field(repr=False)

    @classmethod
    def of_samples(cls, value: float, samples: NDArray[np.float64], level: float) -> Interval:
        """Return the interval that leaves equal parts of the samples below and above it.

        Raises `RefereeError` `bad-level` unless the level lies between 0 and 1.
        """
        if not 0 < level < 1:
            raise RefereeError(
                "bad-level", f"The level of an interval lies between 0 and 1, {level} does not."
            )
        low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
        return cls(value, float(low), float(high), level, samples)


def overlap(one: Interval, other: Interval) -> bool:
    """Whether two intervals share a point. Where they do not, the difference is more than chance at their level.

    The reverse does not hold: two systems judged on the same images can differ clearly and still overlap.
    """
    return one.low <= other.high and other.low <= one.high


def energy_uncertainty(
    power_w: float, apparent_va: float, range_w: float | None = None, range_share: float = RANGE_SHARE
) -> float:
    """Return the meter's limit of error for an energy, relative to it: +-0.00626 is +-0.626 %.

    u = (0.1 % P + 0.05 % P_range + 0.1 % S) / P. `power_w` P and `apparent_va` S are means over the run (the limit
    is linear in them, so that the limit of the energy is that of the mean power); `range_w` P_range is voltage
    range x current range. Without it the ranges are taken as the largest that automatic ranging would have
    stayed in, voltage and current both at 30 % of theirs: P_range = S / 0.09. NaN or infinite figures and a power
    of 0 or less give no limit: `RefereeError` `bad-power`.
    """
    if not (math.isfinite(power_w) and math.isfinite(apparent_va) and power_w > 0):
        raise RefereeError(
            "bad-power", f"{power_w} W and {apparent_va} VA say nothing about a meter's accuracy."
        )
    apparent = max(apparent_va, power_w)  # below the active power it is only noise
    full_scale = apparent / AUTO_RANGE_LEAST**2 if range_w is None else range_w
    return (READING_SHARE * power_w + range_share * full_scale + APPARENT_SHARE * apparent) / power_w


def range_share(model: str, mode: str) -> float:
    """The part of the power range in the limit of error of a meter model ("WT310E") in a mode ("rms", "dc")."""
    if mode == "dc":
        return 0.002
    return 0.001 if model == "WT310" else RANGE_SHARE


def score_interval(
    map_interval: Interval, energy_wh: float, relative_uncertainty: float, seed: int = 0
) -> Interval:
    """Return the interval of mAP / energy: each sample of the mAP over an energy drawn within the meter's limits.

    A maker's limits of error come without a distribution: every energy within +-`relative_uncertainty` is taken
    as equally likely and none outside (the rectangular distribution of JCGM 100:2008, 4.3.7; propagated by draws
    as in JCGM 101:2008). One draw a sample: all of a run's readings share one meter's error.

    Raises `RefereeError` `bad-energy`, and `bad-uncertainty` unless it lies in [0, 1).
    """
    if not 0 <= relative_uncertainty < 1:
        raise RefereeError(
            "bad-uncertainty", f"A relative uncertainty lies in [0, 1), {relative_uncertainty} does not."
        )
    value = score(map_interval.value, energy_wh)
    errors = np.random.default_rng(seed).uniform(-1.0, 1.0, len(map_interval.samples)) * relative_uncertainty
    samples = map_interval.samples / (energy_wh * (1.0 + errors))
    return Interval.of_samples(value, samples, map_interval.level)
