"""Values that the simulated meter shows for an element, or for all elements together."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True)
class Figures:
    """Measured and integrated values; NaN means no data, infinity over range.

    With more than one of `elements`, voltage and current are means and all other values are sums.
    """

    voltage_v: float
    current_a: float
    power_w: float
    voltage_peak_v: float
    current_peak_a: float
    plus_wh: float = 0.0
    minus_wh: float = 0.0
    charge_ah: float = 0.0
    elapsed_s: float = 0.0
    elements: int = 1

    @property
    def apparent_va(self) -> float:
        """Apparent power: U times I, summed over the elements."""
        if math.isinf(self.voltage_v) or math.isinf(self.current_a):
            return math.inf
        return self.voltage_v * self.current_a * self.elements

    @property
    def power_factor(self) -> float:
        """Power factor: P over S. Without apparent power the meter shows "Error", which is INF in an answer."""
        apparent_va = self.apparent_va
        if math.isnan(apparent_va):
            return math.nan
        if math.isinf(apparent_va) or apparent_va == 0 or math.isinf(self.power_w):
            return math.inf
        return self.power_w / apparent_va


NO_DATA: Final = Figures(math.nan, math.nan, math.nan, math.nan, math.nan)
IDLE: Final = Figures(0.0, 0.0, 0.0, 0.0, 0.0)


def summed(share: Figures, elements: int) -> Figures:
    """Return the sum over elements with equal shares.

    Peaks of a sum are undefined. The real apparent power of a three-wire system has another factor, which is omitted
    here.
    """
    return replace(
        share,
        elements=elements,
        power_w=share.power_w * elements,
        voltage_peak_v=math.nan,
        current_peak_a=math.nan,
        plus_wh=share.plus_wh * elements,
        minus_wh=share.minus_wh * elements,
        charge_ah=share.charge_ah * elements,
    )


def largest(one: Figures, other: Figures) -> Figures:
    """Return, value by value, the larger of two sets of measured values."""
    names = ("voltage_v", "current_a", "power_w", "voltage_peak_v", "current_peak_a")
    # max() returns the second value only if it is larger, and NaN never is.
    return replace(
        one, **{name: max(getattr(one, name), getattr(other, name)) for name in names}
    )
