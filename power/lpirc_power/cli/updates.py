"""The updates that `meter certify` reads, and whether they begin anew at START or run on, by the WH they show."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.meter import Reading

SHORT_S: Final = 3.0
"""Integration time for the calls one by one: a few counts of TIME, which counts whole seconds."""
LEAST_UPDATES: Final = 4
"""More of them are read, at long update intervals."""
POLLS: Final = 10
"""Polls for an update in each update interval."""
OFF_STEP: Final = 0.4
"""Part of an update that passes before START; 0.6 of it are left, which shows whether START begins a new one."""
STEADY: Final = 0.02
"""Relative difference of the powers up to which WH can measure time."""
ROUNDING: Final = 1e-9
"""Part of an update that is less than the rounding of its energy."""
LATEST: Final = 0.9
"""Part of an update by which START may be late; later, updates that run on look like those that begin at START."""
NEAR: Final = 0.05
"""Distance of WH from whole updates, as a part of one, up to which updates count as beginning at START."""


@dataclass(frozen=True)
class Updates:
    """The updates of a meter: `read` takes a sample and says whether it is new, `wait` lets seconds pass."""

    read: Callable[[], tuple[Reading, bool]]
    wait: Callable[[float], object]
    interval_s: float

    def emptied(self) -> Reading:
        """Return a reading after a reset: a meter may show that with its next update only."""
        for _ in range(LEAST_UPDATES):
            reading, _is_new = self.read()
            if reading.energy_wh == 0 or math.isnan(reading.energy_wh):
                break
            self.wait(self.interval_s)
        return reading

    def let_one_pass(self) -> float | None:
        """Return once a part of an update has passed: the host's time at which that update had not come yet.

        None after two intervals without one that shows.
        """
        before_s = None
        found_s = None
        for _ in range(2 * POLLS):
            reading, is_new = self.read()
            if is_new and before_s is not None:
                found_s = before_s
                break
            before_s = reading.monotonic_s
            self.wait(self.interval_s / POLLS)
        self.wait(OFF_STEP * self.interval_s)
        return found_s

    def after_start(self) -> list[Reading]:
        """Return a few readings, an update apart."""
        found = []
        for _ in range(math.ceil(SHORT_S / self.interval_s) + LEAST_UPDATES):
            found.append(self.read()[0])
            self.wait(self.interval_s)
        return found


def start_part(readings: Sequence[Reading], interval_s: float) -> float | None:
    """Return which part of an update the first one after START has integrated, above 0 to 1.

    The readings are those after START, of some updates. None if they do not tell: without two different energies, or
    with powers that differ.
    """
    counted = [
        one for one in readings if one.energy_wh > 0 and math.isfinite(one.power_w)
    ]
    if not counted:
        return None
    first = counted[0]
    last = counted[-1]
    powers_w = [one.power_w for one in counted]
    if min(powers_w) < (1 - STEADY) * max(powers_w) or min(powers_w) <= 0:
        return None
    # WH is not compared with the power itself: what the meter's clock or its ratio is off must not count.
    rose_wh = last.energy_wh - first.energy_wh
    count = round(rose_wh * 3600 / (powers_w[0] * interval_s))
    if count < 1:
        return None
    part = 1 - (-first.energy_wh * count / rose_wh) % 1
    is_whole = part < ROUNDING  # a whole update, of which rounding left nothing
    return 1.0 if is_whole else part


def start_sentence(
    readings: Sequence[Reading], interval_s: float, since_update_s: float
) -> str:
    """Return what the readings after a START say of the updates, as a sentence.

    START came at most `since_update_s` after an update.
    """
    part = start_part(readings, interval_s)
    if part is None:
        return "Unknown whether updates restart at START: finding out needs a load of constant power."
    if min(part, 1 - part) <= NEAR:
        if since_update_s > LATEST * interval_s:
            return "Unknown whether updates restart at START: START came too late after an update; try again."
        return "The first update after START shows a whole interval integrated: updates restart at START."
    return f"The first update after START shows {part:.2f} of an interval integrated: updates run on at START."
