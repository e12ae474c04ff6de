"""A counter that begins at 0 again when it is full, and how a fall of it tells a wrap from a restart. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

LATE_S: Final = 10.0
"""How much older than its look a count may be: the counters of plugs move each second or minute."""


@dataclass(frozen=True)
class Wrap:
    """A counter shows 0 Wh after `at_wh`; its device measures at most `most_w` watts.

    The power tells a wrap from a restart: after a restart the counter would seem to have run on by more than the device
    can measure. Raises ValueError unless both are finite and above 0.
    """

    at_wh: float
    most_w: float

    def __post_init__(self) -> None:
        """Check both figures."""
        for name in ("at_wh", "most_w"):
            value = getattr(self, name)
            if not 0.0 < value < math.inf:
                raise ValueError(f"{name} of a Wrap is {value:g}, and must be above 0")

    def unwrapped_wh(self, rise_wh: float, passed_s: float) -> float:
        """Return the rise of the counter over a wrap, or `rise_wh` as it is if there was none.

        More than half of `at_wh` between two looks is a wrap if the rest is no more than `most_w` gives.
        """
        if abs(rise_wh) <= self.at_wh / 2.0:
            return rise_wh
        counted_wh = rise_wh - math.copysign(self.at_wh, rise_wh)
        most_wh = self.most_w * (passed_s + LATE_S) / 3600.0
        return counted_wh if abs(counted_wh) <= most_wh else rise_wh
