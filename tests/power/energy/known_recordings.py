"""Recordings whose true energy is known, drawn by what the manuals state of a meter; for the stated interval.

It shares nothing with the code under test: the limits are typed from IM WT310E-02EN and IM WT310-02EN, pages 7-7 and
7-8. Of each error nothing is known but its limit, so it is anywhere within it, as likely (JCGM 101:2008, 6.4.2), and
stays what it is during a recording.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Measurement
from lpirc_power.meter import IntegratorState, Reading, Setup

STEP_S = 0.02
START_S = 1000.0
UTC_START = datetime(2026, 1, 1, tzinfo=UTC)
KINDS = (
    "ac",
    "dc",
    "bursts",
    "short",
    "crest-factor",
    "filter",
    "gap",
    "own-time",
)
LOADS = ("constant", "steps", "bursts", "noise", "ramp")
CURRENT_RANGES_A = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
VOLTAGE_RANGES_V = (15.0, 30.0, 60.0, 150.0, 300.0, 600.0)
BEYOND_S = 2.0
"""Load that is known before and after the window."""

Rng = np.random.Generator
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stated:
    """A model's limits: shares of the reading, of the range, and of the apparent power; and its drift by degree."""

    reading: float
    ac_range: float
    influence: float
    dc_range: float = 0.002
    dc_reading: float = 0.001
    coarse_a: float = 500e-6


STATED = {
    "WT310E": Stated(0.001, 0.0005, 0.001),
    "WT310": Stated(0.001, 0.001, 0.002),
    "WT310EH": Stated(0.001, 0.0005, 0.001, dc_reading=0.003, coarse_a=1e-3),
}


@dataclass(frozen=True)
class Known:
    """A recording and the energy that is true."""

    kind: str
    measured: Measurement
    readings: tuple[Reading, ...]
    true_wh: float

    @property
    def error_wh(self) -> float:
        """What the meter's energy is off by."""
        return self.measured.integrator_wh - self.true_wh


