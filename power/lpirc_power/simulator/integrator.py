"""The integrator: its states, the commands each refuses, and the sums."""

from __future__ import annotations

import math

from lpirc_power.simulator.syntax import RefusedError


class Integrator:
    """Integrator of one element's share of the load; the caller advances its time in stretches."""

    def __init__(self) -> None:
        self.state = "RESet"
        self.continuous = False
        self.timer_s = 0
        self.clear()

    def clear(self) -> None:
        """Clear the sums."""
        self.plus_wh = self.minus_wh = self.charge_ah = self.elapsed_s = 0.0
        self.true_wh = 0.0  # of the load of all elements, unclipped: what a perfect meter would have counted

    @property
    def running(self) -> bool:
        """Return True if it integrates."""
        return self.state == "STARt"

    def start(self) -> None:
        """Start from RESet or resume from STOP; RefusedError 842 in any other state."""
        # For TIMeup and ERRor the true code is not known (inferred); RESet must come first.
        if self.state not in ("RESet", "STOP"):
            raise RefusedError(842)
        self.state = "STARt"

    def stop(self) -> None:
        """Stop; RefusedError 844 if not integrating."""
        if not self.running:
            raise RefusedError(844)
        self.state = "STOP"

    def reset(self) -> None:
        """Clear the sums; RefusedError 845 while integrating."""
        if self.running:
            raise RefusedError(845)
        self.state = "RESet"
        self.clear()

    def left_s(self) -> float:
        """Return the remaining time of the timer."""
        if not self.running or self.timer_s == 0:
            return math.inf
        return max(self.timer_s - self.elapsed_s, 0.0)

    def add(
        self, seconds: float, power_w: float, current_a: float, true_power_w: float
    ) -> None:
        """Add a stretch of time to the sums, if integrating."""
        if not self.running:
            return
        energy_wh = power_w * seconds / 3600.0
        if energy_wh >= 0:
            self.plus_wh += energy_wh
        else:
            self.minus_wh += energy_wh
        self.true_wh += true_power_w * seconds / 3600.0
        self.charge_ah += current_a * seconds / 3600.0
        self.elapsed_s += seconds

    def time_up(self) -> None:
        """Stop when the timer runs out, or restart in continuous mode."""
        if self.continuous:
            self.clear()
        else:
            self.elapsed_s = float(self.timer_s)
            self.state = "TIMeup"
