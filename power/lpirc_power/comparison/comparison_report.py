"""A comparison in words: one sentence, the figures behind it, and what speaks against it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.comparison.attempts import WHOLE, Compared, Side
from lpirc_power.comparison.ratio import MOST_ATTEMPTS, Ratio
from lpirc_power.report.budget_words import attached_words
from lpirc_power.report.reading_facts import figure, lines

MOST_DIGITS: Final = 2
"""Decimals of a percentage; more mean nothing beside what no budget holds."""


@dataclass(frozen=True)
class Comparison:
    """Two sides, the ratio of their energies, warnings, and the smallest relative difference of interest."""

    first: Side
    second: Side
    ratio: Ratio
    least: float
    is_same_meter: bool
    warnings: Sequence[str] = ()
    energies: Compared = WHOLE

    @property
    def difference_wh(self) -> float:
        """By how much the energy of the second side is larger."""
        return self.ratio.second_wh - self.ratio.first_wh


def sentence(found: Comparison) -> str:
    """Return one sentence: whether a difference is shown, and which."""
    ratio = found.ratio
    name = found.second.name
    if ratio.is_shown is None:
        return (
            f"{name} takes {_change(ratio)} in this attempt; whether that is more than attempts differ among "
            "themselves, a single attempt cannot tell: repeat both, meter record --repeat 5."
        )
    if ratio.is_shown:
        digits = _digits(ratio.half_width)
        least, most = (
            100.0 * (abs(ratio.value - 1.0) + sign * ratio.half_width)
            for sign in (-1, 1)
        )
        ends = f"{least:.{digits}f} to {most:.{digits}f} %"
        return f"{name} takes {_change(ratio)}, interval {ends}{_unknown(ratio)}."
    return f"No difference is shown{_advice(found)}{_unknown(ratio)}."


def _unknown(ratio: Ratio) -> str:
    """Return what an interval lacks that holds no error of a meter."""
    is_unknown = ratio.meter is None
    return " (the meter's errors are unknown and not counted)" if is_unknown else ""


def _digits(half_width: float) -> int:
    """Return the decimals of a percentage that show two digits of the half-width that count."""
    if not half_width > 0:
        return 2
    return min(max(1 - math.floor(math.log10(100.0 * half_width)), 0), MOST_DIGITS)


def _advice(found: Comparison) -> str:
    ratio = found.ratio
    half = ratio.half_width
    if half <= found.least:
        return f"; one of {_percent(half)} would have been"
    more = ratio.more_attempts(found.least)
    if more:
        return (
            f"; {more} more attempts of each would show one of {_percent(found.least)}"
        )
    wanted = _percent(found.least)
    if ratio.meter_half_width > found.least / 2:
        return (
            f", and more attempts alone would not show one of {wanted}: the errors that do not cancel, of the meters "
            f"and of start and stop, are {_percent(ratio.meter_half_width)}; longer recordings make those of start and "
            "stop smaller"
        )
    return f", and {MOST_ATTEMPTS} attempts would not show one of {wanted}"


def _change(ratio: Ratio) -> str:
    relative = ratio.value - 1.0
    word = "less" if relative < 0 else "more"
    digits = _digits(ratio.half_width)
    return f"{100.0 * abs(relative):.{digits}f} % {word}"


def _percent(share: float) -> str:
    percent = 100.0 * share
    return f"{percent:.0f} %" if percent >= 100.0 else f"{percent:.2g} %"


def method(found: Comparison) -> str:
    """Return how the interval was computed, in one sentence."""
    ratio = found.ratio
    if ratio.spread is None and ratio.meter is None:
        return "There is no interval: a single attempt shows no spread, and the meter's errors are unknown."
    if ratio.spread is None:
        how = "The interval holds the meter's errors alone, since a single attempt shows no spread"
    elif ratio.is_paired:
        how = f"Student's t of {ratio.attempts} pairs, {ratio.freedom:g} degrees of freedom"
    else:
        how = f"Welch's t, {ratio.freedom:.3g} degrees of freedom"
    if ratio.meter is None:
        return f"{how}; the meter's errors are unknown and not in it."
    if found.is_same_meter:
        return f"{how}; errors of the meter that both sides share cancel."
    return f"{how}, with the errors of both meters, which do not cancel."


def comparison_facts(found: Comparison) -> dict[str, object]:
    """Return a comparison, ready for JSON."""
    ratio = found.ratio
    half = ratio.half_width
    is_known = bool(ratio.shapes)
    return {
        "sentence": sentence(found),
        "mark": found.energies.mark or None,
        "above_idle": found.energies.is_above_idle,
        "is_shown": ratio.is_shown,
        "ratio": ratio.value,
        "ratio_interval": [ratio.value - half, ratio.value + half]
        if is_known
        else None,
        "difference_wh": found.difference_wh,
        "difference_interval_wh": _interval_wh(found) if is_known else None,
        "level": 0.9545,
        "is_paired": ratio.is_paired,
        "degrees_of_freedom": None if ratio.spread is None else ratio.freedom,
        "is_same_meter_and_setup": found.is_same_meter,
        "meter_half_width": None if ratio.meter is None else ratio.meter_half_width,
        "method": method(found),
        "sides": [_side_facts(one) for one in (found.first, found.second)],
        "warnings": list(found.warnings),
    }


def _interval_wh(found: Comparison) -> list[float]:
    """Return the interval of the difference."""
    half_wh = _half_wh(found)
    return [found.difference_wh - half_wh, found.difference_wh + half_wh]


def _half_wh(found: Comparison) -> float:
    """Return the half-width of the difference's interval: of d = (r - 1) A, from those of r and of A."""
    ratio = found.ratio
    halves_wh = [
        one.budget.coverage_wh or 0.0
        for one in found.first.attempts
        if one.budget is not None
    ]
    of_first_wh = statistics.fmean(halves_wh) if halves_wh else 0.0
    of_ratio_wh = ratio.half_width * ratio.first_wh
    return math.hypot(of_ratio_wh, (ratio.value - 1.0) * of_first_wh)


