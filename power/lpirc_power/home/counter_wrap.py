"""A counter that begins at 0 again when it is full, and how a fall of it tells a wrap from a restart. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

LATE_S: Final = 10.0
"""How much older than its look a count may be while it has not moved: counters of plugs move each second or minute."""
UNEVEN_S: Final = 1.0
"""By how much the delay of a count that has moved may vary."""
TIMES: Final = 2.0
"""How many times the largest power that was read the load may have drawn between two looks."""


@dataclass(frozen=True)
class Wrap:
    """A counter shows 0 Wh after `at_wh`; its device measures at most `most_w` watts.

    The power tells a wrap from a restart: after a restart the counter would seem to have run on by more than the load
    can have drawn. Raises ValueError unless both are finite and above 0.
    """

    at_wh: float
    most_w: float

    def __post_init__(self) -> None:
        """Check both figures."""
        for name in ("at_wh", "most_w"):
            value = getattr(self, name)
            if not 0.0 < value < math.inf:
                raise ValueError(f"{name} of a Wrap is {value:g}, and must be above 0")

    def unwrapped_wh(self, rise_wh: float, most_wh: float) -> float:
        """Return the rise of the counter over a wrap, or `rise_wh` as it is if there was none.

        More than half of `at_wh` between two looks is a wrap if the rest is no more than `most_wh`, the largest energy
        of that time.
        """
        if abs(rise_wh) <= self.at_wh / 2.0:
            return rise_wh
        counted_wh = rise_wh - math.copysign(self.at_wh, rise_wh)
        return counted_wh if abs(counted_wh) <= most_wh else rise_wh


class CounterWatch:
    """Watches how often a counter moves and at which powers, and so how much a next rise can be at most.

    A rise covers at most the time since the look before the one at which the counter moved last. Until it has moved,
    and where no power is read, the limit is that of the device.
    """

    def __init__(
        self, wrap: Wrap, energy_wh: float, now_s: float, power_w: float
    ) -> None:
        self._wrap = wrap
        self._shown_wh = energy_wh
        self._looked_s = now_s
        self._power_w = _size_w(power_w)
        self._most_w = self._power_w
        self._since_s: float | None = None

    def rise_wh(self, energy_wh: float, now_s: float, power_w: float) -> float:
        """Return the rise of the counter since the look before, over a wrap if there was one."""
        shown_w = _size_w(power_w)
        self._most_w = max(self._most_w, shown_w)
        rise_wh = energy_wh - self._shown_wh
        found_wh = self._wrap.unwrapped_wh(rise_wh, self._most_wh(now_s))
        if rise_wh:
            self._since_s = self._looked_s
            self._most_w = max(self._power_w, shown_w)
        self._shown_wh = energy_wh
        self._looked_s = now_s
        self._power_w = shown_w
        return found_wh

    def _most_wh(self, now_s: float) -> float:
        """Return the largest energy that a rise until now can be."""
        device_w = self._wrap.most_w
        if self._since_s is None or not self._most_w:
            return device_w * (now_s - self._looked_s + LATE_S) / 3600.0
        drawn_w = min(TIMES * self._most_w, device_w)
        return drawn_w * (now_s - self._since_s + UNEVEN_S) / 3600.0


def _size_w(power_w: float) -> float:
    """Return the size of a power; 0 if it is unknown."""
    return abs(power_w) if math.isfinite(power_w) else 0.0
