"""The power of a board that does nothing yet: the baseline under a run's energy."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from power.errors import MeterError
from power.meter import Meter, Reading
from power.sampling.polling import Sample, updates

SILENT_UPDATES: Final = 3.0
SILENT_S: Final = 5.0
"""So long without news, whichever is longer, is no delay."""


@dataclass(frozen=True)
class Idle:
    """A measured baseline: the mean power of so many readings, each of one update, over so long."""

    power_w: float
    duration_s: float
    readings: int


def idle_readings(
    meter: Meter, duration_s: float, update_interval_s: float, pause: Callable[[float], None]
) -> list[Reading]:
    """Read every update of at least `duration_s`, two updates at least; the first reading is only where it begins.

    The integrator need not run. `pause` may raise to end it. MeterError `meter-no-idle` if the meter stops measuring.
    """
    readings = [meter.read()]
    wanted_s = max(duration_s, 2.0 * update_interval_s)
    silent_s = max(SILENT_UPDATES * update_interval_s, SILENT_S)

    def read() -> Sample:
        sample = meter.read_update()
        if sample[0].monotonic_s - readings[-1].monotonic_s > silent_s:
            raise MeterError(
                "meter-no-idle", "The meter measures nothing new: it may be on HOLD; press HOLD on its panel."
            )
        return sample

    for reading in updates(read, update_interval_s, pause):
        readings.append(reading)
        if reading.monotonic_s - readings[0].monotonic_s >= wanted_s:
            break
    return readings


def baseline(readings: Sequence[Reading]) -> Idle:
    """Return the mean of the updates after the first reading; MeterError `meter-no-idle` if it cannot be told."""
    taken = readings[1:]
    powers_w = [reading.power_w for reading in taken if not math.isnan(reading.power_w)]
    if not powers_w:
        raise MeterError("meter-no-idle", "The meter measured no idle power: none of its readings has data.")
    if any(reading.over_range for reading in taken):
        raise MeterError(
            "meter-no-idle", "The meter cannot measure the idle power: it is over range; use larger ranges."
        )
    if any(reading.voltage_peak_over or reading.current_peak_over for reading in taken):
        raise MeterError(
            "meter-no-idle",
            "The meter cannot measure the idle power: clipped at the peaks, it reads too low; use larger ranges.",
        )
    lasted_s = readings[-1].monotonic_s - readings[0].monotonic_s
    return Idle(statistics.fmean(powers_w), lasted_s, len(powers_w))
