"""Recordings of a counter that counts ten times a second, whose true energy is known.

A value of it is up to 0.1 s old, in WH and perhaps in TIME too. Loads are steady, or step at the edges of the window.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from lpirc_power.clocks import Clocks
from lpirc_power.energy import Measurement
from lpirc_power.home.meter import HomeMeter, Sample, unofficial
from lpirc_power.meter import Limits, Reading, Setup

AGE_S = 0.1
SHARE = 0.003
LIMITS = Limits(SHARE, 0.0, 0.0, 0.0, 0.0, age_s=AGE_S, source="its maker")
LOADS = ("steady", "edges", "rise", "fall", "bursts")
IDLE_W = 0.5
LOAD_W = 9.0

Rng = np.random.Generator


@dataclass
class Hand:
    """A clock that moves by hand."""

    now_s: float = 1000.0

    def clocks(self) -> Clocks:
        """Return it as the clocks of a meter."""
        began = datetime(
            2026,
            1,
            1,
            tzinfo=UTC,
        )
        return Clocks(
            lambda: self.now_s,
            lambda: began,
            lambda _: None,
        )


@dataclass(frozen=True)
class Course:
    """Powers between moments, and their integral."""

    moments_s: tuple[float, ...]
    powers_w: tuple[float, ...]

    def energy_wh(
        self,
        until_s: float,
    ) -> float:
        """Return the energy up to a moment."""
        ends_s = (*self.moments_s[1:], np.inf)
        parts = zip(
            self.moments_s,
            ends_s,
            self.powers_w,
            strict=True,
        )
        return (
            sum(
                watts
                * max(
                    min(
                        until_s,
                        end_s,
                    )
                    - begin_s,
                    0.0,
                )
                for begin_s, end_s, watts in parts
            )
            / 3600.0
        )


class Counter:
    """A sensor of `course`: it latches its values every 0.1 s, and each look takes some milliseconds."""

    identity = unofficial("counter", "1", "1")

    def __init__(
        self,
        hand: Hand,
        rng: Rng,
        *,
        own_clock: bool,
    ) -> None:
        self.course = Course((0.0,), (IDLE_W,))
        self._hand = hand
        self._rng = rng
        self._phase_s = float(
            rng.uniform(
                0.0,
                AGE_S,
            )
        )
        self._gain = 1.0 + float(
            rng.uniform(
                -SHARE,
                SHARE,
            )
        )
        self._own_clock = own_clock

    def look(
        self,
        now_s: float,
    ) -> Sample:
        """Return the latched values."""
        self._hand.now_s += float(
            self._rng.uniform(
                0.0005,
                0.004,
            )
        )
        at_s = now_s - (now_s - self._phase_s) % AGE_S
        before_wh = self.course.energy_wh(at_s - AGE_S)
        energy_wh = self.course.energy_wh(at_s)
        return Sample(
            energy_wh=self._gain * energy_wh,
            running_s=at_s if self._own_clock else now_s,
            power_w=self._gain * (energy_wh - before_wh) * 3600.0 / AGE_S,
        )


@dataclass(frozen=True)
class Counted:
    """A recording and the energy that is true."""

    load: str
    measured: Measurement
    readings: tuple[Reading, ...]
    true_wh: float


def course_of(
    load: str,
    start_s: float,
    end_s: float,
    rng: Rng,
) -> Course:
    """Return the powers of a load around a window."""
    if load == "steady":
        return Course((0.0,), (LOAD_W,))
    if load == "rise":
        return Course((0.0, start_s), (IDLE_W, LOAD_W))
    if load == "fall":
        return Course((0.0, end_s), (LOAD_W, IDLE_W))
    if load == "edges":
        return Course((0.0, start_s, end_s), (IDLE_W, LOAD_W, IDLE_W))
    moments_s = np.sort(
        rng.uniform(
            start_s - 1.0,
            end_s + 1.0,
            40,
        )
    )
    powers_w = np.where(np.arange(41) % 2, LOAD_W, IDLE_W)
    return Course((0.0, *moments_s.tolist()), tuple(powers_w.tolist()))


def recording(
    load: str,
    rng: Rng,
    limits: Limits = LIMITS,
) -> Counted:
    """Draw a recording of 2 to 30 s; some counters know their own time, others take that of the look."""
    hand = Hand(
        1000.0
        + float(
            rng.uniform(
                0.0,
                1.0,
            )
        )
    )
    counter = Counter(hand, rng, own_clock=bool(rng.random() < 0.5))
    meter = HomeMeter(counter, hand.clocks())
    interval_s = float(
        rng.choice(
            [0.1, 0.25, 0.5],
        )
    )
    setup = Setup(
        None,
        None,
        interval_s,
        0,
    )
    meter.configure(setup)
    length_s = float(
        rng.uniform(
            2.0,
            30.0,
        )
    )
    start_s = hand.now_s + 0.005
    end_s = start_s + length_s
    counter.course = course_of(
        load,
        start_s,
        end_s,
        rng,
    )
    meter.start()
    hand.now_s = start_s
    readings = tuple(
        _read(
            meter,
            hand,
            end_s,
            interval_s,
            rng,
        )
    )
    hand.now_s = end_s
    meter.stop()
    final = meter.read_final()
    measured = Measurement(
        integrator_wh=final.energy_wh,
        integrator_s=final.integrator_s,
        start_s=start_s,
        end_s=end_s,
        setup=setup,
        model="counter",
        limits=limits,
        official=False,
        start_stop_s=0.01,
    )
    true_wh = counter.course.energy_wh(end_s) - counter.course.energy_wh(start_s)
    return Counted(
        load,
        measured,
        readings,
        true_wh,
    )


def _read(
    meter: HomeMeter, hand: Hand, end_s: float, interval_s: float, rng: Rng
) -> list[Reading]:
    found: list[Reading] = []
    while hand.now_s < end_s - 0.01:
        reading, is_new = meter.read_update()
        if is_new and reading.monotonic_s < end_s:
            found.append(reading)
        hand.now_s += interval_s / 20.0 + float(rng.exponential(0.001))
    return found
