"""How well a meter knows an energy, from what its maker states. Pure."""

from __future__ import annotations

import math
from typing import Final

from power.meter import ALL_ELEMENTS, Limits, Setup

AUTO_RANGE_LEAST: Final = 0.30
"""Automatic ranging goes down below this part of a range, in volts and in amperes (IM WT310-17EN)."""


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


def limit_w(
    power_w: float, apparent_va: float, range_w: float | None, limits: Limits | None, mode: str = "rms"
) -> float | None:
    """Return the limit of error of an active power: shares of the reading, the range and the apparent power, in watts.

    Without `range_w` the ranges are taken as the largest that automatic ranging would have stayed in: voltage
    and current both at 30 % of theirs, so S / 0.09, or the smallest of the model. None where the limit is not known:
    a figure is NaN or infinite, or nothing is known of the model.
    """
    if limits is None or not (math.isfinite(power_w) and math.isfinite(apparent_va)):
        return None
    apparent = max(apparent_va, abs(power_w))  # below the active power it is only noise
    automatic_w = max(apparent / AUTO_RANGE_LEAST**2, limits.smallest_range_w)
    share = limits.dc_range_share if mode == "dc" else limits.range_share
    full_scale = share * (automatic_w if range_w is None else range_w)
    return limits.reading_share * abs(power_w) + full_scale + limits.apparent_share * apparent


def relative_uncertainty(
    power_w: float, apparent_va: float, range_w: float | None, limits: Limits | None, mode: str = "rms"
) -> float | None:
    """Return the meter's limit of error for an energy, relative to it: 0.00626 is +-0.626 %.

    `power_w` and `apparent_va` are means over the run: the limit is linear in them, so the limit of the energy is that
    of the mean power. None where `limit_w` is None, or the power is not above 0.
    """
    limit = limit_w(power_w, apparent_va, range_w, limits, mode)
    return limit / power_w if limit is not None and power_w > 0 else None