def _side_facts(side: Side) -> dict[str, object]:
    return {
        "name": side.name,
        "files": [one.file for one in side.recordings],
        "energies_wh": list(side.energies_wh),
        "mean_wh": statistics.fmean(side.energies_wh),
        "coverage_wh": None if side.budget is None else side.budget.coverage_wh,
    }


def comparison_lines(found: Comparison) -> list[str]:
    """Return a comparison as lines for people."""
    ratio = found.ratio
    half = ratio.half_width
    known = bool(ratio.shapes)
    with_half = f" +-{half:.2g}" if known else ""
    half_wh = f" +-{_half_wh(found):.2g} Wh" if known else ""
    rows = {
        found.first.name: _side_words(found.first),
        found.second.name: _side_words(found.second),
        "difference": f"{figure(found.difference_wh, 'Wh', 5)}{half_wh}",
        "ratio": f"{ratio.value:.5g}{with_half}",
        "interval": method(found),
    }
    if found.energies.words:
        rows["energies"] = found.energies.words
    return [
        sentence(found),
        *lines(rows),
        *(f"{'warning':16} {one}" for one in found.warnings),
    ]


def _side_words(side: Side) -> str:
    count = len(side.attempts)
    mean = sum(side.energies_wh) / count
    budget = side.budget
    known = "" if budget is None else f" {attached_words(budget)}"
    if count == 1:
        return f"{figure(mean, 'Wh')}{known}, {side.recordings[0].file}"
    ends = f"{figure(min(side.energies_wh), 'Wh')} to {figure(max(side.energies_wh), 'Wh')}"
    return f"{figure(mean, 'Wh')} on average of {count} attempts{known}, {ends}"
