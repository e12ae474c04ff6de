"""Energy arithmetic: the integral beside the meter's own, and the checks that compare both. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from power.meter import Reading

RELATIVE_TOLERANCE: Final = 0.005
"""Allowed difference of integrator and trapezoid, relative to the larger one."""
WH_RESOLUTION: Final = 1e-5
"""Six digits of mantissa in an integrated value (IM WT310-17EN): at worst this part of the value."""
TIME_RESOLUTION_S: Final = 1.0
"""TIME is reported in whole seconds."""
START_STOP_S: Final = 1.0
"""What the commands to start and to stop may add between the window and the integrator."""
SHORTEST_GAP_S: Final = 2.0
"""A pause between readings that is never called a gap."""


@dataclass(frozen=True)
class Check:
    """One comparison: whether it held, how bad it is if not, and the figures it rests on."""

    code: str
    ok: bool
    severity: Literal["error", "warning"]
    sentence: str
    figures: dict[str, float | int | None] = field(default_factory=dict)


def mean_power_w(energy_wh: float, elapsed_s: float) -> float:
    """Return the mean power over a window; NaN for a window of no length."""
    return energy_wh * 3600.0 / elapsed_s if elapsed_s > 0 else math.nan


def trapezoid_wh(
    monotonic_s: Sequence[float], power_w: Sequence[float], start_s: float, end_s: float
) -> float:
    """Return the energy in Wh from `start_s` to `end_s`, by trapezoids between the readings.

    Readings without a finite power are left out. Between two readings the power is a straight line, also
    where an edge of the window cuts it; before the first and after the last one it is held. NaN if there is
    no finite reading.
    """
    times = np.asarray(monotonic_s, dtype=np.float64)
    powers = np.asarray(power_w, dtype=np.float64)
    finite = np.isfinite(powers) & np.isfinite(times)
    times, powers = times[finite], powers[finite]
    if times.size == 0:
        return math.nan
    if end_s <= start_s:
        return 0.0
    order = np.argsort(times, kind="stable")
    times, powers = times[order], powers[order]
    inside = times[(times > start_s) & (times < end_s)]
    grid = np.concatenate(([start_s], inside, [end_s]))
    return float(np.trapezoid(np.interp(grid, times, powers), grid)) / 3600.0


def energy_checks(
    readings: Sequence[Reading],
    integrator_wh: float,
    integrator_s: float,
    window_s: float,
    start_s: float,
    end_s: float,
    update_interval_s: float,
) -> tuple[Check, ...]:
    """Return every check of one run's energy.

    `integrator_wh` and `integrator_s` are the meter's final values; `window_s` is how long the run lasted,
    `start_s` and `end_s` are the same window on the monotonic clock of the readings. See docs/energy.md for
    the tolerances.
    """
    inside = [reading for reading in readings if start_s <= reading.monotonic_s <= end_s]
    return (
        _integrator_trapezoid(readings, integrator_wh, start_s, end_s, update_interval_s),
        _integrator_time(integrator_s, window_s),
        _flagged("over-range", "over range", [r for r in inside if r.over_range], len(inside)),
        _flagged(
            "peak-clipping",
            "clipped at the peaks, so that the energy reads too low",
            [r for r in inside if r.voltage_peak_over or r.current_peak_over],
            len(inside),
        ),
        _reading_gaps(inside, start_s, end_s, update_interval_s),
        _no_data(inside, start_s, update_interval_s),
    )


def _integrator_trapezoid(
    readings: Sequence[Reading], integrator_wh: float, start_s: float, end_s: float, update_interval_s: float
) -> Check:
    powers_w = [reading.power_w for reading in readings]
    sum_wh = trapezoid_wh([reading.monotonic_s for reading in readings], powers_w, start_s, end_s)
    tolerance_wh = _tolerance_wh(readings, integrator_wh, sum_wh, start_s, end_s, update_interval_s)
    difference_wh = integrator_wh - sum_wh
    ok = abs(difference_wh) <= tolerance_wh  # false for NaN: nothing to compare is no agreement
    if math.isnan(sum_wh):
        sentence = f"The integrator has {integrator_wh:.6g} Wh, but no reading of the run carries a power to compare."
    else:
        sentence = f"The integrator has {integrator_wh:.6g} Wh, the readings make {sum_wh:.6g} Wh; " + (
            "they agree." if ok else f"more than {tolerance_wh:.3g} Wh apart."
        )
    return Check(
        "integrator-trapezoid",
        ok,
        "error",
        sentence,
        {
            "integrator_wh": _json_ready(integrator_wh),
            "trapezoid_wh": _json_ready(sum_wh),
            "difference_wh": _json_ready(difference_wh),
            "tolerance_wh": _json_ready(tolerance_wh),
        },
    )


def _tolerance_wh(
    readings: Sequence[Reading],
    integrator_wh: float,
    sum_wh: float,
    start_s: float,
    end_s: float,
    update_interval_s: float,
) -> float:
    """How far the two may be apart: their accuracy, the edges of the window, and what happened in gaps.

    In a gap the power may have been anything between the least and the largest that was read.
    """
    if not math.isfinite(sum_wh + integrator_wh):
        return math.nan
    finite_w = [reading.power_w for reading in readings if math.isfinite(reading.power_w)]
    inside = [reading for reading in readings if start_s <= reading.monotonic_s <= end_s]
    unseen_s = sum(_gaps_s(inside, start_s, end_s, update_interval_s))
    relative_wh = (RELATIVE_TOLERANCE + WH_RESOLUTION) * max(abs(sum_wh), abs(integrator_wh))
    edges_wh = update_interval_s * max(map(abs, finite_w)) / 3600.0
    return relative_wh + edges_wh + unseen_s * (max(finite_w) - min(finite_w)) / 3600.0


def _integrator_time(integrator_s: float, window_s: float) -> Check:
    tolerance_s = TIME_RESOLUTION_S + START_STOP_S
    ok = abs(integrator_s - window_s) <= tolerance_s
    return Check(
        "integrator-time",
        ok,
        "error",
        f"The integrator ran {integrator_s:.0f} s, the window lasted {window_s:.3f} s; "
        + ("they agree." if ok else f"more than {tolerance_s:.0f} s apart."),
        {
            "integrator_s": _json_ready(integrator_s),
            "window_s": _json_ready(window_s),
            "tolerance_s": tolerance_s,
        },
    )


def _flagged(code: str, what: str, flagged: Sequence[Reading], total: int) -> Check:
    counted = f"{len(flagged)} of {total} readings"
    sentence = (
        f"{counted} were {what}; use a larger range." if flagged else f"None of {total} readings was {what}."
    )
    first_s = flagged[0].monotonic_s if flagged else None
    return Check(
        code,
        not flagged,
        "error",
        sentence,
        {"flagged": len(flagged), "readings": total, "first_monotonic_s": first_s},
    )


def _reading_gaps(inside: Sequence[Reading], start_s: float, end_s: float, update_interval_s: float) -> Check:
    limit_s = _longest_pause_s(update_interval_s)
    gaps_s = _gaps_s(inside, start_s, end_s, update_interval_s)
    longest_s = max(gaps_s, default=0.0)
    sentence = (
        f"Gaps in the readings: {len(gaps_s)}, {sum(gaps_s):.1f} s in all, the longest {longest_s:.1f} s."
        if gaps_s
        else f"No pause between readings is longer than {limit_s:.3g} s."
    )
    figures: dict[str, float | int | None] = {"gaps": len(gaps_s), "longest_s": longest_s, "limit_s": limit_s}
    return Check("reading-gaps", not gaps_s, "warning", sentence, figures)


def _gaps_s(inside: Sequence[Reading], start_s: float, end_s: float, update_interval_s: float) -> list[float]:
    times = [start_s, *sorted(reading.monotonic_s for reading in inside), end_s]
    limit_s = _longest_pause_s(update_interval_s)
    return [later - earlier for earlier, later in pairwise(times) if later - earlier > limit_s]


def _longest_pause_s(update_interval_s: float) -> float:
    return max(3.0 * update_interval_s, SHORTEST_GAP_S)


def _no_data(inside: Sequence[Reading], start_s: float, update_interval_s: float) -> Check:
    # Just after the start the meter has not measured yet; that is how it should be.
    settled_s = start_s + max(2.0 * update_interval_s, TIME_RESOLUTION_S)
    empty = [r for r in inside if math.isnan(r.power_w) and r.monotonic_s > settled_s]
    finite = sum(math.isfinite(reading.power_w) for reading in inside)
    if not finite:
        sentence = f"None of {len(inside)} readings carries a power; the energy cannot be cross-checked."
    elif empty:
        sentence = f"{len(empty)} of {len(inside)} readings carry no data."
    else:
        sentence = f"All of {len(inside)} readings carry data, once the meter had measured."
    return Check(
        "no-data",
        bool(finite) and not empty,
        "warning" if finite else "error",
        sentence,
        {"empty": len(empty), "finite": finite, "readings": len(inside)},
    )


def _json_ready(value: float) -> float | None:
    return value if math.isfinite(value) else None
