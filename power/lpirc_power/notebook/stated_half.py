"""The half-width of a stated interval as a number, which Python code can compute with."""

from __future__ import annotations

import math

from lpirc_power.energy import Budget


def stated_half_wh(budget: Budget | None) -> float:
    """Return the half-width in Wh of the interval that holds an energy with 95.45 %; NaN if it is unknown."""
    half_wh = None if budget is None else budget.coverage_wh
    return math.nan if half_wh is None else half_wh
