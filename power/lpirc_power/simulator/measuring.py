"""Measuring part of the simulated meter, on a given clock.

Time advances in stretches that end at the next update, at the end of the integrator's timer, or when a command starts
or stops the integrator. The load's means over each stretch are integrated, so the energy does not depend on when a
client asks.

The load is shared equally, at the same voltage, by the elements in the wiring's sum; other elements see nothing. So the
simulator measures one share, whatever the number of elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from lpirc_power.simulator.faults import Faults
from lpirc_power.simulator.figures import IDLE, NO_DATA, Figures, largest, summed
from lpirc_power.simulator.integrator import Integrator
from lpirc_power.simulator.loads import Electrical, Load
from lpirc_power.simulator.simulated_models import Model
from lpirc_power.simulator.simulated_ranges import Ranges
from lpirc_power.simulator.status_registers import (
    INTEGRATING,
    SUM_OVERFLOW,
    TIMER,
    UPDATING,
    StatusRegisters,
    current_peak,
    over_range,
    voltage_peak,
)

AUTO_RATE_S: Final = 0.1
"""Update interval of rate AUTO. A real meter follows the signal's period; on mains it is short (inferred)."""
PROTECTION_S: Final = 5.0
"""Duration of an overload of a small range before the meter protects itself; the manual states none."""
CLIPPED_SHARE: Final = 0.5
"""Part of current and power left under the fault `clip`, as seen on a real meter: 8.2 W of 16.2 W."""


@dataclass
class _Update:
    """Sums and peaks since the last update."""

    start_s: float
    voltage_vs: float = 0.0
    current_as: float = 0.0
    power_ws: float = 0.0
    true_current_as: float = (
        0.0  # unclipped: a range is exceeded, whatever the peaks look like
    )
    peak_v: float = 0.0
    peak_a: float = 0.0
    voltage_clipped: bool = False
    current_clipped: bool = False


def _shown(value: float, *, over: bool, blank: bool) -> float:
    """Return a mean as displayed: infinity if over range, 0 if the signal is too small."""
    if over:
        return math.inf
    return 0.0 if blank else value


