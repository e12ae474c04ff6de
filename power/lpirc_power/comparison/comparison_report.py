"""A comparison in words: one sentence, the figures behind it, and what speaks against it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.comparison.attempts import WHOLE, Compared, Side
from lpirc_power.comparison.difference import MOST_ATTEMPTS, Difference
from lpirc_power.comparison.ratio import Ratio
from lpirc_power.energy.common_error import Common
from lpirc_power.report.budget_words import attached_words
from lpirc_power.report.reading_facts import figure, json_ready, lines
from lpirc_power.report.rounded import with_half_width

MOST_DIGITS: Final = 2
"""Decimals of a percentage; more mean nothing beside what no budget holds."""


NAMES_OF_LINES: Final = (
    "difference", "ratio", "interval", "energies", "warning", "page",
)  # fmt: skip
"""First words of the lines beside those of both sides."""


def wrong_names(names: Sequence[str]) -> str:
    """Return why two sides cannot be called so, as a clause; empty if they can."""
    if len(set(names)) < len(names) or not all(map(str.strip, names)):
        return "give two names that differ"
    for name in names:
        if name.strip().lower() in NAMES_OF_LINES:
            return f"{name!r} begins another line of the result; call that side differently"
    return ""


@dataclass(frozen=True)
class Comparison:
    """Two sides, the difference and the ratio of their energies, and the smallest relative difference of interest.

    `common` are the errors of the meter that cancel, since both sides have them in common.
    """

    first: Side
    second: Side
    difference: Difference
    ratio: Ratio
    least: float
    is_same_meter: bool
    common: Common
    warnings: Sequence[str] = ()
    energies: Compared = WHOLE

    @property
    def first_wh(self) -> float:
        """The mean energy of the first side."""
        return self.first.mean_wh


def sentence(found: Comparison) -> str:
    """Return one sentence: whether a difference is shown, and which."""
    difference = found.difference
    name = found.second.name
    if difference.spread_wh is None:
        return (
            f"{name} takes {_change(found)} in this attempt; whether that is more than attempts differ among "
            "themselves, a single attempt cannot tell: repeat both, meter record --repeat 5."
        )
    if not difference.is_known:
        return (
            f"{name} takes {_change(found)}; whether that is more than attempts differ among themselves, attempts that "
            "repeat each other to the last digit cannot tell."
        )
    if difference.unknown:
        return _open_sentence(found)
    if difference.is_shown:
        return f"{name} takes {_change(found)}, interval {_shown_ends(found)}."
    return (
        f"No difference is shown: {name} takes {_hidden_ends(found)}{_advice(found)}."
    )


def _open_sentence(found: Comparison) -> str:
    """Return the sentence while an error is unknown: nothing is shown then, whatever the known ones leave."""
    difference = found.difference
    change = _hidden_ends(found)
    if difference.is_beyond:
        change = f"{_change(found)}, interval {_shown_ends(found)}"
    return (
        f"No difference is shown, since {_unknown(difference)}. By the known errors alone, {found.second.name} would "
        f"take {change}."
    )


def _shown_ends(found: Comparison) -> str:
    """Return the ends of an interval that does not hold 0, as percentages without a sign, the smaller one first."""
    digits = _digits(found)
    low, high = sorted(abs(end - 1.0) for end in (found.ratio.low, found.ratio.high))
    if math.isinf(high):
        return f"{100.0 * low:.{digits}f} % or more"
    return f"{100.0 * low:.{digits}f} to {100.0 * high:.{digits}f} %"


def _hidden_ends(found: Comparison) -> str:
    digits = _digits(found)
    less = 100.0 * (1.0 - found.ratio.low)
    more = 100.0 * (found.ratio.high - 1.0)
    upper = "any amount" if math.isinf(more) else f"{more:.{digits}f} %"
    return f"from {less:.{digits}f} % less to {upper} more"


def _unknown(difference: Difference) -> str:
    """Return which errors are unknown."""
    names = difference.unknown
    are = "is" if len(names) == 1 else "are"
    return f"{', '.join(names)} {are} unknown"


def _digits(found: Comparison) -> int:
    """Return the decimals of a percentage that show two digits of the half-width that count."""
    half = found.difference.half_wh / found.first_wh
    if not half > 0:
        return 2
    return min(max(1 - math.floor(math.log10(100.0 * half)), 0), MOST_DIGITS)


def _advice(found: Comparison) -> str:
    difference = found.difference
    least_wh = found.least * found.first_wh
    if difference.half_wh <= least_wh:
        return ""
    more = difference.more_attempts(least_wh)
    wanted = f"+-{_percent(found.least)}"
    if more:
        return f"; {more} more attempts of each would narrow that to {wanted}"
    if difference.meter_half_wh > least_wh / 2:
        rest = _percent(difference.meter_half_wh / found.first_wh)
        return (
            f"; more attempts alone would not narrow that to {wanted}: the errors that do not cancel, of the meters "
            f"and of start and stop, are +-{rest}; longer recordings make those of start and stop smaller"
        )
    return f"; {MOST_ATTEMPTS} attempts would not narrow that to {wanted}"


def _change(found: Comparison) -> str:
    relative = found.ratio.value - 1.0
    word = "less" if relative < 0 else "more"
    return f"{100.0 * abs(relative):.{_digits(found)}f} % {word}"


def _percent(share: float) -> str:
    percent = 100.0 * share
    return f"{percent:.0f} %" if percent >= 100.0 else f"{percent:.2g} %"


def method(found: Comparison) -> str:
    """Return how the interval was computed, in one sentence."""
    difference = found.difference
    if not difference.is_known:
        is_single = difference.spread_wh is None
        who = "a single attempt shows" if is_single else "the attempts show"
        return f"There is no interval: {who} no spread, and {_unknown(difference)}."
    if difference.spread_wh is None:
        known = "known errors" if difference.unknown else "meter's errors"
        how = f"The interval holds the {known} alone, since a single attempt shows no spread"
    elif difference.is_paired:
        how = f"Student's t of {difference.attempts} pairs, {difference.freedom:g} degrees of freedom"
    else:
        how = f"Welch's t, {difference.freedom:.3g} degrees of freedom"
    if difference.unknown:
        return f"{how}; {_unknown(difference)} and not in it."
    return f"{how}{_what_cancels(found)}."


def _what_cancels(found: Comparison) -> str:
    if found.common is Common.ALL:
        return "; errors of the meter that both sides share cancel, since their loads are alike"
    if found.common is Common.READING:
        return "; of the meter's errors that of the reading cancels, the others may be others at each of the loads"
    of = "the meter" if found.is_same_meter else "both meters"
    return f", with the errors of {of}, which do not cancel"


def comparison_facts(found: Comparison) -> dict[str, object]:
    """Return a comparison, ready for JSON. An end of the ratio's interval that is infinite is null."""
    difference = found.difference
    value_wh = difference.value_wh
    half_wh = difference.half_wh
    is_known = difference.is_known
    ends = [json_ready(found.ratio.low), json_ready(found.ratio.high)]
    return {
        "sentence": sentence(found),
        "mark": found.energies.mark or None,
        "above_idle": found.energies.is_above_idle,
        "is_shown": difference.is_shown,
        "ratio": found.ratio.value,
        "ratio_interval": ends if is_known else None,
        "difference_wh": value_wh,
        "difference_interval_wh": [value_wh - half_wh, value_wh + half_wh]
        if is_known
        else None,
        "level": 0.9545,
        "is_paired": difference.is_paired,
        "degrees_of_freedom": None
        if difference.spread_wh is None
        else difference.freedom,
        "is_same_meter_and_setup": found.is_same_meter,
        "cancels": found.common.value,
        "meter_half_width_wh": None if difference.unknown else difference.meter_half_wh,
        "unknown": list(difference.unknown),
        "method": method(found),
        "sides": [_side_facts(one) for one in (found.first, found.second)],
        "warnings": list(found.warnings),
    }


