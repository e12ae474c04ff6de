"""Checks of an energy's accuracy, based on the limits that `lpirc_power.energy.measured_energy` computes. Pure."""

from __future__ import annotations

import math
from typing import Final

from lpirc_power.energy.measured_energy import Energy
from lpirc_power.energy.measurement import Check, Measurement, Severity, check
from lpirc_power.energy.unseen import LATE_S

LARGEST_UNCERTAINTY: Final = 0.01
"""Largest limit of error at which energies can be ranked; MLPerf Power fails a run above it."""
MOST_UNSEEN: Final = 0.5
"""Largest unseen part of the window; above it, the readings allow no conclusion about the rest."""
SPARED_S: Final = 5.0
"""Unseen time that is always allowed, even in a window of a few seconds; a cable pulled once takes no longer."""
LEAST_TOLD_WH: Final = 1e-9
"""Least energy worth mentioning; anything less is rounding."""
DRIFT_TOLD: Final = 0.1
"""Least share of the limit of error at which drift is mentioned."""


def accuracy(energy: Energy) -> Check:
    """`accuracy`: the meter's limit of error at the mean power is at most 1 % of the energy.

    The check is a warning with automatic ranges: the limit then assumes the worst ranges they may have chosen.
    """
    # A meter with limits that shows no power to apply them to may be outside its limits.
    ok = (
        energy.source is None
        if energy.meter_limit is None
        else energy.meter_limit <= LARGEST_UNCERTAINTY
    )
    figures: dict[str, float | None] = {
        "uncertainty": energy.meter_limit,
        "limit": LARGEST_UNCERTAINTY,
        "mean_power_w": energy.mean_power_w,
        "mean_apparent_va": energy.mean_apparent_va,
        "range_w": energy.range_w,
        "signal_known": int(energy.signal is not None),
    }
    if energy.drift:  # others have the figures that earlier versions stored
        figures |= {"drift": energy.drift, "ambient_change_c": energy.ambient_change_c}
    return check(
        "accuracy",
        ok,
        "warning" if energy.automatic else "error",
        _sentence(energy, ok=ok),
        **figures,
    )


def _sentence(energy: Energy, *, ok: bool) -> str:
    if energy.meter_limit is None:
        return energy.unknown
    at_worst = "at worst " if energy.is_at_worst else ""
    sentence = f"The meter's limit of error is {at_worst}{energy.meter_limit:.3%} of the energy"
    sentence += f" by {energy.source}" if energy.source else ""
    if drifts := energy.drift >= DRIFT_TOLD * energy.meter_limit:
        sentence += (
            f", including {energy.drift:.3%} of drift for {energy.ambient_change_c:g} degrees C since the zero "
            "level was "
            f"compensated{f' ({energy.drift_source})' if energy.drift_source else ''}"
        )
    if energy.is_larger_of_two:
        sentence += ", the larger limit of AC and DC, since the readings do not show which of both it is"
    if ok:
        return f"{sentence}."
    advice = "use smaller ranges"
    if energy.is_at_worst:
        advice = "fix the ranges after a ranging run"
    elif not energy.depends_on_ranges:
        advice = "it depends on no range, so only a more exact meter has less"
    if drifts:
        advice += (
            ", and if the temperature is steadier, write a smaller ambient_change_c"
        )
    return f"{sentence}; that is more than {LARGEST_UNCERTAINTY:.0%}: {advice}."


def unseen_energy(measured: Measurement, energy: Energy) -> Check:
    """`unseen-energy`: the energy that no reading covers may be wrong by at most the meter's limit of error.

    The check is a warning with automatic ranges, which change unseen by themselves, and for a meter without known
    limits, which may have no ranges. It is an error if a meter without ranges counted less than the least power takes.
    Where the limit of error is not known, LARGEST_UNCERTAINTY is used.
    In addition, the check allows for the delay of a reading after its update, and for the time that starting and
    stopping took, each at the largest power. At least half of the window must be covered by readings.
    """
    unseen = energy.unseen
    if math.isnan(unseen.most_w):
        return check(
            "unseen-energy", False, "error", "Unknown: no reading carries a power."
        )
    edges_s = (
        min(measured.setup.update_interval_s, LATE_S) + measured.start_stop_at_most_s
    )
    limit = LARGEST_UNCERTAINTY if energy.meter_limit is None else energy.meter_limit
    allowed_wh = (
        limit * abs(energy.energy_wh) + max(unseen.most_w, 0.0) * edges_s / 3600.0
    )
    ok = unseen.off_wh <= allowed_wh and unseen.lasted_s <= max(
        MOST_UNSEEN * measured.elapsed_s, SPARED_S
    )
    figures = {
        "stretches": len(unseen.stretches),
        "unseen_s": unseen.lasted_s,
        "off_wh": unseen.off_wh,
    }
    sentence = _unseen_sentence(measured, energy, allowed_wh, ok=ok)
    is_open = energy.automatic or energy.source is None
    severity: Severity = "warning" if is_open else "error"
    is_told = not ok and not measured.is_before_budgets
    if is_told and _lacks_energy(energy, allowed_wh):
        severity = "error"
        sentence += (
            " WH rose by less than the least power that was read takes: its counter may have begun anew, or the load "
            "was off."
        )
    return check(
        "unseen-energy", ok, severity, sentence, **figures, allowed_wh=allowed_wh
    )


def _lacks_energy(energy: Energy, allowed_wh: float) -> bool:
    """Return True if a meter without ranges, which change nothing unseen, counted too little while it was not seen."""
    unseen = energy.unseen
    lacking_wh = math.fsum(
        max(-one.bounds_wh(unseen.least_w, unseen.most_w)[1], 0.0)
        for one in unseen.stretches
    )
    return not energy.has_ranges and lacking_wh > allowed_wh


def _unseen_sentence(
    measured: Measurement, energy: Energy, allowed_wh: float, *, ok: bool
) -> str:
    unseen = energy.unseen
    if not unseen.stretches:
        return "Readings with data cover the whole window."
    first_s = unseen.stretches[0].begin_s - measured.start_s
    times = (
        f"{len(unseen.stretches)} times, the first"
        if len(unseen.stretches) > 1
        else "once,"
    )
    sentence = f"{unseen.lasted_s:.1f} s of the window were not seen ({times} at {first_s:.1f} s)"
    if unseen.blind:
        sentence += f", {unseen.blind} updates carried no data"
    off_wh = unseen.off_wh
    share = f" ({energy.unseen_share:.1%})" if energy.energy_wh else ""
    told_wh = 0.0 if off_wh < LEAST_TOLD_WH else off_wh
    sentence += f": the energy may be off by up to {told_wh:.3g} Wh{share} there"
    if ok:
        return f"{sentence}, within the {allowed_wh:.3g} Wh that are allowed."
    if off_wh <= allowed_wh:
        return f"{sentence} according to the readings, but these cover less than half of the window."
    return f"{sentence}, more than the {allowed_wh:.3g} Wh that are allowed."
