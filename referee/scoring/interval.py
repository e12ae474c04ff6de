"""How sure scores and their order are: the mAPs of resampled images, and the limits of the meters' errors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Resampled:
    """A run's mAPs (R,) on resampled images, its energy, and the limit of the meter's error relative to that.

    A maker's limits of error come without a distribution: every energy within them is taken as equally likely and none
    outside (the rectangular distribution of JCGM 100:2008, 4.3.7; propagated by draws as in JCGM 101:2008). One draw a
    sample: all of a run's readings share one meter's error. `images` names those of all resamples, `meter` what has one
    error in several runs; None equals no other.
    """

    maps: Floats
    energy_wh: float
    relative_uncertainty: float
    images: object = None
    meter: object = None

    def scores(self, errors: Floats) -> Floats:
        """The scores (R,) with the meter's errors (R,), each from -1 to 1 times its limit."""
        return self.maps / (self.energy_wh * (1.0 + errors * self.relative_uncertainty))


def middle(samples: Floats, level: float) -> tuple[float, float]:
    """Return the ends of the interval that leaves equal parts of the samples (R,) below and above it."""
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def chance_of_order(better: Resampled, other: Resampled, seed: int = 0) -> float:
    """Return the part of the resamples in which `better` has the higher score; equal scores count half.

    Resamples of the same images are compared pair by pair, others at random; the errors of two meters are independent.
    """
    chance = np.random.default_rng(seed)
    errors = chance.uniform(-1.0, 1.0, (2, len(better.maps)))
    if better.meter is not None and better.meter == other.meter:
        errors[1] = errors[0]
    if better.images is None or better.images != other.images:
        other = replace(other, maps=chance.choice(other.maps, len(better.maps)))
    ahead = better.scores(errors[0]) - other.scores(errors[1])
    return float(np.mean((np.sign(ahead) + 1) / 2))
