"""The checks of an energy above idle: no work takes less than none, and the idle time shows the idle power. Pure."""

from __future__ import annotations

import math

from lpirc_power.energy.budget import Budget
from lpirc_power.energy.measurement import Check, check

ABOVE_IDLE = "above-idle"
IDLE_TIME = "idle-time"
LONGER_S = 10.0
"""The idle time to use is a multiple of this."""


def above_idle(net: Budget, idle_w: float) -> Check:
    """`above-idle`: the energy above idle is not below 0 by more than its stated interval.

    `net` is the budget of the energy above idle, in Wh, `idle_w` the idle power. Where the interval is unknown, any
    energy below 0 fails. The check is a warning, since the energy itself does not rest on the idle power. By chance
    alone it fails in about 1 of 44 measurements of a load that takes no more than the idle one.
    """
    half_wh = net.coverage_wh
    ok = not net.energy_wh < -(half_wh or 0.0)
    figures = {"above_idle_wh": net.energy_wh, "half_wh": half_wh, "idle_w": idle_w}
    sentence = _sentence(net.energy_wh, half_wh, idle_w, ok=ok)
    return check(ABOVE_IDLE, ok, "warning", sentence, **figures)


def _sentence(
    energy_wh: float, half_wh: float | None, idle_w: float, *, ok: bool
) -> str:
    if ok:
        return "The energy above idle is not below 0 by more than its interval."
    interval = "and its interval is unknown"
    if half_wh is not None:
        interval = f"more than its interval of +-{half_wh:.2g} Wh"
    return (
        f"The energy above idle is {energy_wh:.3g} Wh, below 0, {interval}: while the idle power of {idle_w:.4g} W "
        "was measured, the load was not idle, or it was another one. Let nothing run during --idle, and record again."
    )


def idle_time(lasted_s: float, needed_s: float) -> Check:
    """`idle-time`: the idle power was measured for long enough for its readings to show how uncertain it is.

    `needed_s` is what `correlated_mean` asks for, in s, as is `lasted_s`. The check is a warning, as `above-idle` is.
    By chance alone it fails in up to 3 % of measurements of 10 to 30 independent readings, less with more.
    """
    ok = not needed_s > lasted_s
    sentence = "The idle power was measured for long enough for what its readings show."
    if not ok:
        longer_s = LONGER_S * math.ceil(needed_s / LONGER_S)
        sentence = (
            f"The idle power changes too slowly to be known from {lasted_s:.3g} s: consecutive readings are alike, and "
            f"the interval above idle may be too narrow. Use --idle {longer_s:.0f} or longer."
        )
    figures = {"lasted_s": lasted_s, "needed_s": needed_s}
    return check(IDLE_TIME, ok, "warning", sentence, **figures)
