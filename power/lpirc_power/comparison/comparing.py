"""Compares two sides."""

from __future__ import annotations

from lpirc_power.comparison.alike import common_errors, is_same_meter
from lpirc_power.comparison.attempts import WHOLE, Compared, Side
from lpirc_power.comparison.comparison_report import Comparison
from lpirc_power.comparison.difference import Attempts, difference_of
from lpirc_power.comparison.doubts import idle_warnings, in_turn, warnings_of
from lpirc_power.comparison.ratio import ratio_of


def compared(
    first: Side,
    second: Side,
    least: float,
    *,
    is_paired: bool,
    energies: Compared = WHOLE,
) -> Comparison:
    """Return the comparison of two sides."""
    common = common_errors(first, second)
    sides = (_attempts(first), _attempts(second))
    warnings = warnings_of(first, second)
    if energies.is_above_idle:
        warnings += idle_warnings((*first.recordings, *second.recordings))
    if is_paired and not in_turn(first, second):
        warnings.append(
            "By their times the attempts were not made in turn, so --paired compares attempts that do not belong "
            "together."
        )
    return Comparison(
        first=first,
        second=second,
        difference=difference_of(*sides, is_paired=is_paired, common=common),
        ratio=ratio_of(*sides, is_paired=is_paired, common=common),
        least=least,
        is_same_meter=is_same_meter(first, second),
        common=common,
        warnings=warnings,
        energies=energies,
    )


def _attempts(side: Side) -> Attempts:
    return Attempts(side.energies_wh, [one.budget for one in side.attempts])