class Measuring:
    """Measures and integrates up to the present moment of a given clock, and owns the results."""

    def __init__(
        self,
        model: Model,
        load: Load,
        clock: Callable[[], float],
        status: StatusRegisters,
        faults: Faults,
        *,
        free_running: bool = False,
    ) -> None:
        """Begin at the clock's present time.

        With `free_running`, no command affects the updates, and all displayed values are those of the last update.
        """
        self._model = model
        self._free_running = free_running
        self._load = load
        self._load_zero_s = 0.0
        self._clock = clock
        self._zero_s = clock()
        self._status = status
        self._faults = faults
        self._now_s = 0.0
        self._update = _Update(0.0)
        self._share = NO_DATA
        self._held: Figures | None = None
        self._figures: dict[int | None, Figures] = {}
        self._overloaded_s = 0.0
        self._settled = False
        self._switching = False
        self.integrator = Integrator()
        self.ranges = Ranges(model)
        self.rate_s = 0.25
        self.auto_rate = False
        self.updates = 0
        self.maximum = False
        self.wired = model.wirings[model.default_wiring]

    def catch_up(self, exact: bool = False) -> None:
        """Measure up to the last event before now, or up to now if `exact`."""
        now_s = self._clock() - self._zero_s
        while (event_s := self._next_event_s()) <= now_s:
            self._measure(event_s)
            self._happen()
        if exact:
            self._measure(now_s)

    def until_update_s(self) -> float:
        """Return the time until the next update; negative if it is overdue."""
        return self._zero_s + self._update.start_s + self.rate_s - self._clock()

    def set_rate(self, rate_s: float, auto: bool = False) -> None:
        """Change the update interval and restart the present update."""
        self.catch_up(exact=True)
        self.rate_s = rate_s
        self.auto_rate = auto
        self._update = _Update(self._now_s)

    def set_load(self, load: Load) -> None:
        """Connect another load; its time begins now."""
        self.catch_up(exact=True)
        self._load = load
        self._load_zero_s = self._now_s

    def set_wiring(self, wiring: str) -> None:
        """Set the wiring, that is, the input elements that share the load and are summed."""
        self.catch_up(exact=True)
        self.wired = self._model.wirings[wiring]
        self._figures.clear()

    def start(self) -> None:
        """Start the integrator; there are no values until the next update, unless updates are free-running."""
        self.catch_up(exact=True)
        self.integrator.start()
        if not self._free_running:
            self._share = NO_DATA
            self._update = _Update(self._now_s)
        self._show_state()

    def stop(self) -> None:
        """Stop the integrator."""
        self.catch_up(exact=True)
        self.integrator.stop()
        self._show_state()

    def reset(self) -> None:
        """Reset the integrator."""
        self.catch_up()
        self.integrator.reset()
        self._show_state()

    def restart(self, after: str) -> None:
        """Turn the meter off and on: "keep" keeps the integrator running, "lose" resets it, "error" makes it fail."""
        self.catch_up(exact=True)
        if after == "lose":
            self.integrator.state = "RESet"
            self.integrator.clear()
        elif after == "error" and self.integrator.running:
            self.integrator.state = "ERRor"  # the sums are kept (as its siblings)
        self._share = self._with_sums(NO_DATA)
        self._held = None
        self.maximum = False
        self._update = _Update(self._now_s)
        self._show_state()

    def restore_defaults(self) -> None:
        """Reset ranges, rate, wiring and timer to the factory settings."""
        self.ranges = Ranges(self._model)
        self._settled = False
        self._held = None
        self.maximum = False
        self.integrator.timer_s = 0
        self.integrator.continuous = False
        self.set_wiring(self._model.default_wiring)
        self.set_rate(0.25)

    def hold(self, on: bool) -> None:
        """Freeze or release the displayed values; measuring and integrating continue."""
        if not on:
            self._held = None
        elif self._held is None:
            self._held = self._present()
        self._figures.clear()

    def figures(self, element: int | None) -> Figures:
        """Return the values of an element, or of all elements together."""
        found = self._figures.get(element)
        if found is None:
            share = self._held or self._present()
            if element is None:
                found = summed(share, len(self.wired))
            elif element in self.wired:
                found = share
            else:
                nothing = NO_DATA if math.isnan(share.power_w) else IDLE
                found = replace(nothing, elapsed_s=share.elapsed_s)
            self._figures[element] = found
        return found

    def change_range(self) -> None:
        """Change to automatic ranging from 1 A without a command, as a meter does to protect its input."""
        self.catch_up(exact=True)
        self.ranges.protect()

    def _present(self) -> Figures:
        return self._share if self._free_running else self._with_sums(self._share)

    def _with_sums(self, share: Figures) -> Figures:
        sums = self.integrator
        return replace(
            share,
            plus_wh=sums.plus_wh,
            minus_wh=sums.minus_wh,
            charge_ah=sums.charge_ah,
            # Rounding: stretches of time may add up to slightly less than a second.
            elapsed_s=math.floor(sums.elapsed_s + 1e-6),
        )

    def _next_event_s(self) -> float:
        return min(
            self._update.start_s + self.rate_s, self._now_s + self.integrator.left_s()
        )

    def _measure(self, until_s: float) -> None:
        seconds = until_s - self._now_s
        if seconds <= 0:
            return
        load = self._load.mean(
            self._now_s - self._load_zero_s, until_s - self._load_zero_s
        )
        parts = len(self.wired)
        share = replace(
            load, current_a=load.current_a / parts, power_w=load.power_w / parts
        )
        self._now_s = until_s
        self._figures.clear()
        seen = self._clipped(share)
        update = self._update
        update.true_current_as += share.current_a * seconds
        update.voltage_vs += seen.voltage_v * seconds
        update.current_as += seen.current_a * seconds
        update.power_ws += seen.power_w * seconds
        self.integrator.add(seconds, seen.power_w, seen.current_a, load.power_w)

    def _clipped(self, share: Electrical) -> Electrical:
        # A peak above crest factor x range is cut off; how much power that costs depends on the wave. Here
        # voltage or current shrink in proportion, and as on the real meter only the condition register shows it.
        update = self._update
        peak_v = abs(share.voltage_v) * math.sqrt(2.0)
        peak_a = abs(share.current_a) * share.crest
        limit_v = self.ranges.voltage.peak_limit()
        limit_a = self.ranges.current.peak_limit()
        part_v = min(limit_v / peak_v, 1.0) if peak_v else 1.0
        part_a = min(limit_a / peak_a, 1.0) if peak_a else 1.0
        if self._zero_s + self._now_s <= self._faults.clip_until_s:
            part_a *= CLIPPED_SHARE
        update.peak_v = max(update.peak_v, peak_v)
        update.peak_a = max(update.peak_a, peak_a)
        update.voltage_clipped |= part_v < 1.0
        update.current_clipped |= part_a < 1.0
        if part_v == part_a == 1.0:
            return share
        return replace(
            share,
            voltage_v=share.voltage_v * part_v,
            current_a=share.current_a * part_a,
            power_w=share.power_w * part_v * part_a,
        )

    def _happen(self) -> None:
        if self.integrator.left_s() <= 1e-9:
            self.integrator.time_up()
            self._show_state()
        # One comparison for both: a timer may end exactly at an update.
        if self._now_s >= self._update.start_s + self.rate_s:
            self._publish()
            self._update = _Update(self._now_s)

    def _publish(self) -> None:
        update = self._update
        length_s = self._now_s - self._update.start_s
        volts = update.voltage_vs / length_s
        amperes = update.current_as / length_s
        true_amperes = update.true_current_as / length_s
        lost = self._switching
        self._switching = self._follow(volts, true_amperes)
        voltage = self.ranges.voltage
        current = self.ranges.current
        moment_s = self._zero_s + self._now_s
        forced_over = moment_s <= self._faults.over_range_until_s
        over = voltage.is_over(volts) or current.is_over(true_amperes) or forced_over
        blank_v = voltage.is_too_small(volts)
        blank_a = current.is_too_small(amperes)
        over_a = current.is_over(true_amperes) or forced_over
        is_blank = blank_v or blank_a
        share = Figures(
            _shown(volts, over=voltage.is_over(volts), blank=blank_v),
            _shown(amperes, over=over_a, blank=blank_a),
            _shown(update.power_ws / length_s, over=over, blank=is_blank),
            min(update.peak_v, voltage.peak_limit()),
            min(update.peak_a, current.peak_limit()),
        )
        if lost or moment_s <= self._faults.no_data_until_s:
            share = NO_DATA
        elif self.maximum:
            share = largest(share, self._share)
        self._share = self._with_sums(share)
        self._figures.clear()
        self._protect(current.is_over(true_amperes), length_s)
        self._show_condition(over, update)
        self.updates += 1
        self._status.set(UPDATING, True)
        self._status.set(UPDATING, False)

    def _follow(self, volts: float, amperes: float) -> bool:
        # Changing a range spoils the next reading. After power-on and *RST the ranges settle without that.
        peak_v = self._update.peak_v
        peak_a = self._update.peak_a
        switched_v = self.ranges.voltage.follow(volts, peak_v)
        switched_a = self.ranges.current.follow(amperes, peak_a)
        settled = self._settled
        self._settled = True
        return settled and (switched_v or switched_a)

    def _protect(self, overloaded: bool, seconds: float) -> None:
        if not (overloaded and self.ranges.is_protected()):
            self._overloaded_s = 0.0
            return
        self._overloaded_s += seconds
        if self._overloaded_s >= PROTECTION_S:
            self.ranges.protect()
            self._overloaded_s = 0.0

    def _show_condition(self, over: bool, update: _Update) -> None:
        for element in self._model.elements:
            wired = element in self.wired
            self._status.set(over_range(element), wired and over)
            self._status.set(voltage_peak(element), wired and update.voltage_clipped)
            self._status.set(current_peak(element), wired and update.current_clipped)
        self._status.set(SUM_OVERFLOW, over and len(self._model.elements) > 1)

    def _show_state(self) -> None:
        self._figures.clear()
        running = self.integrator.running
        self._status.set(INTEGRATING, running)
        self._status.set(TIMER, running and self.integrator.timer_s > 0)
