"""Uncertainties as text: two digits that count, and as many decimals in the value (JCGM 100, 7.2.6)."""

from __future__ import annotations

import math
from typing import Final

from lpirc_power.report.reading_facts import figure

COUNTED: Final = 2
MOST_DECIMALS: Final = 12
LONGEST: Final = 1e12
"""A number from which on, or with more decimals than these, a power of ten is easier to read."""


def decimals_of(half_width: float) -> int:
    """Return how many decimals two digits of a half-width above 0 need; below 0 for whole tens."""
    return 1 - int(f"{half_width:.1e}".partition("e")[2])


def half_text(half_width: float) -> str:
    """Return a half-width as a number of two digits that count."""
    if not half_width > 0 or not math.isfinite(half_width):
        return f"{half_width:.2g}"
    decimals = decimals_of(half_width)
    if decimals > MOST_DECIMALS or half_width >= LONGEST:
        return f"{half_width:.2g}"
    return _fixed(half_width, decimals)


def half_words(half_width: float, unit: str) -> str:
    """Return a half-width for a terminal: "+-0.0034 Wh"."""
    return f"+-{half_text(half_width)} {unit}"


def percent_words(relative: float | None) -> str:
    """Return a half-width relative to its value: "+-7.3 %"; empty if it is unknown, or more than the value itself."""
    if relative is None or not relative <= 1.0:
        return ""
    return half_words(100.0 * relative, "%")


def cost_words(share: float) -> str:
    """Return what something may cost, as a part of an energy: "8.1 % of its energy"."""
    if not share <= 1.0:
        return "more than its energy"
    return f"{half_text(100.0 * share)} % of its energy"


def accuracy_words(relative: float | None, value: float, unit: str) -> str:
    """Return a limit of error in words: "+-8.4 % (+-0.0039 Wh)"; in its unit alone if it is more than the value."""
    if relative is None:
        return "unknown"
    absolute = half_words(abs(value) * relative, unit)
    percent = percent_words(relative)
    return f"{percent} ({absolute})" if percent else absolute


def with_half_width(value: float, half_width: float | None, unit: str) -> str:
    """Return a value and its half-width, for a terminal: "0.0463 +- 0.0034 Wh"; the value alone if that is unknown."""
    if half_width is None or not 0 < half_width < math.inf:
        return figure(value, unit)
    if not math.isfinite(value):
        return figure(value, unit)
    decimals = decimals_of(half_width)
    shown = _fixed(value, decimals)
    if decimals > MOST_DECIMALS or max(abs(value), half_width) >= LONGEST:
        shown = figure(value)
    return f"{shown} +- {half_text(half_width)} {unit}"


def _fixed(value: float, decimals: int) -> str:
    return f"{round(value, decimals):.{max(decimals, 0)}f}"
