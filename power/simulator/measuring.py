"""The measuring part of the simulated meter, against a given clock.

Time advances in stretches that end at the next update, at the end of the integrator's timer, or when a
command starts or stops the integrator. Over each stretch the load's means are taken and integrated, so that
the energy does not depend on when anyone asks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from power.simulator.loads import Electrical, Load
from power.simulator.refusals import RefusedError
from power.simulator.status import Condition, StatusRegisters

OVER_RANGE: Final = 1.4
AUTO_UP: Final = 1.3
SMALLEST: Final = 0.005
VOLTAGES_V: Final = (15.0, 30.0, 60.0, 150.0, 300.0, 600.0)
CURRENTS_A: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


@dataclass
class Ranges:
    """The ranges at crest factor 3; crest factor 6 halves both lists and allows twice the peak."""

    voltage_index: int = len(VOLTAGES_V) - 1
    current_index: int = len(CURRENTS_A) - 1
    voltage_auto: bool = True
    current_auto: bool = True
    crest_factor: int = 3

    def voltages_v(self) -> list[float]:
        """Return the voltage ranges of the present crest factor."""
        return [value * 3 / self.crest_factor for value in VOLTAGES_V]

    def currents_a(self) -> list[float]:
        """Return the current ranges of the present crest factor."""
        return [value * 3 / self.crest_factor for value in CURRENTS_A]

    def voltage_v(self) -> float:
        """Return the present voltage range."""
        return self.voltages_v()[self.voltage_index]

    def current_a(self) -> float:
        """Return the present current range."""
        return self.currents_a()[self.current_index]

    def follow(self, voltage_v: float, current_a: float) -> None:
        """Switch ranges that are on auto, without the readings that a real meter loses doing it."""
        if self.voltage_auto:
            self.voltage_index = _fitting(self.voltages_v(), voltage_v)
        if self.current_auto:
            self.current_index = _fitting(self.currents_a(), current_a)


@dataclass(frozen=True)
class Values:
    """What was measured over the last update; NaN before there was one."""

    voltage_v: float = math.nan
    current_a: float = math.nan
    power_w: float = math.nan

    @property
    def apparent_va(self) -> float:
        """U times I."""
        return self.voltage_v * self.current_a

    @property
    def power_factor(self) -> float:
        """P over S; NaN without apparent power."""
        if not math.isfinite(self.apparent_va) or self.apparent_va == 0:
            return math.nan
        return self.power_w / self.apparent_va


class Measuring:
    """Owns the time of the meter: what has been measured and integrated up to which moment."""

    def __init__(self, load: Load, clock: Callable[[], float], status: StatusRegisters) -> None:
        self._load = load
        self._clock = clock
        self._zero_s = clock()
        self._status = status
        self._now_s = 0.0
        self._update_start_s = 0.0
        self._sums = Electrical(0.0, 0.0, 0.0, 0.0)
        self._true_charge_as = 0.0  # unclipped: the range is exceeded, whatever the peaks look like
        self.ranges = Ranges()
        self.rate_s = 0.25
        self.values = Values()
        self.state = "RESet"
        self.continuous = False
        self.timer_s = 0
        self.energy_wh = 0.0
        self.charge_ah = 0.0
        self.elapsed_s = 0.0

    def catch_up(self, exact: bool = False) -> None:
        """Measure up to the last event before now, or up to now itself if `exact`."""
        now_s = self._clock() - self._zero_s
        while (event_s := self._next_event_s()) <= now_s:
            self._measure(event_s)
            self._happen()
        if exact:
            self._measure(now_s)

    def until_update_s(self) -> float:
        """Return how long it is to the next update; negative if it is overdue."""
        return self._zero_s + self._update_start_s + self.rate_s - self._clock()

    def set_rate(self, rate_s: float) -> None:
        """Change the update interval; the present update begins anew."""
        self.catch_up(exact=True)
        self.rate_s = rate_s
        self._begin_update()

    def start(self) -> None:
        """Start from RESet or go on from STOP, else RefusedError 842; no values until the next update."""
        self.catch_up(exact=True)
        if self.state not in ("RESet", "STOP"):
            raise RefusedError(842)  # for TIMeup and ERRor the true code is not known; RESet must come first
        self.state = "STARt"
        self.values = Values()
        self._begin_update()
        self._show_state()

    def stop(self) -> None:
        """Stop; RefusedError 844 unless integrating."""
        self.catch_up(exact=True)
        if self.state != "STARt":
            raise RefusedError(844)
        self.state = "STOP"
        self._show_state()

    def reset(self) -> None:
        """Forget the integral; RefusedError 845 while integrating."""
        self.catch_up()
        if self.state == "STARt":
            raise RefusedError(845)
        self.state = "RESet"
        self.energy_wh = self.charge_ah = self.elapsed_s = 0.0
        self._show_state()

    def restore_defaults(self) -> None:
        """Return to the factory's ranges, rate and timer."""
        self.ranges = Ranges()
        self.timer_s, self.continuous = 0, False
        self.set_rate(0.25)

    def _next_event_s(self) -> float:
        update_s = self._update_start_s + self.rate_s
        return min(update_s, self._now_s + self._timer_left_s())

    def _timer_left_s(self) -> float:
        if self.state != "STARt" or self.timer_s == 0:
            return math.inf
        return max(self.timer_s - self.elapsed_s, 0.0)

    def _measure(self, until_s: float) -> None:
        dt = until_s - self._now_s
        if dt <= 0:
            return
        load = self._load.mean(self._now_s, until_s)
        seen = self._clipped(load)
        self._true_charge_as += load.current_a * dt
        self._now_s = until_s
        sums = self._sums
        self._sums = Electrical(
            sums.voltage_v + seen.voltage_v * dt,
            sums.current_a + seen.current_a * dt,
            sums.power_w + seen.power_w * dt,
            max(sums.crest, seen.crest),
        )
        if self.state == "STARt":
            self.energy_wh += seen.power_w * dt / 3600.0
            self.charge_ah += seen.current_a * dt / 3600.0
            self.elapsed_s += dt

    def _clipped(self, load: Electrical) -> Electrical:
        # A peak above crest factor x range is cut off; how much power that costs depends on the wave. Here
        # the current shrinks in proportion, and as on the real meter only the condition register tells.
        peak_a = load.current_a * load.crest
        limit_a = self.ranges.current_a() * self.ranges.crest_factor
        over = peak_a > limit_a and not self.ranges.current_auto
        self._status.set(Condition.CURRENT_PEAK, over)
        peak_v, limit_v = load.voltage_v * math.sqrt(2.0), self.ranges.voltage_v() * self.ranges.crest_factor
        self._status.set(Condition.VOLTAGE_PEAK, peak_v > limit_v and not self.ranges.voltage_auto)
        if not over:
            return load
        part = limit_a / peak_a
        return replace(load, current_a=load.current_a * part, power_w=load.power_w * part)

    def _happen(self) -> None:
        if self._timer_left_s() <= 1e-9:
            self._time_up()
        # One comparison for both: a timer may end on the very moment of an update.
        if self._now_s >= self._update_start_s + self.rate_s:
            self._publish()
            self._begin_update()

    def _time_up(self) -> None:
        if self.continuous:
            self.energy_wh = self.charge_ah = self.elapsed_s = 0.0
            return
        self.elapsed_s = float(self.timer_s)
        self.state = "TIMeup"
        self._show_state()

    def _publish(self) -> None:
        length_s = self._now_s - self._update_start_s
        volts, amperes = self._sums.voltage_v / length_s, self._sums.current_a / length_s
        watts = self._sums.power_w / length_s
        true_amperes = self._true_charge_as / length_s
        self.ranges.follow(volts, true_amperes)
        shown_v, shown_a = _shown(volts, self.ranges.voltage_v()), _shown(amperes, self.ranges.current_a())
        if math.isinf(_shown(true_amperes, self.ranges.current_a())):
            shown_a = math.inf
        over = math.isinf(shown_v) or math.isinf(shown_a)
        if over:
            watts = math.inf
        elif shown_v == 0 or shown_a == 0:
            watts = 0.0
        self._status.set(Condition.OVER_RANGE, over)
        self.values = Values(shown_v, shown_a, watts)
        self._status.set(Condition.UPDATING, True)
        self._status.set(Condition.UPDATING, False)

    def _begin_update(self) -> None:
        self._update_start_s = self._now_s
        self._sums = Electrical(0.0, 0.0, 0.0, 0.0)
        self._true_charge_as = 0.0

    def _show_state(self) -> None:
        running = self.state == "STARt"
        self._status.set(Condition.INTEGRATING, running)
        self._status.set(Condition.TIMER, running and self.timer_s > 0)


def _shown(value: float, range_value: float) -> float:
    if abs(value) > OVER_RANGE * range_value:
        return math.inf
    return 0.0 if abs(value) < SMALLEST * range_value else value


def _fitting(ranges: list[float], value: float) -> int:
    for index, range_value in enumerate(ranges):
        if abs(value) <= AUTO_UP * range_value:
            return index
    return len(ranges) - 1
