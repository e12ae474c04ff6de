"""An integrator in software, with the states of the real one."""

from __future__ import annotations

import math

from power.errors import MeterRefused
from power.home.sensor import Sample
from power.meter import IntegratorState


class Integrator:
    """Adds up what a sensor counts while it runs; stops by itself when its timer has run down.

    The timer runs on `running_s`; of the last stretch, the share that lies before its end is counted. `energy_wh` and
    `running_s` keep their values until the reset, as WH and TIME do; `running_s` is not rounded.
    """

    def __init__(self) -> None:
        self.state = IntegratorState.RESET
        self.energy_wh = 0.0
        self.running_s = 0.0
        self._left_s = math.inf
        self._last: Sample | None = None

    def reset(self, timer_s: float) -> None:
        """Forget everything; a timer of 0 s never ends."""
        self.state = IntegratorState.RESET
        self.energy_wh = self.running_s = 0.0
        self._left_s = timer_s or math.inf

    def start(self, sample: Sample) -> None:
        """Count from now on; MeterError `meter-refused` if it runs already or its time is up."""
        if self.state not in (IntegratorState.RESET, IntegratorState.STOP):
            raise MeterRefused(
                f"The integrator cannot start in state {self.state.value}; it must be reset first.",
                state=self.state.value,
            )
        self.state = IntegratorState.START
        self._last = sample

    def advance(self, sample: Sample) -> None:
        """Count what was added since the last call, if it runs."""
        if self.state is not IntegratorState.START or self._last is None:
            return
        passed_s = sample.running_s - self._last.running_s
        share = min(1.0, self._left_s / passed_s) if passed_s > 0 else 1.0
        self.energy_wh += share * (sample.energy_wh - self._last.energy_wh)
        self.running_s += share * passed_s
        self._left_s -= passed_s
        self._last = sample
        if self._left_s <= 0 or sample.ended:
            self.state = IntegratorState.TIMEUP

    def stop(self, sample: Sample) -> None:
        """Count up to now and stop; nothing happens if it does not run."""
        self.advance(sample)
        if self.state is IntegratorState.START:
            self.state = IntegratorState.STOP
