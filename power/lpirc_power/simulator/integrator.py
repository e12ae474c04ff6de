"""The integrator: its states, what each refuses, and the sums."""

from __future__ import annotations

import math

from lpirc_power.simulator.syntax import RefusedError


class Integrator:
    """Sums of one element's share of the load; the meter's time is handed to it in stretches."""

    def __init__(self) -> None:
        self.state = "RESet"
        self.continuous = False
        self.timer_s = 0
        self.clear()

    def clear(self) -> None:
        """Forget the sums."""
        self.plus_wh = self.minus_wh = self.charge_ah = self.elapsed_s = 0.0
        self.true_wh = 0.0  # of the load of all elements, unclipped: what a perfect meter would have counted

    @property
    def running(self) -> bool:
        """Return whether it integrates."""
        return self.state == "STARt"

    def start(self) -> None:
        """Start from RESet or go on from STOP, else RefusedError 842."""
        # For TIMeup and ERRor the true code is not known (inferred); RESet must come first.
        if self.state not in ("RESet", "STOP"):
            raise RefusedError(842)
        self.state = "STARt"

    def stop(self) -> None:
        """Stop; RefusedError 844 unless integrating."""
        if not self.running:
            raise RefusedError(844)
        self.state = "STOP"

    def reset(self) -> None:
        """Forget the sums; RefusedError 845 while integrating."""
        if self.running:
            raise RefusedError(845)
        self.state = "RESet"
        self.clear()

    def left_s(self) -> float:
        """Return how long its timer still runs."""
        if not self.running or self.timer_s == 0:
            return math.inf
        return max(self.timer_s - self.elapsed_s, 0.0)

    def add(
        self, seconds: float, power_w: float, current_a: float, true_power_w: float
    ) -> None:
        """Count a stretch of time, if it integrates."""
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
        """End at the timer's time, or start again in continuous mode."""
        if self.continuous:
            self.clear()
        else:
            self.elapsed_s = float(self.timer_s)
            self.state = "TIMeup"
