"""Energies: means, trapezoids, and the checks of the integrator's energy against both. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from lpirc_power.energy.measurement import (
    START_STOP_S,
    TIME_RESOLUTION_S,
    Check,
    Measurement,
    check,
)
from lpirc_power.energy.reading_columns import Column, column, joined
from lpirc_power.meter import Reading

RELATIVE_TOLERANCE: Final = 0.005
"""Allowed difference of integrator and trapezoid, relative to the larger one."""
WH_RESOLUTION: Final = 1e-5
"""Relative resolution of WH, at worst: an integrated value has six digits of mantissa (IM WT310-17EN)."""
ROUNDED: Final = 1e-12
"""Difference of energies, as a part of the larger one, that is only one of rounding."""
EDGE_UPDATES: Final = 2.0
TIME_TOLERANCE_S: Final = TIME_RESOLUTION_S + START_STOP_S
LONG_UPDATES: Final = 3.0
UNSEEN_UPDATES: Final = 1.5
"""Longest pause between readings, in updates, that misses no update; the power in a missed update is unknown."""


def mean_power_w(energy_wh: float, elapsed_s: float) -> float:
    """Return the mean power over a window; NaN if the window has no length."""
    return energy_wh * 3600.0 / elapsed_s if elapsed_s > 0 else math.nan


def above_idle_wh(energy_wh: float, idle_power_w: float, elapsed_s: float) -> float:
    """Return the energy minus what the board would have drawn at its idle power in the same time.

    The result is negative if the board drew less than when it was idle.
    """
    return energy_wh - idle_power_w * elapsed_s / 3600.0


def difference_wh(first_wh: float, second_wh: float) -> float:
    """Return the first energy less the second one, both in Wh; 0 if they differ by rounding alone."""
    found_wh = first_wh - second_wh
    is_rounding = abs(found_wh) <= ROUNDED * max(abs(first_wh), abs(second_wh))
    return 0.0 if is_rounding else found_wh


def trapezoid_wh(
    monotonic_s: Sequence[float] | Column,
    power_w: Sequence[float] | Column,
    start_s: float,
    end_s: float,
) -> float:
    """Return the energy in Wh from `start_s` to `end_s`, by trapezoids between the readings.

    Readings without a finite power are left out. Between two readings the power is a straight line, which an edge of
    the window may cut; before the first reading and after the last one the power is constant. NaN if no reading is
    finite.
    """
    times = np.asarray(monotonic_s, dtype=np.float64)
    powers = np.asarray(power_w, dtype=np.float64)
    finite = np.isfinite(powers) & np.isfinite(times)
    times = times[finite]
    powers = powers[finite]
    if times.size == 0:
        return math.nan
    if end_s <= start_s:
        return 0.0
    order = np.argsort(times, kind="stable")
    times = times[order]
    powers = powers[order]
    inside = times[(times > start_s) & (times < end_s)]
    grid = np.concatenate(([start_s], inside, [end_s]))
    return float(np.trapezoid(np.interp(grid, times, powers), grid)) / 3600.0


def integrator_trapezoid(
    readings: Sequence[Reading], inside: Sequence[Reading], measured: Measurement
) -> Check:
    """`integrator-trapezoid`: the meter's integral agrees with the integral of the readings.

    In a gap through which the integrator kept running, the readings' integral uses the power implied by the rise of WH.
    """
    integrator_wh = measured.integrator_wh
    filled = _filled(inside, measured)
    readings = joined(readings, filled)
    inside = joined(inside, filled)
    times = column(readings, "monotonic_s")
    powers_w = column(readings, "power_w")
    sum_wh = trapezoid_wh(times, powers_w, measured.start_s, measured.end_s)
    tolerance_wh = _tolerance_wh(readings, inside, sum_wh, measured, 1 + len(filled))
    difference_wh = integrator_wh - sum_wh
    ok = (
        abs(difference_wh) <= tolerance_wh
    )  # false for NaN: without a comparison there is no agreement
    if math.isnan(sum_wh):
        sentence = f"The integrator has {integrator_wh:.6g} Wh, but no reading of the run carries a power to compare."
    else:
        sentence = (
            f"The integrator has {integrator_wh:.6g} Wh, the integral of the readings is {sum_wh:.6g} Wh. "
            f"The difference is {abs(difference_wh):.3g} Wh; {'' if ok else 'only '}{tolerance_wh:.3g} Wh are allowed."
        )
    if filled:
        sentence += " In gaps, the readings are derived from WH before and after."
    return check(
        "integrator-trapezoid",
        ok,
        "error",
        sentence,
        integrator_wh=integrator_wh,
        trapezoid_wh=sum_wh,
        difference_wh=difference_wh,
        tolerance_wh=tolerance_wh,
        start_stop_s=measured.start_stop_s,
        filled=len(filled),
    )


def _filled(inside: Sequence[Reading], measured: Measurement) -> list[list[Reading]]:
    """Return estimated readings for each gap in which TIME kept up with the clock and WH rose as the ranges allow.

    Each has the mean power implied by the rise of WH, so the sum over a gap equals what the meter integrated.
    """
    names = ("monotonic_s", "energy_wh", "integrator_s")
    sums = np.column_stack([column(inside, name) for name in names])
    is_known = np.isfinite(sums).all(axis=1) & np.isfinite(column(inside, "power_w"))
    if not is_known.any():
        return []
    model = inside[int(np.argmax(is_known))]
    first = (measured.start_s, 0.0, 0.0)
    final = (measured.end_s, measured.integrator_wh, measured.integrator_s)
    points = np.vstack((first, sums[is_known], final))
    found = []
    for place in np.flatnonzero(np.diff(points[:, 0]) > measured.longest_pause_s):
        before_s = float(points[place, 0])
        pause_s, grown_wh, ran_s = (points[place + 1] - points[place]).tolist()
        power_w = mean_power_w(grown_wh, pause_s)
        went_on = abs(ran_s - pause_s) <= TIME_TOLERANCE_S
        if went_on and 0.0 <= power_w <= measured.most_w:
            count = math.ceil(pause_s / measured.setup.update_interval_s)
            times_s = (before_s + pause_s * (one + 0.5) / count for one in range(count))
            found.append(
                [replace(model, monotonic_s=one, power_w=power_w) for one in times_s]
            )
    return found


def _tolerance_wh(
    readings: Sequence[Reading],
    inside: Sequence[Reading],
    sum_wh: float,
    measured: Measurement,
    parts: int,
) -> float:
    """Return the allowed difference of integrator and trapezoid, in Wh.

    It covers their accuracy, the edges of each part, starting and stopping, and unseen updates.
    """
    if not math.isfinite(sum_wh + measured.integrator_wh):
        return math.nan
    powers_w = column(readings, "power_w")
    finite_w = powers_w[np.isfinite(powers_w)]
    largest_w = float(np.abs(finite_w).max())
    spread_w = float(finite_w.max()) - float(finite_w.min())
    relative_wh = (RELATIVE_TOLERANCE + WH_RESOLUTION) * max(
        abs(sum_wh), abs(measured.integrator_wh)
    )
    edges_wh = parts * measured.setup.update_interval_s * largest_w / 3600.0
    edges_wh += (
        measured.start_stop_at_most_s * _edge_power_w(readings, measured) / 3600.0
    )
    return relative_wh + edges_wh + _unseen_wh(inside, spread_w, measured)


def _unseen_wh(
    inside: Sequence[Reading], spread_w: float, measured: Measurement
) -> float:
    """Return the largest error, in Wh, from updates that were missed or carry no data.

    In a long pause, and at the edges of the window, the power may have been anything that was read in the run. In a
    shorter pause it was between the powers of the readings at its ends; the later reading covers an update of its own.
    """
    interval_s = measured.setup.update_interval_s
    powers_w = column(inside, "power_w")
    is_finite = np.isfinite(powers_w)
    powers_w = powers_w[is_finite]
    times_s = column(inside, "monotonic_s")[is_finite]
    order = np.lexsort((powers_w, times_s))
    ends_s = np.concatenate(([measured.start_s], times_s[order], [measured.end_s]))
    ends_w = np.concatenate(([math.nan], powers_w[order], [math.nan]))
    pauses_s = np.diff(ends_s)
    is_long = pauses_s > UNSEEN_UPDATES * interval_s
    betweens_w = np.abs(np.diff(ends_w))[is_long].tolist()
    unseen_j = 0.0
    for pause_s, between_w in zip(pauses_s[is_long].tolist(), betweens_w, strict=True):
        if pause_s > LONG_UPDATES * interval_s:
            unseen_j += pause_s * spread_w
        else:
            unseen_j += (pause_s - interval_s) * (
                spread_w if math.isnan(between_w) else between_w
            )
    return unseen_j / 3600.0


def _edge_power_w(readings: Sequence[Reading], measured: Measurement) -> float:
    """Return the largest power near either end of the window, or of all readings if none is near an end."""
    near_s = START_STOP_S + EDGE_UPDATES * measured.setup.update_interval_s
    powers_w = np.abs(column(readings, "power_w"))
    is_finite = np.isfinite(powers_w)
    times_s = column(readings, "monotonic_s")
    is_near_start = np.abs(times_s - measured.start_s) <= near_s
    is_near_end = np.abs(times_s - measured.end_s) <= near_s
    near_w = powers_w[is_finite & (is_near_start | is_near_end)]
    return float(near_w.max() if len(near_w) else powers_w[is_finite].max())


def integrator_time(measured: Measurement) -> Check:
    """`integrator-time`: the integrator ran as long as the window lasted."""
    more_s = measured.integrator_s - measured.elapsed_s
    ok = abs(more_s) <= TIME_TOLERANCE_S
    sentence = f"The integrator ran {measured.integrator_s:.0f} s, the window lasted {measured.elapsed_s:.3f} s; "
    if ok:
        sentence += f"at most {TIME_TOLERANCE_S:.0f} s apart."
    elif more_s > 0:
        sentence += f"the energy includes {more_s:.0f} s outside the window."
    elif more_s < 0:
        sentence += f"the energy of {-more_s:.0f} s of the window is missing."
    else:
        sentence += "the time that the energy covers is unknown."
    figures = {"integrator_s": measured.integrator_s, "window_s": measured.elapsed_s}
    return check(
        "integrator-time",
        ok,
        "error",
        sentence,
        **figures,
        tolerance_s=TIME_TOLERANCE_S,
    )
