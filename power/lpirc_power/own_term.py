"""A term of the uncertainty budget that a driver states of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class OwnTerm:
    """A limit of error of a model that no other field of `Limits` states, such as the step of its counter.

    The limit is `share` (a part of 1) of the energy, `power_w` for as long as it was measured, or `energy_wh`; one of
    them is given. `code` is kebab-case; `name` is for people: "the step of the counter". `source` names document and
    page, or what it was measured from. The error is taken as rectangular, and as another one in each measurement.
    """

    code: str
    name: str
    source: str
    share: float = 0.0
    power_w: float = 0.0
    energy_wh: float = 0.0


def own_limit_w(own: Iterable[OwnTerm], power_w: float) -> float:
    """Return the sum of the limits of one reading of the power, in watts; the step of an energy is none of it."""
    return math.fsum(one.share * abs(power_w) + one.power_w for one in own)