def load(kind: str, at_s: Floats, low_w: float, high_w: float, rng: Rng) -> Floats:
    """Return the power (N,) at times (N,)."""
    if kind == "steps":
        period_s = rng.uniform(0.7, 9.0)
        phase_s = rng.uniform(0.0, period_s)
        is_low = (at_s + phase_s) % period_s < period_s / 2
        return np.where(is_low, low_w, high_w)
    if kind == "bursts":
        duty = rng.uniform(0.05, 0.3)
        slots = np.floor((at_s - at_s[0]) / 0.6).astype(np.int64)
        return np.where(rng.random(slots[-1] + 1)[slots] < duty, high_w, low_w)
    if kind == "noise":
        drawn = rng.normal(low_w, low_w / 20.0, len(at_s) // 5 + 1)
        return drawn.repeat(5)[: len(at_s)]
    if kind == "ramp":
        first_w, last_w = rng.permutation([low_w, high_w])
        done = (at_s - at_s[0]) / (at_s[-1] - at_s[0])
        return np.asarray(first_w + (last_w - first_w) * done)
    return np.full(len(at_s), low_w)


@dataclass(frozen=True)
class Wiring:
    """How a load is connected and measured."""

    model: str
    volts: float
    factor: float
    setup: Setup
    low_w: float
    high_w: float


def wiring(kind: str, rng: Rng) -> Wiring:
    """Draw a load with its meter: a range that holds its largest current, or the next larger one."""
    is_dc = kind == "dc"
    model = str(rng.choice([*STATED]))
    volts = float(rng.choice([5.0, 12.0, 19.0] if is_dc else [120.0, 230.0]))
    factor = 1.0 if is_dc else float(rng.choice([1.0, rng.uniform(0.3, 1.0)]))
    high_w = volts * factor * 10.0 ** float(rng.uniform(-1.5, 0.8))
    low_w = high_w / float(rng.uniform(1.5, 5.0))
    crest_factor = 6 if kind == "crest-factor" else 3
    halved = 3 / crest_factor
    least_a = 1.0 if model == "WT310EH" else 0.0
    amperes = high_w * 1.25 / factor / volts
    ranges_a = [one * halved for one in CURRENT_RANGES_A if one >= least_a]
    fit = [one for one in ranges_a if one >= amperes][:2]
    setup = Setup(
        voltage_range_v=next(
            one * halved for one in VOLTAGE_RANGES_V if one * halved >= volts
        ),
        current_range_a=float(rng.choice(fit)),
        update_interval_s=float(rng.choice([0.1, 0.25, 0.5, 1.0])),
        integrator_timer_s=0,
        mode="dc" if is_dc else "rms",
        crest_factor=crest_factor,
        line_filter=kind == "filter",
        ambient_change_c=float(rng.choice([0.5, 2.0, 5.0])),
    )
    return Wiring(model, volts, factor, setup, low_w, high_w)


def within(limit: float, rng: Rng) -> float:
    """Draw an error within +-limit."""
    return float(rng.uniform(-limit, limit))


def as_measured(true_w: Floats, wired: Wiring, rng: Rng) -> Floats:
    """Return what the meter makes of a power (N,): each of its errors is within what the manual states."""
    stated = STATED[wired.model]
    setup = wired.setup
    range_w = (setup.voltage_range_v or 0.0) * (setup.current_range_a or 0.0)
    times = 2.0 if setup.crest_factor == 6 else 1.0
    if setup.mode == "dc":
        amperes = true_w / wired.volts
        is_coarse = (setup.current_range_a or 0.0) >= 0.5 or wired.model == "WT310EH"
        drift_a = (stated.coarse_a if is_coarse else 5e-6) * setup.ambient_change_c
        drift_v = 0.0002 * (setup.voltage_range_v or 0.0) * setup.ambient_change_c
        return np.asarray(
            true_w * (1.0 + within(stated.dc_reading, rng))
            + within(stated.dc_range * times, rng) * range_w
            + within(drift_v, rng) * amperes
            + within(drift_a, rng) * wired.volts
        )
    of_filter = 0.003 if setup.line_filter else 0.0
    tangent = math.tan(math.acos(wired.factor))
    return np.asarray(
        true_w * (1.0 + within(stated.reading, rng) + within(of_filter, rng))
        + within(stated.ac_range * times, rng) * range_w * wired.factor
        + within(stated.influence, rng) * true_w * tangent
    )


def recording(kind: str, rng: Rng) -> Known:
    """Draw a recording of 10 to 600 s."""
    wired = wiring(kind, rng)
    most_s = 30.0 if kind == "short" else 600.0
    length_s = round(float(rng.uniform(10.0, most_s)) / STEP_S) * STEP_S
    at_s = np.arange(-BEYOND_S, length_s + BEYOND_S, STEP_S)
    varying = LOADS[1:] if kind == "gap" else LOADS
    shape = "bursts" if kind == "bursts" else str(rng.choice(varying))
    true_w = load(shape, at_s, wired.low_w, wired.high_w, rng)
    meter_w = as_measured(true_w, wired, rng)
    hidden = None
    if kind == "gap":
        hidden = gap(length_s, rng)
        inside = (at_s >= hidden[0]) & (at_s < hidden[1])
        seen = (at_s >= 0.0) & (at_s < length_s) & ~inside
        least_w, most_w = shown_between(true_w[seen], wired.setup.update_interval_s)
        # The range was changed and put back: what was integrated there says nothing of the load.
        true_w = np.where(inside, rng.uniform(least_w, most_w), true_w)
        meter_w = np.where(inside, rng.uniform(least_w, most_w), meter_w)
    return measured_by(kind, wired, at_s, true_w, meter_w, length_s, hidden, rng)


def shown_between(true_w: Floats, interval_s: float) -> tuple[float, float]:
    """Return the least and the largest mean power of an update."""
    steps = round(interval_s / STEP_S)
    whole = len(true_w) // steps * steps
    means_w = true_w[:whole].reshape(-1, steps).mean(axis=1)
    return float(means_w.min()), float(means_w.max())


def gap(length_s: float, rng: Rng) -> tuple[float, float]:
    """Draw a time in which nothing is read."""
    lasts_s = float(rng.uniform(2.5, max(3.0, 0.2 * length_s)))
    begin_s = float(rng.uniform(1.0, length_s - lasts_s - 1.0))
    return begin_s, begin_s + lasts_s


def measured_by(
    kind: str,
    wired: Wiring,
    at_s: Floats,
    true_w: Floats,
    meter_w: Floats,
    length_s: float,
    hidden: tuple[float, float] | None,
    rng: Rng,
) -> Known:
    """Integrate, read at each update, and round as the meter does."""
    interval_s = wired.setup.update_interval_s
    took_s = float(rng.uniform(0.02, 0.4))
    # All that is known of the time beyond the window: it is within what both commands took, and one update.
    beyond_s = float(rng.uniform(0.0, took_s + interval_s))
    # Most of it is before the window: nothing is asked for 0.25 s after START.
    before_s = beyond_s * float(rng.uniform(0.7, 1.0))
    edges_s = np.append(at_s, at_s[-1] + STEP_S)
    grown_wh = np.concatenate(([0.0], np.cumsum(meter_w))) * STEP_S / 3600.0
    truly_wh = np.concatenate(([0.0], np.cumsum(true_w))) * STEP_S / 3600.0

    def integral(moments: Floats | float) -> Floats:
        begin = np.interp(-before_s, edges_s, grown_wh)
        return np.asarray(np.interp(moments, edges_s, grown_wh) - begin)

    updates = np.arange(float(rng.uniform(0.0, interval_s)), length_s, interval_s)
    shown_w = np.diff(integral(np.concatenate(([updates[0] - interval_s], updates))))
    shown_w *= 3600.0 / interval_s
    readings = []
    for update_s, power_w, wh in zip(updates, shown_w, integral(updates), strict=True):
        read_s = update_s + float(rng.uniform(0.0, 0.04))
        is_hidden = hidden is not None and hidden[0] <= read_s < hidden[1] + interval_s
        if read_s < length_s and not is_hidden:
            time_s = math.floor(update_s + before_s)
            readings.append(_reading(read_s, wired, power_w, wh, time_s))
    final_wh = rounded(float(integral(length_s + beyond_s - before_s)), 6)
    ran_s = length_s + beyond_s
    if kind != "own-time":  # a meter that tells fractions of a second
        ran_s = float(math.floor(ran_s))
    measured = Measurement(
        final_wh,
        ran_s,
        START_S,
        START_S + length_s,
        wired.setup,
        wired.model,
        limits_of(wired.model),
        start_stop_s=took_s,
    )
    ends_wh = np.interp([0.0, length_s], edges_s, truly_wh)
    return Known(kind, measured, tuple(readings), float(ends_wh[1] - ends_wh[0]))


def rounded(value: float, digits: int) -> float:
    """Round to digits of mantissa."""
    return float(f"{value:.{digits - 1}e}")


def _reading(
    at_s: float, wired: Wiring, power_w: float, wh: float, time_s: float
) -> Reading:
    apparent_va = power_w / wired.factor
    return Reading(
        START_S + at_s,
        UTC_START + timedelta(seconds=at_s),
        wired.volts,
        rounded(apparent_va / wired.volts, 5),
        rounded(apparent_va, 5),
        rounded(power_w, 5),
        wired.factor,
        rounded(wh, 6),
        float(time_s),
        IntegratorState.START,
        False,
        False,
        False,
    )
