"""How well a meter knows an energy, from what its maker states. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from lpirc_power.energy.measurement import Check, Measurement, check
from lpirc_power.meter import ALL_ELEMENTS, Limits, Reading, Setup

Signal = Literal["ac", "dc"] | None
"""AC of 45 to 66 Hz, or DC; None where it is not known."""

AUTO_RANGE_LEAST: Final = 0.30
"""Automatic ranging goes down below this part of a range, in volts and in amperes (IM WT310-17EN)."""
LARGEST_UNCERTAINTY: Final = 0.01
"""Above it an energy is not known well enough to rank by; MLPerf Power fails such a run."""
MAINS_V: Final = 60.0
"""Voltages above are taken for mains: DC supplies of boards end there, as what is safe to touch (IEC 62368-1, ES1)."""
LEAST_DC_FACTOR: Final = 0.9
"""Of DC, the means of voltage and current make at least this part of the power; those of AC make nearly nothing."""


def power_range_w(
    setup: Setup, limits: Limits | None, voltage_v: float = math.nan, current_a: float = math.nan
) -> float | None:
    """Return the power range: voltage range x current range, of all elements if their sum is measured.

    If one of the two is automatic, it is the largest that automatic ranging would have stayed in with the mean
    `voltage_v` or `current_a`. None if both are, or if that mean is not known.
    """
    volts, amperes = setup.voltage_range_v, setup.current_range_a
    if volts is None and amperes is None:
        return None
    volts = voltage_v / AUTO_RANGE_LEAST if volts is None else volts
    amperes = current_a / AUTO_RANGE_LEAST if amperes is None else amperes
    found_w = volts * amperes * (limits.elements if limits and setup.element == ALL_ELEMENTS else 1)
    return found_w if math.isfinite(found_w) else None


def signal_of(mode: str, voltage_v: float, power_w: float, apparent_va: float) -> Signal:
    """Return what a meter in `mode` measured, as far as its mean values tell; None if they do not.

    No reading holds a frequency. In mode "dc" the product of voltage and current is the power only of DC; in the others
    both look alike, and only a voltage above `MAINS_V` is taken for AC.
    """
    if mode == "dc":
        return "dc" if apparent_va >= LEAST_DC_FACTOR * abs(power_w) else None
    return "ac" if voltage_v > MAINS_V else None


def limit_w(
    power_w: float, apparent_va: float, range_w: float | None, limits: Limits | None, signal: Signal = "ac"
) -> float | None:
    """Return the limit of error of an active power in watts; for an unknown signal the larger of those of AC and DC.

    AC: P x (reading error + range error x range / S + tan(phi) x influence), as page 7-8 of IM WT310E-02EN and of IM
    WT310-02EN writes it; DC: P x reading error + range error x range. Without `range_w` the ranges are the largest that
    automatic ranging would have stayed in, both at 30 %, so S / 0.09, or the smallest of the model. None where the
    limit is not known: a figure is NaN or infinite, or nothing is known of the model.
    """
    if limits is None or not (math.isfinite(power_w) and math.isfinite(apparent_va)):
        return None
    power = abs(power_w)
    apparent = max(apparent_va, power)  # below the active power it is only noise
    full_w = max(apparent / AUTO_RANGE_LEAST**2, limits.smallest_range_w) if range_w is None else range_w
    factor = power / apparent if apparent else 1.0
    influence_w = limits.apparent_share * apparent * math.sqrt(1.0 - factor**2)  # P x tan(phi) = S x sin(phi)
    ac_w = limits.reading_share * power + limits.range_share * full_w * factor + influence_w
    dc_reading = limits.reading_share if limits.dc_reading_share is None else limits.dc_reading_share
    dc_w = dc_reading * power + limits.dc_range_share * full_w
    return max(ac_w, dc_w) if signal is None else {"ac": ac_w, "dc": dc_w}[signal]


def relative_uncertainty(
    power_w: float, apparent_va: float, range_w: float | None, limits: Limits | None, signal: Signal = "ac"
) -> float | None:
    """Return the meter's limit of error for an energy, relative to it: 0.00626 is +-0.626 %.

    `power_w` is the energy's mean power, `apparent_va` the mean apparent power. None where `limit_w` is None, or the
    power is not above 0.
    """
    limit = limit_w(power_w, apparent_va, range_w, limits, signal)
    return limit / power_w if limit is not None and power_w > 0 else None


def uncertainty(
    setup: Setup, limits: Limits | None, voltage_v: float, current_a: float, power_w: float, apparent_va: float
) -> float | None:  # fmt: skip
    """Return `relative_uncertainty` of a mean load that is measured with a setup."""
    range_w = power_range_w(setup, limits, voltage_v, current_a)
    signal = signal_of(setup.mode, voltage_v, power_w, apparent_va)
    known = None if limits is None else limits.under(setup)
    return relative_uncertainty(power_w, apparent_va, range_w, known, signal)


def accuracy(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`accuracy`: the meter's limit of error for the energy's mean power is at most 1 % of it.

    A warning with automatic ranges, where the limit is that of the worst ranges they may have chosen.
    """
    setup, power_w = measured.setup, measured.mean_power_w
    good = [r for r in inside if math.isfinite(r.power_w) and math.isfinite(r.apparent_va)]
    voltage_v, current_a = _mean(r.voltage_v for r in good), _mean(r.current_a for r in good)
    read_w, apparent_va = _mean(r.power_w for r in good), _mean(r.apparent_va for r in good)
    # The energy's power has the power factor of the readings, if they tell one.
    apparent_va *= power_w / read_w if read_w > 0 else math.nan
    found = uncertainty(setup, measured.limits, voltage_v, current_a, power_w, apparent_va)
    # A meter that has limits, but shows no power to apply them to, may not keep them.
    ok = found <= LARGEST_UNCERTAINTY if found is not None else measured.limits is None
    signal = signal_of(setup.mode, voltage_v, power_w, apparent_va)
    automatic = setup.range_w is None
    return check(
        "accuracy",
        ok,
        "warning" if automatic else "error",
        _sentence(found, measured.limits, signal, ok=ok, automatic=automatic),
        uncertainty=found,
        limit=LARGEST_UNCERTAINTY,
        mean_power_w=power_w,
        mean_apparent_va=apparent_va,
        range_w=power_range_w(setup, measured.limits, voltage_v, current_a),
        signal_known=int(signal is not None),
    )


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return statistics.fmean(known) if known else math.nan


def _sentence(
    found: float | None, limits: Limits | None, signal: Signal, *, ok: bool, automatic: bool
) -> str:
    if limits is None:
        return "Nothing is known of this meter's accuracy."
    if found is None:
        return "No reading shows a power, so its accuracy is unknown."
    sentence = f"The energy is known within {'at worst ' if automatic else ''}{found:.3%}"
    sentence += f" by {limits.source}" if limits.source else ""
    if signal is None:
        sentence += ", the larger limit of AC and DC: the readings do not tell which it is"
    if ok:
        return f"{sentence}."
    advice = "fix the ranges after a ranging run" if automatic else "use smaller ranges"
    return f"{sentence}; that is more than {LARGEST_UNCERTAINTY:.0%}: {advice}."
