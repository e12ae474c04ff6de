"""Updates of a meter: when to ask for a sample, which samples are new, and the idle power from them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.energy.correlated_mean import correlated_mean
from lpirc_power.errors import MeterError
from lpirc_power.meter import Meter, Reading

POLLS_PER_UPDATE: Final = 10
LONGEST_POLL_S: Final = 0.05
FIRST_PART: Final = 0.85
"""Part of an update interval to wait after the first update before asking for the next one."""
SOONER_PART: Final = 0.004
LATER_PART: Final = 0.02
"""Parts of an update interval by which the next updates are expected sooner or later than the last one was.

A question that came too early moves all later ones, one that did not moves them a little towards it. So five of six
questions find their update, whatever a question takes. A host that was late once is not late the next time.
"""
EARLY: Final = 2
"""Questions in a row that came too early, after which an update is expected when the last one was seen."""
OVERDUE_UPDATES: Final = 1.5
"""Intervals after which changed values count as an update: another client may have cleared the update's bit."""
RETRY_S: Final = 0.25
"""Pause between attempts to reach a lost meter."""
SILENT_UPDATES: Final = 3.0
SILENT_S: Final = 5.0
"""Time (or SILENT_UPDATES intervals, if longer) without an update after which a meter has stopped measuring."""

SETTLING_UPDATES: Final = 2
"""Updates to wait after a range change: the first may have no data, the next must have."""
LONGEST_SETTLING_UPDATES: Final = 5.0
LONGEST_SETTLING_S: Final = 2.0
"""Longest wait for data after settling, or LONGEST_SETTLING_UPDATES if longer. Then the meter starts anyway."""

Sample = tuple[Reading, bool]
"""A reading, and True if the meter marked it as new."""


def updates(
    read: Callable[[], Sample | None],
    interval_s: float,
    pause: Callable[[float], object],
    *,
    flagged: bool = True,
) -> Iterator[Reading]:
    """Yield each update once, until `pause` returns a true value; `read` returns None while the meter is lost.

    `flagged` means that the meter marks new samples. If it does not, because this program only looks on, a sample is
    an update if its values differ, or if an update is overdue.
    """
    last: Reading | None = None
    schedule = _Schedule(interval_s)
    while True:
        sample = read()
        if sample is None:
            schedule = _Schedule(interval_s)
            pause_s = RETRY_S
        elif sample[1] or _is_update(sample[0], last, interval_s, flagged):
            last = sample[0]
            yield last
            pause_s = schedule.after_update(last.monotonic_s)
        else:
            schedule.early += 1
            pause_s = min(interval_s / POLLS_PER_UPDATE, LONGEST_POLL_S)
        if pause(pause_s):
            return


class _Schedule:
    """When the next update is expected; `early` counts the questions since the last one that came too early."""

    def __init__(self, interval_s: float) -> None:
        self.early = 0
        self._interval_s = interval_s
        self._due_s: float | None = None

    def after_update(self, seen_s: float) -> float:
        """Return how long to wait, after an update was seen, before asking for the next one."""
        due_s = self._due_s
        if due_s is None:
            due_s = seen_s - (1.0 - FIRST_PART) * self._interval_s
        elif self.early >= EARLY:
            due_s = seen_s
        else:
            due_s += (LATER_PART if self.early else -SOONER_PART) * self._interval_s
        self.early = 0
        behind = math.floor((seen_s - due_s) / self._interval_s)
        self._due_s = due_s + (behind + 1) * self._interval_s
        return self._due_s - seen_s


def _is_update(
    reading: Reading, last: Reading | None, interval_s: float, flagged: bool
) -> bool:
    if last is None:
        return not flagged
    overdue = reading.monotonic_s - last.monotonic_s > OVERDUE_UPDATES * interval_s
    differs = _values(reading) != _values(last)
    return (overdue and differs) if flagged else (overdue or differs)


def _values(reading: Reading) -> str:
    # As text, since NaN does not equal itself.
    return repr(
        (
            reading.voltage_v,
            reading.current_a,
            reading.power_w,
            reading.energy_wh,
            reading.integrator_s,
        )
    )


def settling_at_least_s(settle_s: float, update_interval_s: float) -> float:
    """Return how many seconds `settle` takes if the meter shows data at once."""
    return max(settle_s, SETTLING_UPDATES * update_interval_s)


