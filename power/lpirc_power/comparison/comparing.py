"""Compares two sides."""

from __future__ import annotations

from lpirc_power.comparison.attempts import (
    Side,
    in_turn,
    is_same_meter,
    warnings_of,
)
from lpirc_power.comparison.comparison_report import Comparison
from lpirc_power.comparison.ratio import Attempts, ratio_of


def compared(first: Side, second: Side, least: float, *, is_paired: bool) -> Comparison:
    """Return the comparison of two sides."""
    same = is_same_meter(first, second)
    ratio = ratio_of(
        _attempts(first), _attempts(second), is_paired=is_paired, is_same_meter=same
    )
    warnings = warnings_of(first, second)
    is_alternating = in_turn(first, second)
    if is_paired and not is_alternating:
        warnings.append(
            "By their times the attempts were not made in turn, so --paired compares attempts that do not belong "
            "together."
        )
    return Comparison(first, second, ratio, least, same, warnings)


def _attempts(side: Side) -> Attempts:
    budgets = [one.budget for one in side.attempts]
    return Attempts(side.energies_wh, [one for one in budgets if one is not None])
