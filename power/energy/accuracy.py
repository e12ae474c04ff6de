"""How well a meter of the WT300 family knows an energy (getting-started guides IM WT310-02EN, IM WT310E-02EN). Pure."""

from __future__ import annotations

import math
from typing import Final

from power.errors import MeterError
from power.meter import ALL_ELEMENTS, Setup
from power.wt300.models import model_named

READING_SHARE: Final = 0.001
DC_RANGE_SHARE: Final = 0.002
APPARENT_SHARE: Final = 0.001
"""Limits of error for active power at 45-66 Hz: 0.1 % of the reading, the model's part of the range (0.2 % for DC), and
0.1 % of the apparent power for a low power factor (IM WT310-02EN, IM WT310E-02EN)."""
AUTO_RANGE_LEAST: Final = 0.30
"""Automatic ranging goes down below this part of a range, in volts and in amperes (IM WT310-17EN)."""


def has_limits(model: str) -> bool:
    """Whether a limit of error is known of a model: it is one of the family."""
    try:
        model_named(model)
    except MeterError:
        return False
    return True


def power_range_w(
    setup: Setup, model: str, voltage_v: float = math.nan, current_a: float = math.nan
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
    found_w = volts * amperes * _element_count(setup.element, model)
    return found_w if math.isfinite(found_w) else None


def limit_w(
    power_w: float, apparent_va: float, range_w: float | None, model: str, mode: str = "rms"
) -> float | None:
    """Return the limit of error of an active power: 0.1 % P + range share x P_range + 0.1 % S, in watts.

    Without `range_w` P_range the ranges are taken as the largest that automatic ranging would have stayed in: voltage
    and current both at 30 % of theirs, P_range = S / 0.09, or the smallest of the model. None where nothing tells
    a limit: a figure is NaN or infinite, or the model is not of the family.
    """
    if not (math.isfinite(power_w) and math.isfinite(apparent_va) and has_limits(model)):
        return None
    apparent = max(apparent_va, abs(power_w))  # below the active power it is only noise
    full_scale = _automatic_range_w(apparent, model) if range_w is None else range_w
    return READING_SHARE * abs(power_w) + range_share(model, mode) * full_scale + APPARENT_SHARE * apparent


def relative_uncertainty(
    power_w: float, apparent_va: float, range_w: float | None, model: str, mode: str = "rms"
) -> float | None:
    """Return the meter's limit of error for an energy, relative to it: 0.00626 is +-0.626 %.

    `power_w` and `apparent_va` are means over the run: the limit is linear in them, so that the limit of the energy is
    that of the mean power. None where `limit_w` tells none, or the power is not above 0.
    """
    limit = limit_w(power_w, apparent_va, range_w, model, mode)
    return limit / power_w if limit is not None and power_w > 0 else None


def range_share(model: str, mode: str) -> float:
    """Return the part of the power range in the limit of a meter model ("WT310E") in a mode ("rms", "dc")."""
    return DC_RANGE_SHARE if mode == "dc" else model_named(model).range_share


def _element_count(element: str, model: str) -> int:
    return len(model_named(model).elements) if element == ALL_ELEMENTS and has_limits(model) else 1


def _automatic_range_w(apparent_va: float, model: str) -> float:
    ranges = model_named(model)
    # Crest factor 6 has smaller ones; these hold for both.
    smallest_w = ranges.voltage_ranges_v(3)[0] * ranges.current_ranges_a(3)[0]
    return max(apparent_va / AUTO_RANGE_LEAST**2, smallest_w)
