"""The bench of a driver under test: its meter, the setup, what is known of the load, and samples with their times."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lpirc_power.addresses.meter_address import MeterAddress
from lpirc_power.clocks import Clocks
from lpirc_power.driver_kit.cable import Cable
from lpirc_power.driver_kit.known_load import KnownLoad
from lpirc_power.driver_kit.subject import Subject
from lpirc_power.meter import Meter, Reading, Setup

LOOK_S: Final = 0.02
"""Longest pause between two questions while updates are counted."""
BUSY_PART: Final = 5.0
LOOSE: Final = 0.03
"""Allowed difference of a counted energy from power x time, beside what updates and steps of the counter explain."""
UNITS: Final = (
    (1000.0, "1000 times too much: as if kWh were wanted, or mWh counted"),
    (0.001, "a thousandth: as if Wh were given in kWh"),
    (3600.0, "3600 times too much: that is watt-seconds (joules), not watt-hours"),
    (1 / 3600.0, "1/3600: hours and seconds are mixed up"),
    (3.6, "3.6 times too much"),
    (60.0, "60 times too much: that is watt-minutes, not watt-hours"),
    (2.0, "twice: energy is counted double"),
    (0.5, "half: every other part is lost"),
    (-1.0, "the negative: the counter runs backwards"),
)


@dataclass(frozen=True)
class Sample:
    """A reading, whether the driver marked it as new, and the host's times of question and answer."""

    asked_s: float
    answered_s: float
    reading: Reading
    is_new: bool


@dataclass
class Bench:
    """A driver under test and what it is tried with.

    `address` leads to the meter through the `cable`. `seconds` is the length of a measurement. `rate_w` is the power at
    which WH rises: that of the readings, or what WH itself showed if it does not fit them, so that one fault is told
    once. `stall_s` is by how much the longest pause between two questions was too long. `stated` is what `limits` gave.
    """

    subject: Subject
    address: str
    setup: Setup
    seconds: float
    clocks: Clocks
    cable: Cable
    load: KnownLoad | None = None
    nowhere: str | None = None
    library: str | None = None
    restart: Callable[[], object] | None = None
    is_scpi: bool = False
    samples: Sequence[Sample] = ()
    rate_w: float = math.nan
    stall_s: float = 0.0
    stated: object = None

    def opened(self) -> MeterAddress:
        """Return a new object of the address; the caller closes it."""
        return MeterAddress(self.address)

    def sampled(self, meter: Meter) -> Sample:
        """Ask for one sample."""
        asked_s = self.clocks.monotonic()
        reading, is_new = meter.read_update()
        return Sample(asked_s, self.clocks.monotonic(), reading, is_new)

    def polled(self, meter: Meter, seconds: float) -> list[Sample]:
        """Ask ten times an update, for so long."""
        end_s = self.clocks.monotonic() + seconds
        pause_s = min(self.setup.update_interval_s / 10, LOOK_S)
        found = []
        while self.clocks.monotonic() < end_s:
            found.append(self.sampled(meter))
            paused_s = self.clocks.monotonic()
            self.clocks.pause(pause_s)
            late_s = self.clocks.monotonic() - paused_s - pause_s
            self.stall_s = max(self.stall_s, late_s)
        return found

    @property
    def is_busy(self) -> bool:
        """Return True if this computer was too busy to ask in time, which is no fault of a driver."""
        return self.stall_s > self.interval_s / BUSY_PART

    @property
    def unsure_s(self) -> float:
        """How long the meter may have counted beside the times of two readings."""
        took_s = [one.answered_s - one.asked_s for one in self.samples]
        return 2 * self.interval_s + self.stall_s + max(took_s, default=0.0)

    def timed(self, timer_s: int) -> Setup:
        """Return the setup with a timer."""
        return replace(self.setup, integrator_timer_s=timer_s)

    @property
    def interval_s(self) -> float:
        """The update interval."""
        return self.setup.update_interval_s


def mean_power_w(samples: Sequence[Sample]) -> float:
    """Return the mean of the finite powers; NaN if there is none."""
    powers = [one.reading.power_w for one in samples]
    known = [one for one in powers if math.isfinite(one)]
    return statistics.fmean(known) if known else math.nan


def energy_problem(
    what: str, counted_wh: float, power_w: float, lasted_s: float, unsure_s: float
) -> str:
    """Return what is wrong with a counted energy, as a clause; empty if it is power x time.

    `unsure_s` is how much longer or shorter than `lasted_s` the meter may have counted.
    """
    expected_wh = power_w * lasted_s / 3600.0
    allowed_wh = LOOSE * abs(expected_wh) + abs(power_w) * unsure_s / 3600.0
    if math.isnan(counted_wh):
        return f"{what} WH shows no data"
    if abs(counted_wh - expected_wh) <= allowed_wh:
        return ""
    told = (
        f"{what} WH rose by {counted_wh:.4g} Wh, but {power_w:.4g} W for {lasted_s:.3g} s are "
        f"{expected_wh:.4g} Wh"
    )
    ratio = counted_wh / expected_wh if expected_wh else math.nan
    for factor, words in UNITS:
        if math.isclose(ratio, factor, rel_tol=0.2):
            return f"{told} ({words})"
    return told
