"""Limit of error of an active power, from the figures that the meter's maker states. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, Literal

from lpirc_power.meter import ALL_ELEMENTS, Drift, Limits, Setup
from lpirc_power.own_term import own_limit_w

Signal = Literal["ac", "dc"] | None
"""Kind of signal: AC of 45 to 66 Hz, or DC; None if unknown."""

AUTO_RANGE_LEAST: Final = 0.30
"""Part of a range, in volts or amperes, below which automatic ranging switches down (IM WT310-17EN)."""
MAINS_V: Final = 60.0
"""Voltage above which a signal is taken for mains; touch-safe DC supplies of boards stay below (IEC 62368-1, ES1)."""
LEAST_DC_FACTOR: Final = 0.9
"""Least ratio of mean voltage x mean current to power at which a signal is DC; for AC the ratio is near 0."""


@dataclass(frozen=True)
class Load:
    """Mean voltage, current, active power and apparent power of the measured load; NaN if unknown."""

    voltage_v: float
    current_a: float
    power_w: float
    apparent_va: float


@dataclass(frozen=True)
class Part:
    """A part of a limit of error: the limit of one input quantity in `unit`, and the watts for each unit of it.

    Parts of one `group` are one error, stated in parts: they are added as they are. A part that a driver states as its
    own has a `name` for people and a `source`.
    """

    code: str
    half_width: float
    unit: str
    sensitivity_w: float
    group: str = ""
    name: str = ""
    source: str = ""

    @property
    def is_own(self) -> bool:
        """Return True if a driver states the part as its own."""
        return bool(self.name)


def percent_part(code: str, share: float, whole_w: float, group: str = "") -> Part:
    """Return the part that is a share of a power."""
    return Part(code, 100.0 * share, "%", whole_w / 100.0, group)


@dataclass(frozen=True)
class Limit:
    """Limit of error in watts; `drift_w` is its part for the DC zero level, 0 if the limit is for AC.

    The limit is the sum of its `parts`. Limits under a setup include crest factor and line filter, so those are part of
    range and reading here; `limit_parts` states them on their own. `is_larger_of_two` is True if the signal is unknown,
    and the limits of AC and DC differ.
    """

    whole_w: float
    drift_w: float
    parts: tuple[Part, ...] = ()
    is_larger_of_two: bool = False


def power_range_w(
    setup: Setup,
    limits: Limits | None,
    voltage_v: float = math.nan,
    current_a: float = math.nan,
) -> float | None:
    """Return the power range: voltage range x current range, of all elements if their sum is measured.

    For an automatic range, it assumes the largest range that automatic ranging keeps at the mean `voltage_v` or
    `current_a`. None if both ranges are automatic, or if that mean is unknown.
    """
    volts = setup.voltage_range_v
    amperes = setup.current_range_a
    if volts is None and amperes is None:
        return None
    volts = voltage_v / AUTO_RANGE_LEAST if volts is None else volts
    amperes = current_a / AUTO_RANGE_LEAST if amperes is None else amperes
    found_w = volts * amperes * elements_of(setup, limits)
    return found_w if math.isfinite(found_w) else None


def signal_of(
    mode: str, voltage_v: float, power_w: float, apparent_va: float
) -> Signal:
    """Return the kind of signal that a meter in `mode` measured; None if its mean values do not show it.

    No reading contains a frequency. In mode "dc", voltage x current equals the power only for DC. In the other modes AC
    and DC look alike, so only a voltage above `MAINS_V` is taken for AC.
    """
    if mode == "dc":
        return "dc" if apparent_va >= LEAST_DC_FACTOR * abs(power_w) else None
    return "ac" if voltage_v > MAINS_V else None


def dc_drift_w(
    setup: Setup, limits: Limits | None, voltage_v: float, current_a: float
) -> float:
    """Return the power error, in watts, from drift of the DC zero level for the temperature change in `setup`.

    It is the drift of the voltage x current + the drift of the current x voltage (IM WT310E-02EN and IM WT310-02EN,
    page 7-7), counted for every element if their sum is measured, whose voltage and current are means. `limits` are
    those that apply under the setup. An automatic range is taken as in `power_range_w`. 0 if no drift is stated, NaN if
    a voltage or current that it depends on is not known.
    """
    drift = None if limits is None else limits.drift
    if drift is None:
        return 0.0
    of_voltage_v, of_current_a = dc_drifts(setup, drift, voltage_v, current_a)
    volts = abs(voltage_v)
    amperes = abs(current_a)
    return (of_voltage_v * amperes + of_current_a * volts) * elements_of(setup, limits)


def dc_drifts(
    setup: Setup, drift: Drift, voltage_v: float, current_a: float
) -> tuple[float, float]:
    """Return by how many volts and amperes the zero level of one element drifts, as in `dc_drift_w`."""
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
    return of_voltage_v, of_current_a


def limit_of(
    power_w: float,
    apparent_va: float,
    range_w: float | None,
    limits: Limits | None,
    signal: Signal = "ac",
    drift_w: float = 0.0,
) -> Limit | None:
    """Return the limit of error of an active power; for an unknown signal, the larger of those for AC and DC.

    AC: P x (reading error + range error x range / S + tan(phi) x influence), as on page 7-8 of IM WT310E-02EN and of IM
    WT310-02EN. DC: P x reading error + range error x range + drift. Without `range_w`, the ranges are taken as the
    largest in which automatic ranging would have stayed, with both signals at 30 %, so S / 0.09, or the smallest range
    of the model. An `apparent_va` of NaN is replaced by the active power if the apparent power has no influence of its
    own. None if the limit is unknown: a figure is NaN or infinite, or nothing is known of the model.
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
    reactive_va = apparent * math.sqrt(1.0 - factor**2)  # P x tan(phi) = S x sin(phi)
    influence_w = limits.apparent_share * apparent * math.sqrt(1.0 - factor**2)
    ac = Limit(
        limits.reading_share * power
        + limits.range_share * full_w * factor
        + influence_w,
        0.0,
        (
            percent_part("reading", limits.reading_share, power),
            percent_part("range", limits.range_share, full_w * factor, "range"),
            percent_part("power-factor", limits.apparent_share, reactive_va),
        ),
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
    dc = Limit(
        dc_reading * power + limits.dc_range_share * full_w + drift_w,
        drift_w,
        (
            percent_part("reading", dc_reading, power),
            percent_part("range", limits.dc_range_share, full_w, "range"),
            Part("zero-drift", drift_w, "W", 1.0),
        ),
    )
    if signal == "dc":
        return dc
    larger = dc if dc.whole_w >= ac.whole_w else ac
    is_same = math.isclose(ac.whole_w, dc.whole_w)
    return replace(larger, is_larger_of_two=not is_same)


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
    """Return `limit_of` for the mean power of a load measured with a setup."""
    voltage_v = load.voltage_v
    current_a = load.current_a
    power_w = load.power_w
    apparent_va = load.apparent_va
    known = None if limits is None else limits.under(setup)
    range_w = power_range_w(setup, limits, voltage_v, current_a)
    signal = signal_of(setup.mode, voltage_v, power_w, apparent_va)
    drift_w = dc_drift_w(setup, known, voltage_v, current_a)
    return limit_of(power_w, apparent_va, range_w, known, signal, drift_w)


def uncertainty(
    setup: Setup, limits: Limits | None, voltage_v: float, current_a: float, power_w: float, apparent_va: float
) -> float | None:  # fmt: skip
    """Return the limit of error of a mean load measured with a setup, relative to its power.

    It includes drift and what the driver states as its own.
    """
    found = limit_of_load(
        setup, limits, Load(voltage_v, current_a, power_w, apparent_va)
    )
    if found is None or limits is None or power_w <= 0:
        return None
    return (found.whole_w + own_limit_w(limits.own, power_w)) / power_w


def elements_of(setup: Setup, limits: Limits | None) -> int:
    """Return how many elements are in what is measured: all of the model if it is their sum, else 1."""
    return limits.elements if limits and setup.element == ALL_ELEMENTS else 1