def _side_facts(side: Side) -> dict[str, object]:
    return {
        "name": side.name,
        "files": [one.file for one in side.recordings],
        "energies_wh": list(side.energies_wh),
        "mean_wh": side.mean_wh,
        "coverage_wh": None if side.budget is None else side.budget.coverage_wh,
    }


def comparison_lines(found: Comparison) -> list[str]:
    """Return a comparison as lines for people."""
    difference = found.difference
    half_wh = difference.half_wh if difference.is_known else None
    rows = {
        found.first.name: _side_words(found.first),
        found.second.name: _side_words(found.second),
        "difference": with_half_width(difference.value_wh, half_wh, "Wh"),
        "ratio": ratio_words(found),
        "interval": method(found),
    }
    if found.energies.words:
        rows["energies"] = found.energies.words
    return [
        sentence(found),
        *lines(rows),
        *(f"{'warning':16} {one}" for one in found.warnings),
    ]


def ratio_words(found: Comparison) -> str:
    """Return the ratio of the energies with the ends of its interval, if it has one."""
    ratio = found.ratio
    if not found.difference.is_known:
        return f"{ratio.value:.5g}"
    upper = "no end" if math.isinf(ratio.high) else f"{ratio.high:.5g}"
    return f"{ratio.value:.5g}, {ratio.low:.5g} to {upper}"


def _side_words(side: Side) -> str:
    count = len(side.attempts)
    budget = side.budget
    known = "" if budget is None else f" {attached_words(budget)}"
    if count == 1:
        return f"{figure(side.mean_wh, 'Wh')}{known}, {side.recordings[0].file}"
    ends = f"{figure(min(side.energies_wh), 'Wh')} to {figure(max(side.energies_wh), 'Wh')}"
    return f"{figure(side.mean_wh, 'Wh')} on average of {count} attempts{known}, {ends}"
