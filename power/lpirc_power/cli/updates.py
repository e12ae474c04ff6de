"""Reads updates for `meter certify`, and finds out from WH whether START restarts the update interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from lpirc_power.clocks import real_clocks
from lpirc_power.meter import Reading

SHORT_S: Final = 3.0
"""Integration time for the single calls: a few steps of TIME, which is in whole seconds."""
LEAST_UPDATES: Final = 4
"""Updates read in addition to those within SHORT_S; with long update intervals, there are few within SHORT_S."""
POLLS: Final = 10
"""Number of times that the meter is polled in each update interval."""
OFF_STEP: Final = 0.4
"""Part of an update that passes before START; the remaining 0.6 shows whether START begins a new update."""
STEADY: Final = 0.02
"""Largest relative difference between powers that are steady enough for WH to measure time."""
ROUNDING: Final = 1e-9
"""Fraction of an update's energy below which a difference is rounding."""
LATEST: Final = 0.9
"""Latest START, as a part of an update. After a later START, restarted updates cannot be told from unchanged ones."""
NEAR: Final = 0.05
"""START is taken to restart updates if WH is within this part of an update of a whole number of updates."""


@dataclass(frozen=True)
class Updates:
    """The updates of a meter: `read` takes a sample and says if it is new, `wait` pauses for seconds.

    `now_s` returns the host's monotonic time.
    """

    read: Callable[[], tuple[Reading, bool]]
    wait: Callable[[float], object]
    interval_s: float
    now_s: Callable[[], float] = field(default_factory=lambda: real_clocks().monotonic)

    def emptied(self) -> Reading:
        """Return a reading after a reset; a meter may show the reset only with its next update."""
        for _ in range(LEAST_UPDATES):
            reading, _is_new = self.read()
            if reading.energy_wh == 0 or math.isnan(reading.energy_wh):
                break
            self.wait(self.interval_s)
        return reading

    def let_one_pass(self) -> float | None:
        """Wait for an update and then part of the next; return a host time just before that update.

        None if no update was seen within two intervals.
        """
        before_s = None
        found_s = None
        for _ in range(2 * POLLS):
            # Taken before the meter is asked: an update that comes while its answer is on the way is after it, too.
            asked_s = self.now_s()
            _reading, is_new = self.read()
            if is_new and before_s is not None:
                found_s = before_s
                break
            before_s = asked_s
            self.wait(self.interval_s / POLLS)
        self.wait(OFF_STEP * self.interval_s)
        return found_s

    def after_start(self) -> list[Reading]:
        """Return some readings, one update apart."""
        found = []
        for _ in range(math.ceil(SHORT_S / self.interval_s) + LEAST_UPDATES):
            found.append(self.read()[0])
            self.wait(self.interval_s)
        return found


def start_part(readings: Sequence[Reading], interval_s: float) -> float | None:
    """Return the fraction (above 0, at most 1) of the first update after START that was integrated.

    `readings` are those after START and span several updates. None if they do not show it, because there are no two
    different energies or because the powers differ.
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
    # WH is not compared with the power itself: an error of the meter's clock or ratio must not matter.
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
    """Say, from the readings after a START, whether START restarts the updates.

    START came at most `since_update_s` after an update.
    """
    part = start_part(readings, interval_s)
    if part is None:
        return "Unknown whether updates restart at START: finding out needs a load of constant power."
    if min(part, 1 - part) <= NEAR:
        if since_update_s > LATEST * interval_s:
            return "Unknown whether updates restart at START: START came too late after an update; try again."
        return "The first update after START shows a whole interval integrated: updates restart at START."
    return f"The first update after START shows {part:.2f} of an interval integrated: START does not restart updates."