def settle(
    meter: Meter,
    settle_s: float,
    update_interval_s: float,
    pause: Callable[[float], object],
) -> bool:
    """Wait until a newly set up meter measures: for `settle_s`, then for an update with data.

    Returns False if no data comes in time. `pause` may raise to end the wait.
    """
    begun_s = meter.read().monotonic_s
    longest_s = settle_s + max(
        LONGEST_SETTLING_UPDATES * update_interval_s, LONGEST_SETTLING_S
    )
    updates_seen = 0
    while True:
        reading, is_new = meter.read_update()
        settled_s = reading.monotonic_s - begun_s
        updates_seen += is_new
        if (
            updates_seen >= SETTLING_UPDATES
            and settled_s >= settle_s
            and not math.isnan(reading.power_w)
        ):
            return True
        if settled_s >= longest_s:
            return False
        pause(min(update_interval_s / POLLS_PER_UPDATE, LONGEST_POLL_S))


@dataclass(frozen=True)
class Idle:
    """A measured idle baseline: the mean power of several updates, their number and their duration.

    `spread_w` is the standard deviation of the updates, `standard_w` the standard uncertainty of their mean with
    `freedom` degrees of freedom by `correlated_mean`: consecutive updates are not independent. `needed_s` is how long
    the baseline should have been measured for that, at least. They, and the means of voltage, current and apparent
    power, are NaN if unknown.
    """

    power_w: float
    duration_s: float
    readings: int
    spread_w: float = math.nan
    standard_w: float = math.nan
    freedom: float = 0.0
    voltage_v: float = math.nan
    current_a: float = math.nan
    apparent_va: float = math.nan
    needed_s: float = math.nan


def idle_readings(
    meter: Meter,
    duration_s: float,
    update_interval_s: float,
    pause: Callable[[float], None],
) -> list[Reading]:
    """Read every update for at least `duration_s`, and at least two; the first reading only marks the start.

    The integrator need not run. `pause` may raise to end the measurement. MeterError `meter-no-idle` if the meter stops
    measuring.
    """
    readings = [meter.read()]
    wanted_s = max(duration_s, 2.0 * update_interval_s)
    silent_s = max(SILENT_UPDATES * update_interval_s, SILENT_S)

    def read() -> Sample:
        sample = meter.read_update()
        if sample[0].monotonic_s - readings[-1].monotonic_s > silent_s:
            raise MeterError(
                "meter-no-idle",
                "The meter measures nothing new: it may be on HOLD; press HOLD on its panel.",
            )
        return sample

    for reading in updates(read, update_interval_s, pause):
        readings.append(reading)
        if reading.monotonic_s - readings[0].monotonic_s >= wanted_s:
            break
    return readings


def baseline(readings: Sequence[Reading]) -> Idle:
    """Return the mean power of the updates after the first reading; MeterError `meter-no-idle` if unknown."""
    taken = readings[1:]
    powers_w = [reading.power_w for reading in taken if not math.isnan(reading.power_w)]
    if not powers_w:
        raise MeterError(
            "meter-no-idle",
            "The meter measured no idle power: none of its readings has data.",
        )
    if any(reading.over_range for reading in taken):
        raise MeterError(
            "meter-no-idle",
            "The meter cannot measure the idle power: it is over range; use larger ranges.",
        )
    if any(reading.voltage_peak_over or reading.current_peak_over for reading in taken):
        raise MeterError(
            "meter-no-idle",
            "The meter cannot measure the idle power: clipped at the peaks, it reads too low; use larger ranges.",
        )
    lasted_s = readings[-1].monotonic_s - readings[0].monotonic_s
    mean = correlated_mean(powers_w)
    return Idle(
        power_w=statistics.fmean(powers_w),
        duration_s=lasted_s,
        readings=len(powers_w),
        spread_w=_deviation(powers_w),
        standard_w=mean.standard,
        freedom=mean.freedom,
        voltage_v=_mean([one.voltage_v for one in taken]),
        current_a=_mean([one.current_a for one in taken]),
        apparent_va=_mean([one.apparent_va for one in taken]),
        needed_s=lasted_s * mean.lengthen,
    )


def _deviation(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else math.nan


def _mean(values: Sequence[float]) -> float:
    known = [one for one in values if math.isfinite(one)]
    return statistics.fmean(known) if known else math.nan
