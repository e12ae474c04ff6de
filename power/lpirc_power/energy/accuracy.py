"""Whether a meter knows an energy well enough: compares and words what `lpirc_power.energy.result` found. Pure."""

from __future__ import annotations

from typing import Final

from lpirc_power.energy.measurement import Check, check
from lpirc_power.energy.result import Energy

LARGEST_UNCERTAINTY: Final = 0.01
"""Above it an energy is not known well enough to rank by; MLPerf Power fails such a run."""
DRIFT_TOLD: Final = 0.1
"""Of a limit of error: a smaller part of it for drift is not worth a word."""


def accuracy(energy: Energy) -> Check:
    """`accuracy`: the meter's limit of error for the energy's mean power is at most 1 % of it.

    A warning with automatic ranges, where the limit is that of the worst ranges they may have chosen.
    """
    # A meter that has limits, but shows no power to apply them to, may not keep them.
    ok = energy.source is None if energy.limit is None else energy.limit <= LARGEST_UNCERTAINTY
    figures: dict[str, float | None] = {
        "uncertainty": energy.limit,
        "limit": LARGEST_UNCERTAINTY,
        "mean_power_w": energy.mean_power_w,
        "mean_apparent_va": energy.mean_apparent_va,
        "range_w": energy.range_w,
        "signal_known": int(energy.signal is not None),
    }
    if energy.drift:  # others have the figures that earlier versions stored
        figures |= {"drift": energy.drift, "ambient_change_c": energy.ambient_change_c}
    return check(
        "accuracy", ok, "warning" if energy.automatic else "error", _sentence(energy, ok=ok), **figures
    )


def _sentence(energy: Energy, *, ok: bool) -> str:
    if energy.limit is None:
        return energy.unknown
    sentence = f"The energy is known within {'at worst ' if energy.automatic else ''}{energy.limit:.3%}"
    sentence += f" by {energy.source}" if energy.source else ""
    if drifts := energy.drift >= DRIFT_TOLD * energy.limit:
        sentence += (
            f", of it {energy.drift:.3%} for {energy.ambient_change_c:g} degrees C of drift since the zero level was "
            f"compensated{f' ({energy.drift_source})' if energy.drift_source else ''}"
        )
    if energy.signal is None:
        sentence += ", the larger limit of AC and DC: the readings do not tell which it is"
    if ok:
        return f"{sentence}."
    advice = "fix the ranges after a ranging run" if energy.automatic else "use smaller ranges"
    if drifts:
        advice += ", and in a steadier temperature state a smaller ambient_change_c"
    return f"{sentence}; that is more than {LARGEST_UNCERTAINTY:.0%}: {advice}."
