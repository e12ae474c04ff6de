"""Checks of what was measured with: the settings, the accuracy they allow, the kind of meter. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Final

from power.energy.accuracy import has_limits, power_range_w, relative_uncertainty
from power.energy.measurement import Check, Measurement, json_ready
from power.meter import Reading

LARGEST_UNCERTAINTY: Final = 0.01
"""Above it an energy is not known well enough to rank by; MLPerf Power fails such a run."""


def range_changed(measured: Measurement) -> Check:
    """`range-changed`: at its end the meter was still set up as for the run."""
    changes = measured.changes
    sentence = (
        f"At the end the meter was not set up as for the run: {'; '.join(changes)}."
        if changes
        else "At the end the meter was set up as for the run."
    )
    return Check("range-changed", not changes, "error", sentence, {"changes": len(changes)})


def accuracy(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`accuracy`: the meter's limit of error for the mean power is at most 1 % of it.

    A warning with automatic ranges, where the limit is that of the worst ranges they may have chosen.
    """
    good = [r for r in inside if math.isfinite(r.power_w) and math.isfinite(r.apparent_va)]
    power_w, apparent_va = _mean(r.power_w for r in good), _mean(r.apparent_va for r in good)
    voltage_v, current_a = _mean(r.voltage_v for r in good), _mean(r.current_a for r in good)
    range_w = power_range_w(measured.setup, measured.model, voltage_v, current_a)
    automatic = measured.setup.range_w is None
    found = relative_uncertainty(power_w, apparent_va, range_w, measured.model, measured.setup.mode)
    known = has_limits(measured.model)
    # A meter that has limits, but shows no power to apply them to, has not shown that it keeps them.
    ok = found <= LARGEST_UNCERTAINTY if found is not None else not known
    figures: dict[str, float | int | None] = {
        "uncertainty": json_ready(found),
        "limit": LARGEST_UNCERTAINTY,
        "mean_power_w": json_ready(power_w),
        "mean_apparent_va": json_ready(apparent_va),
        "range_w": json_ready(range_w),
    }
    sentence = _accuracy_sentence(found, known=known, ok=ok, automatic=automatic)
    return Check("accuracy", ok, "warning" if automatic else "error", sentence, figures)


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return statistics.fmean(known) if known else math.nan


def _accuracy_sentence(found: float | None, *, known: bool, ok: bool, automatic: bool) -> str:
    if not known:
        return "Nothing is known of this meter's accuracy."
    if found is None:
        return "The readings show no power whose accuracy could be told."
    least = "at worst " if automatic else ""
    sentence = f"The energy is known within {least}{found:.2%}"
    if ok:
        return f"{sentence}."
    advice = "fix the ranges after a ranging run" if automatic else "use smaller ranges"
    return f"{sentence}, which is more than {LARGEST_UNCERTAINTY:.0%}; {advice}."


def official_meter(measured: Measurement) -> Check:
    """`official-meter`: the meter is one that a contest may count with."""
    sentence = (
        f"The {measured.model} is a meter that a contest may count with."
        if measured.official
        else f"The {measured.model} is unofficial, simulated or for rehearsing; its energy counts in no contest."
    )
    return Check("official-meter", measured.official, "warning", sentence)
