"""Checks of what the readings themselves show: over range, clipped, negative, too small. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Final

from power.energy.accuracy import limit_w, power_range_w
from power.energy.measurement import Check, Measurement, json_ready
from power.meter import Reading

LEAST_OF_RANGE: Final = 0.005
"""A signal below this part of its range is shown as 0 (IM WT310-17EN)."""
UNKNOWN_NOISE: Final = 0.01
"""Of the largest power: how far below 0 a meter may read whose limit of error nobody has stated."""


def over_range(inside: Sequence[Reading]) -> Check:
    """`over-range`: no reading is over range."""
    return _flagged("over-range", "over range", "", [r for r in inside if r.over_range], len(inside))


def peak_clipping(inside: Sequence[Reading]) -> Check:
    """`peak-clipping`: no reading has one of the peak flags."""
    clipped = [r for r in inside if r.voltage_peak_over or r.current_peak_over]
    return _flagged(
        "peak-clipping", "clipped at the peaks", ", so that the energy reads too low", clipped, len(inside)
    )


def _flagged(code: str, what: str, so_that: str, flagged: Sequence[Reading], total: int) -> Check:
    sentence = (
        f"Readings {what}{so_that}: {len(flagged)} of {total}; use a larger range."
        if flagged
        else f"No reading was {what}, of {total} in all."
    )
    first_s = flagged[0].monotonic_s if flagged else None
    figures: dict[str, float | int | None] = {
        "flagged": len(flagged),
        "readings": total,
        "first_monotonic_s": first_s,
    }
    return Check(code, not flagged, "error", sentence, figures)


def negative_power(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`negative-power`: no reading is further below 0 than the meter may be wrong there."""
    finite = [r for r in inside if math.isfinite(r.power_w)]
    largest_w = max((abs(r.power_w) for r in finite), default=0.0)
    range_w = power_range_w(measured.setup, measured.model)

    def noise_w(reading: Reading) -> float:
        apparent = reading.apparent_va if math.isfinite(reading.apparent_va) else abs(reading.power_w)
        limit = limit_w(reading.power_w, apparent, range_w, measured.model, measured.setup.mode)
        return UNKNOWN_NOISE * largest_w if limit is None else limit

    negative = [reading for reading in finite if reading.power_w < -noise_w(reading)]
    least_w = min((reading.power_w for reading in finite), default=math.nan)
    sentence = (
        f"Negative readings: {len(negative)} of {len(inside)}, down to {least_w:.4g} W; a current clamp or the wires "
        "of one input are the wrong way round."
        if negative
        else f"No reading was negative beyond the meter's own error, of {len(inside)} in all."
    )
    figures: dict[str, float | int | None] = {
        "negative": len(negative),
        "readings": len(inside),
        "least_w": json_ready(least_w),
        "first_monotonic_s": negative[0].monotonic_s if negative else None,
    }
    return Check("negative-power", not negative, "error", sentence, figures)


def low_load(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`low-load`: the mean power is not below 0.5 % of the range, and no reading is shown as 0.

    Single zeros are a warning: most of the energy was seen. A mean below the limit is an error.
    """
    finite = [r for r in inside if math.isfinite(r.power_w)]
    range_w = power_range_w(measured.setup, measured.model)
    mean_w = statistics.fmean(abs(r.power_w) for r in finite) if finite else math.nan
    least_w = 0.0 if range_w is None else LEAST_OF_RANGE * range_w
    zeros = [r for r in finite if 0.0 in (r.voltage_v, r.current_a, r.power_w)]
    too_low = mean_w < least_w or len(zeros) == len(finite) > 0
    if too_low:
        share = "" if range_w is None else f", less than 0.5 % of the range of {range_w:.4g} W"
        sentence = (
            f"The mean power is {mean_w:.4g} W{share}; a meter shows such signals as 0: use a smaller range."
        )
    elif zeros:
        sentence = (
            f"Readings that show 0: {len(zeros)} of {len(inside)}; that load is below 0.5 % of the range."
        )
    else:
        sentence = (
            "The load is large enough for its range." if finite else "Not told: no reading carries a power."
        )
    figures: dict[str, float | int | None] = {
        "mean_power_w": json_ready(mean_w),
        "least_w": least_w,
        "zeros": len(zeros),
        "readings": len(inside),
    }
    return Check("low-load", not (too_low or zeros), "error" if too_low else "warning", sentence, figures)
