"""The power of a recording of any length in constant memory: the least and the largest of each part of the time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from lpirc_power.page.traces import Trace

MOST_PARTS: Final = 1024
FIRST_PART_S: Final = 0.05


@dataclass
class Envelope:
    """Least and largest power of equal parts of the time since `begin_s`; parts grow so that there are never too many.

    A part without a reading is NaN. Times before `begin_s` count to the first part.
    """

    begin_s: float
    part_s: float = FIRST_PART_S
    least: list[float] = field(default_factory=list)
    most: list[float] = field(default_factory=list)

    def add(self, time_s: float, power_w: float) -> None:
        """Add a reading; one without a finite power only lets the time pass."""
        place = max(math.floor((time_s - self.begin_s) / self.part_s), 0)
        while place >= MOST_PARTS:
            self._halve()
            place //= 2
        missing = place + 1 - len(self.least)
        self.least += [math.nan] * missing
        self.most += [math.nan] * missing
        if math.isfinite(power_w):
            self.least[place] = _less(self.least[place], power_w)
            self.most[place] = -_less(-self.most[place], -power_w)

    def trace(self, longest_pause_s: float) -> Trace:
        """Return the envelope as a line through the least and the largest power of each part that has readings."""
        least = np.array(self.least)
        most = np.array(self.most)
        middles_s = self.begin_s + (np.arange(len(least)) + 0.5) * self.part_s
        known = np.isfinite(least)
        values = np.column_stack((least, most))[known].reshape(-1)
        times_s = np.repeat(middles_s[known], 2)
        return Trace("power", times_s, values, longest_pause_s + self.part_s)

    def _halve(self) -> None:
        if len(self.least) % 2:
            self.least.append(math.nan)
            self.most.append(math.nan)
        pairs = zip(self.least[::2], self.least[1::2], strict=True)
        self.least = [_less(one, other) for one, other in pairs]
        pairs = zip(self.most[::2], self.most[1::2], strict=True)
        self.most = [-_less(-one, -other) for one, other in pairs]
        self.part_s *= 2.0


def _less(one: float, other: float) -> float:
    """Return the smaller value; NaN only if both are."""
    if math.isnan(one):
        return other
    return one if math.isnan(other) else min(one, other)
