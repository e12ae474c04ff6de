"""Checks of a run's energy. Pure; docs/energy.md states the rule behind each check, and why."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Final

import numpy as np

from lpirc_power.energy.accuracy_checks import accuracy, unseen_energy
from lpirc_power.energy.integral import integrator_time, integrator_trapezoid
from lpirc_power.energy.measured_energy import Energy, energy_of
from lpirc_power.energy.measurement import TIME_RESOLUTION_S, Check, Measurement, check
from lpirc_power.energy.power_error_limit import limit_w, power_range_w
from lpirc_power.energy.reading_columns import chosen, column
from lpirc_power.energy.step_checks import (
    energy_wh,
    integrator_steps,
    integrator_stopped,
)
from lpirc_power.meter import Reading
from lpirc_power.own_term import own_limit_w

LEAST_OF_RANGE: Final = 0.005
"""Part of a range below which a signal is shown and integrated as 0; twice as much at crest factor 6.

Sources: IM WT310-02EN, page 1-12; IM WT310E-01EN, page 5-12.
"""
UNKNOWN_NOISE: Final = 0.01
"""Allowed negative reading, as a part of the largest power, if the meter's limit of error is unknown."""
LEAST_PART: Final = 0.9
"""Least part of the updates outside gaps that must be read; a busy host misses some without causing a gap."""
SPARED_UPDATES: Final = 2.0
SPARED_S: Final = 0.5
"""Time of updates that may be missing at the edges of the window, and while a started meter ignores queries."""


@np.errstate(over="ignore", invalid="ignore")
def energy_checks(
    readings: Sequence[Reading], measured: Measurement, energy: Energy | None = None
) -> tuple[Check, ...]:
    """Return every check of one run's energy, passed or not; pass `energy` if it is already computed."""
    inside = measured.inside(readings)
    energy = energy or energy_of(inside, measured)
    return (
        integrator_trapezoid(readings, inside, measured),
        integrator_time(measured),
        integrator_stopped(inside, measured),
        integrator_steps(inside, measured),
        over_range(inside),
        peak_clipping(inside),
        negative_power(inside, measured),
        low_load(inside, measured),
        range_changed(inside, measured),
        reading_gaps(inside, measured),
        unseen_energy(measured, energy),
        no_data(inside, measured),
        accuracy(energy),
        official_meter(measured),
    )


def over_range(inside: Sequence[Reading]) -> Check:
    """`over-range`: no reading is over range."""
    flagged = chosen(inside, column(inside, "over_range"))
    return _flagged("over-range", "over range", "", flagged, len(inside))


def peak_clipping(inside: Sequence[Reading]) -> Check:
    """`peak-clipping`: no reading has a peak flag set."""
    is_voltage = column(inside, "voltage_peak_over")
    is_current = column(inside, "current_peak_over")
    clipped = chosen(inside, is_voltage | is_current)
    return _flagged(
        "peak-clipping",
        "clipped at the peaks",
        ", so the energy reads too low",
        clipped,
        len(inside),
    )


def _flagged(
    code: str, what: str, effect: str, flagged: Sequence[Reading], total: int
) -> Check:
    sentence = (
        f"Readings {what}{effect}: {len(flagged)} of {total}; use a larger range."
        if flagged
        else f"No reading was {what}, of {total} in all."
    )
    first_s = flagged[0].monotonic_s if flagged else None
    figures = {"flagged": len(flagged), "readings": total, "first_monotonic_s": first_s}
    return check(code, not flagged, "error", sentence, **figures)


