"""Finds the smallest fixed ranges that hold a load, from its recorded values. Pure.

A range holds a load if the largest rms value, with headroom, is within the range, and the largest peak, with headroom,
is within crest factor x range. Above that the wave is clipped, which only a flag shows (IM WT310E-01EN, measurement
range).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.meter import Choices, Peaks, Reading

HEADROOM: Final = 1.2


@dataclass(frozen=True)
class Drawn:
    """What a load drew: largest absolute rms values and peaks, and means; NaN if not measured.

    `flagged` counts readings that were over range or clipped; what the load drew then is unknown.
    """

    readings: int
    flagged: int
    voltage_v: float
    current_a: float
    voltage_peak_v: float
    current_peak_a: float
    power_w: float
    apparent_va: float


@dataclass(frozen=True)
class Fit:
    """The smallest range that holds a load, None if none is large enough; `needed` is the least sufficient value."""

    unit: str
    rms: float
    peak: float
    needed: float
    value: float | None


def drawn(readings: Sequence[Reading], peaks: Sequence[Peaks]) -> Drawn:
    """Return what a load drew in the given updates; readings without data or over range are only counted."""
    return Drawn(
        readings=len(readings),
        flagged=sum(flagged(reading) for reading in readings),
        voltage_v=_largest([reading.voltage_v for reading in readings]),
        current_a=_largest([reading.current_a for reading in readings]),
        voltage_peak_v=_largest([peak.voltage_v for peak in peaks]),
        current_peak_a=_largest([peak.current_a for peak in peaks]),
        power_w=_mean([reading.power_w for reading in readings]),
        apparent_va=_mean([reading.apparent_va for reading in readings]),
    )


def flagged(reading: Reading) -> bool:
    """Return True if a reading was over range or clipped."""
    return reading.over_range or reading.voltage_peak_over or reading.current_peak_over


def fit(
    choices: Sequence[float],
    unit: str,
    rms: float,
    peak: float,
    crest_factor: int,
    headroom: float = HEADROOM,
) -> Fit:
    """Return the smallest range that holds `rms` and `peak` (NaN: not measured) with headroom."""
    for_peak = 0.0 if math.isnan(peak) else abs(peak) * headroom / crest_factor
    for_rms = 0.0 if math.isnan(rms) else abs(rms) * headroom
    needed = max(for_rms, for_peak)
    value = min((choice for choice in choices if choice >= needed), default=None)
    return Fit(unit, rms, peak, needed, value)


def fits(
    load: Drawn, choices: Choices, crest_factor: int, headroom: float = HEADROOM
) -> tuple[Fit, Fit]:
    """Return the smallest voltage and current ranges that hold a load."""
    return (
        fit(
            choices.voltage_ranges_v,
            "V",
            load.voltage_v,
            load.voltage_peak_v,
            crest_factor,
            headroom,
        ),
        fit(
            choices.current_ranges_a,
            "A",
            load.current_a,
            load.current_peak_a,
            crest_factor,
            headroom,
        ),
    )


def reason(found: Fit, crest_factor: int, headroom: float) -> str:
    """Return the reason for a proposed range, as one sentence with its figures."""
    unit = found.unit
    rms = f"{found.rms:.4g} {unit} rms x {headroom:g} = {abs(found.rms) * headroom:.4g} {unit}"
    peak = "no peaks were measured"
    if not math.isnan(found.peak):
        allowed = (
            ""
            if found.value is None
            else f", within {crest_factor} x {found.value:g} {unit}"
        )
        peak = f"peaks of {found.peak:.4g} {unit} x {headroom:g} = {found.peak * headroom:.4g} {unit}{allowed}"
    if found.value is None:
        return f"No range of this meter holds {rms} and {peak}."
    return f"The smallest range that holds {rms}; {peak}."


def _largest(values: Sequence[float]) -> float:
    return max(
        (abs(value) for value in values if math.isfinite(value)), default=math.nan
    )


def _mean(values: Sequence[float]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return math.fsum(finite) / len(finite) if finite else math.nan
