"""The limit of error of an active power, from what the meter's maker states. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

from lpirc_power.meter import ALL_ELEMENTS, Limits, Setup

Signal = Literal["ac", "dc"] | None
"""AC of 45 to 66 Hz, or DC; None where it is not known."""

AUTO_RANGE_LEAST: Final = 0.30
"""Automatic ranging goes down below this part of a range, in volts and in amperes (IM WT310-17EN)."""
MAINS_V: Final = 60.0
"""Voltages above count as mains: DC supplies of boards stay below, where touching is safe (IEC 62368-1, ES1)."""
LEAST_DC_FACTOR: Final = 0.9
"""Least ratio of mean voltage x mean current to the power for DC; for AC that ratio is near 0."""


@dataclass(frozen=True)
class Load:
    """The mean voltage, current, active and apparent power of what is measured; NaN where one is not known."""

    voltage_v: float
    current_a: float
    power_w: float
    apparent_va: float


@dataclass(frozen=True)
class Limit:
    """A limit of error in watts; `drift_w` of it is for the zero level of DC, 0 where the limit is that of AC."""

    whole_w: float
    drift_w: float


def power_range_w(
    setup: Setup,
    limits: Limits | None,
    voltage_v: float = math.nan,
    current_a: float = math.nan,
) -> float | None:
    """Return the power range: voltage range x current range, of all elements if their sum is measured.

    If one of the two is automatic, it is the largest that automatic ranging would have stayed in with the mean
    `voltage_v` or `current_a`. None if both are, or if that mean is not known.
    """
    volts = setup.voltage_range_v
    amperes = setup.current_range_a
    if volts is None and amperes is None:
        return None
    volts = voltage_v / AUTO_RANGE_LEAST if volts is None else volts
    amperes = current_a / AUTO_RANGE_LEAST if amperes is None else amperes
    found_w = volts * amperes * _elements(setup, limits)
    return found_w if math.isfinite(found_w) else None


def signal_of(
    mode: str, voltage_v: float, power_w: float, apparent_va: float
) -> Signal:
    """Return what a meter in `mode` measured, as far as its mean values tell; None if they do not.

    No reading holds a frequency. In mode "dc" the product of voltage and current is the power only of DC; in the others
    both look alike, and only a voltage above `MAINS_V` is taken for AC.
    """
    if mode == "dc":
        return "dc" if apparent_va >= LEAST_DC_FACTOR * abs(power_w) else None
    return "ac" if voltage_v > MAINS_V else None


def dc_drift_w(
    setup: Setup, limits: Limits | None, voltage_v: float, current_a: float
) -> float:
    """Return by how many watts the zero level of DC may move a power while the temperature changes as `setup` states.

    Drift of the voltage x current + drift of the current x voltage, for every element if their sum is measured (its
    voltage and current are means of theirs): IM WT310E-02EN and IM WT310-02EN, page 7-7. `limits` are those under the
    setup. An automatic range is the largest that automatic ranging would have stayed in, as for `power_range_w`. 0
    where no drift is stated, NaN where it rests on a voltage or current that is not known.
    """
    drift = None if limits is None else limits.drift
    if drift is None:
        return 0.0
    volts = abs(voltage_v)
    amperes = abs(current_a)
    fixed_v = setup.voltage_range_v
    fixed_a = setup.current_range_a
    range_v = (
        max(volts / AUTO_RANGE_LEAST, drift.smallest_voltage_range_v)
        if fixed_v is None
        else fixed_v
    )
    range_a = amperes / AUTO_RANGE_LEAST if fixed_a is None else fixed_a
    of_voltage_v = drift.voltage_range_share_per_c * range_v * setup.ambient_change_c
    of_current_a = drift.current_a_per_c(range_a) * setup.ambient_change_c
    return (of_voltage_v * amperes + of_current_a * volts) * _elements(setup, limits)


def limit_of(
    power_w: float,
    apparent_va: float,
    range_w: float | None,
    limits: Limits | None,
    signal: Signal = "ac",
    drift_w: float = 0.0,
) -> Limit | None:
    """Return the limit of error of an active power; for an unknown signal the larger of those of AC and DC.

    AC: P x (reading error + range error x range / S + tan(phi) x influence), as page 7-8 of IM WT310E-02EN and of IM
    WT310-02EN writes it; DC: P x reading error + range error x range + drift. Without `range_w` the ranges are the
    largest that automatic ranging would have stayed in, both at 30 %, so S / 0.09, or the smallest of the model.
    An `apparent_va` of NaN is taken as the active power if the apparent one has no influence of its own. None where the
    limit is not known: a figure is NaN or infinite, or nothing is known of the model.
    """
    power = abs(power_w)
    if limits is not None and math.isnan(apparent_va) and limits.apparent_share == 0.0:
        apparent_va = power
    if limits is None or not (math.isfinite(power) and math.isfinite(apparent_va)):
        return None
    apparent = max(apparent_va, power)  # below the active power it is only noise
    full_w = (
        max(apparent / AUTO_RANGE_LEAST**2, limits.smallest_range_w)
        if range_w is None
        else range_w
    )
    factor = power / apparent if apparent else 1.0
    influence_w = (
        limits.apparent_share * apparent * math.sqrt(1.0 - factor**2)
    )  # P x tan(phi) = S x sin(phi)
    ac = Limit(
        limits.reading_share * power
        + limits.range_share * full_w * factor
        + influence_w,
        0.0,
    )
    if signal == "ac":
        return ac
    if not math.isfinite(drift_w):
        return None
    dc_reading = (
        limits.reading_share
        if limits.dc_reading_share is None
        else limits.dc_reading_share
    )
    dc = Limit(dc_reading * power + limits.dc_range_share * full_w + drift_w, drift_w)
    return dc if signal == "dc" or dc.whole_w >= ac.whole_w else ac


def limit_w(
    power_w: float,
    apparent_va: float,
    range_w: float | None,
    limits: Limits | None,
    signal: Signal = "ac",
) -> float | None:
    """Return `limit_of` without drift, in watts."""
    found = limit_of(power_w, apparent_va, range_w, limits, signal)
    return None if found is None else found.whole_w


def limit_of_load(setup: Setup, limits: Limits | None, load: Load) -> Limit | None:
    """Return `limit_of` a load's mean power that is measured with a setup."""
    known = None if limits is None else limits.under(setup)
    range_w = power_range_w(setup, limits, load.voltage_v, load.current_a)
    signal = signal_of(setup.mode, load.voltage_v, load.power_w, load.apparent_va)
    drift_w = dc_drift_w(setup, known, load.voltage_v, load.current_a)
    return limit_of(load.power_w, load.apparent_va, range_w, known, signal, drift_w)


def relative_uncertainty(
    power_w: float,
    apparent_va: float,
    range_w: float | None,
    limits: Limits | None,
    signal: Signal = "ac",
) -> float | None:
    """Return the limit of error of an energy without drift, relative to it: 0.00626 is +-0.626 %.

    `power_w` is the energy's mean power, `apparent_va` the mean apparent power. None where `limit_w` is None, or the
    power is not above 0.
    """
    limit = limit_w(power_w, apparent_va, range_w, limits, signal)
    return limit / power_w if limit is not None and power_w > 0 else None


def uncertainty(
    setup: Setup, limits: Limits | None, voltage_v: float, current_a: float, power_w: float, apparent_va: float
) -> float | None:  # fmt: skip
    """Return the limit of error of a mean load that is measured with a setup, drift included, relative to its power."""
    found = limit_of_load(
        setup, limits, Load(voltage_v, current_a, power_w, apparent_va)
    )
    return found.whole_w / power_w if found is not None and power_w > 0 else None


def _elements(setup: Setup, limits: Limits | None) -> int:
    return limits.elements if limits and setup.element == ALL_ELEMENTS else 1