def negative_power(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`negative-power`: no reading is further below 0 than the meter's error allows."""
    powers_w = column(inside, "power_w")
    finite_w = powers_w[np.isfinite(powers_w)]
    largest_w = float(np.max(np.abs(finite_w), initial=0.0))
    limits = measured.limits and measured.limits.under(measured.setup)
    range_w = power_range_w(measured.setup, limits)

    def noise_w(reading: Reading) -> float:
        apparent = (
            reading.apparent_va
            if math.isfinite(reading.apparent_va)
            else abs(reading.power_w)
        )
        # So close to 0, AC and DC cannot be told apart.
        limit = limit_w(reading.power_w, apparent, range_w, limits, None)
        if limits is None or limit is None:
            return UNKNOWN_NOISE * largest_w
        return limit + own_limit_w(limits.own, reading.power_w)

    below = chosen(inside, np.isfinite(powers_w) & (powers_w < 0))
    negative = [one for one in below if one.power_w < -noise_w(one)]
    least_w = float(finite_w.min()) if len(finite_w) else math.nan
    allowed = "the meter's own error"
    if limits is None:
        allowed = f"{100 * UNKNOWN_NOISE:.0f} % of the largest, as the meter's own error is unknown"
    sentence = (
        f"Negative readings: {len(negative)} of {len(inside)}, down to {least_w:.4g} W; a current clamp or the wires "
        "of an input are reversed."
        if negative
        else f"No reading was negative beyond {allowed}, of {len(inside)} in all."
    )
    figures = {"negative": len(negative), "readings": len(inside), "least_w": least_w}
    first_s = negative[0].monotonic_s if negative else None
    return check(
        "negative-power",
        not negative,
        "error",
        sentence,
        **figures,
        first_monotonic_s=first_s,
    )


def low_load(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`low-load`: mean power is at least 0.5 % of the range (1 % at crest factor 6), and no reading is 0.

    Single readings of 0 are a warning, because most of the energy was measured. A mean below the limit is an error.
    """
    powers_w = column(inside, "power_w")
    is_finite = np.isfinite(powers_w)
    finite = int(np.count_nonzero(is_finite))
    range_w = power_range_w(measured.setup, measured.limits)
    near_w = np.abs(powers_w[is_finite]).tolist()
    mean_w = statistics.fmean(near_w) if finite else math.nan
    least = LEAST_OF_RANGE * measured.setup.crest_factor / 3
    least_w = 0.0 if range_w is None else least * range_w
    shows_zero = (
        (powers_w == 0.0)
        | (column(inside, "voltage_v") == 0.0)
        | (column(inside, "current_a") == 0.0)
    )
    zeros = int(np.count_nonzero(is_finite & shows_zero))
    too_low = mean_w < least_w or zeros == finite > 0
    if too_low:
        share = (
            ""
            if range_w is None
            else f", less than {least:.1%} of the range of {range_w:.4g} W"
        )
        sentence = (
            f"The readings' mean power is {mean_w:.4g} W{share}; a meter shows such signals as 0: use a smaller "
            "range."
        )
    elif zeros:
        sentence = f"Readings that show 0: {zeros} of {len(inside)}; that load is below {least:.1%} of the range."
    else:
        sentence = (
            "The load is large enough for its range."
            if finite
            else "Unknown: no reading carries a power."
        )
    figures = {
        "mean_power_w": mean_w,
        "least_w": least_w,
        "zeros": zeros,
        "readings": len(inside),
    }
    return check(
        "low-load",
        not (too_low or zeros),
        "error" if too_low else "warning",
        sentence,
        **figures,
    )


def reading_gaps(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`reading-gaps`: no pause exceeds three updates and two seconds, and few updates are missed outside gaps."""
    limit_s = measured.longest_pause_s
    times_s = np.sort(column(inside, "monotonic_s"))
    pauses_s = np.diff(times_s, prepend=measured.start_s, append=measured.end_s)
    found_s = pauses_s[pauses_s > limit_s].tolist()
    longest_s = max(found_s, default=0.0)
    # A sensor may wait for its counter's next value, as long as that may take.
    waits_s = 0.0 if measured.limits is None else measured.age_s(inside)
    update_s = measured.setup.update_interval_s + waits_s
    expected = max(measured.elapsed_s - sum(found_s), 0.0) / update_s
    spared = SPARED_UPDATES + SPARED_S / measured.setup.update_interval_s
    missed = len(inside) < LEAST_PART * expected - spared
    sentences = []
    if found_s:
        sentences.append(
            f"Gaps in the readings: {len(found_s)}, {sum(found_s):.1f} s in all, the longest {longest_s:.1f} s."
        )
    if missed:
        sentences.append(
            f"{len(inside)} readings of about {expected:.0f} updates outside gaps: some were missed."
        )
    if not sentences:
        sentences.append(
            f"No pause between readings is longer than {limit_s:.3g} s, and few updates were missed."
        )
    figures = {
        "gaps": len(found_s),
        "longest_s": longest_s,
        "limit_s": limit_s,
        "readings": len(inside),
    }
    ok = not (found_s or missed)
    sentence = " ".join(sentences)
    return check(
        "reading-gaps", ok, "warning", sentence, **figures, expected=round(expected)
    )


def no_data(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`no-data`: every reading has data, except before the meter has had time to measure."""
    # Just after the start the meter has not measured yet, which is normal.
    settled_s = measured.start_s + max(
        2.0 * measured.setup.update_interval_s, TIME_RESOLUTION_S
    )
    powers_w = column(inside, "power_w")
    is_without = np.isnan(powers_w)
    is_later = column(inside, "monotonic_s") > settled_s
    without = int(np.count_nonzero(is_without))
    empty = int(np.count_nonzero(is_without & is_later))
    finite = int(np.count_nonzero(np.isfinite(powers_w)))
    if not finite:
        sentence = f"No reading carries a power, of {len(inside)} in all; the energy cannot be cross-checked."
    elif empty:
        sentence = f"Readings without data: {empty} of {len(inside)}."
    elif without:
        begun_s = settled_s - measured.start_s
        sentence = (
            f"Readings without data: {without} of {len(inside)}, in the first {begun_s:g} s, which a meter may "
            "take to begin."
        )
    else:
        sentence = f"Every reading after the meter's first measurement carries data ({len(inside)} in all)."
    figures = {"empty": empty, "finite": finite, "readings": len(inside)}
    ok = bool(finite) and not empty
    return check("no-data", ok, "warning" if finite else "error", sentence, **figures)


def range_changed(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`range-changed`: the meter had the settings of the run in every reading and at the end."""
    different = [one for one in _unlike(inside, measured) if _differing(one, measured)]
    sentences: list[str] = []
    figures: dict[str, float] = {
        "changes": len(measured.changes),
        "readings": len(different),
    }
    if different:
        first = different[0]
        last = different[-1]
        span = [
            one
            for one in inside
            if first.monotonic_s <= one.monotonic_s <= last.monotonic_s
        ]
        first_s, last_s = (one.monotonic_s - measured.start_s for one in (first, last))
        measured_wh = energy_wh(inside, span)
        found = sorted(
            {words for one in different for words in _differing(one, measured)}
        )
        sentences.append(
            f"From {first_s:.1f} s to {last_s:.1f} s of the window the meter had other settings than those of the "
            f"run ({'; '.join(found)}): {measured_wh:.3g} Wh, drawn at that time, were not measured with the "
            "accuracy of the run's setup."
        )
        figures |= {"first_s": first_s, "last_s": last_s, "measured_wh": measured_wh}
    if measured.changes:
        sentences.append(
            f"At the end the meter had other settings than those of the run: {'; '.join(measured.changes)}."
        )
    sentence = (
        " ".join(sentences)
        or "The meter had the run's settings throughout the run and at its end."
    )
    return check("range-changed", not sentences, "error", sentence, **figures)


def _unlike(inside: Sequence[Reading], measured: Measurement) -> Sequence[Reading]:
    """Return the readings that do not show the very settings of the run; they may be equal but for rounding."""
    setup = measured.setup
    is_unlike = column(inside, "changed") != ""
    if setup.voltage_range_v is not None:
        is_unlike |= column(inside, "voltage_range_v") != setup.voltage_range_v
    if setup.current_range_a is not None:
        is_unlike |= column(inside, "current_range_a") != setup.current_range_a
    return chosen(inside, is_unlike)


def _differing(reading: Reading, measured: Measurement) -> list[str]:
    setup = measured.setup
    ranges = (
        (reading.voltage_range_v, setup.voltage_range_v, "V"),
        (reading.current_range_a, setup.current_range_a, "A"),
    )
    found = [
        f"range {shown:g} {unit} instead of {wanted:g} {unit}"
        for shown, wanted, unit in ranges
        if wanted is not None
        and math.isfinite(shown)
        and not math.isclose(shown, wanted, rel_tol=1e-3)
    ]
    return [*found, *reading.changed.split("; ")] if reading.changed else found


def official_meter(measured: Measurement) -> Check:
    """`official-meter`: the contest accepts results of this meter."""
    standing = measured.standing
    reason = "" if standing is None else standing.reason(measured.official_makers)
    counts = (
        "counts in a contest"
        if measured.official
        else "is unofficial, and leaderboards mark its energy as unofficial"
    )
    sentence = f"The {measured.model} {counts}{f'; {reason}' if reason else ''}."
    return Check("official-meter", measured.official, "warning", sentence)
