"""Scales of a chart: round steps, and the words at them. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

STEPS: Final = (1.0, 2.0, 5.0, 10.0)
TIME_STEPS_S: Final = (
    1, 2, 5, 10, 15, 30,
    60, 120, 300, 600, 900, 1800,
    3600, 7200, 10_800, 21_600, 43_200, 86_400,
)  # fmt: skip
"""Steps of a time axis that a reader knows from clocks."""
MOST_TICKS: Final = 5
"""Largest number of steps; more do not fit beside each other on a narrow screen."""


@dataclass(frozen=True)
class Scale:
    """A range of values that begins and ends at values of its own, with round ones within it."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """Return where a value lies between low (0) and high (1)."""
        return (value - self.low) / (self.high - self.low)


def value_scale(low: float, high: float) -> Scale:
    """Return a scale from 0, or from a negative `low`, to a round value that is not below `high`."""
    low = min(low, 0.0)
    high = max(high, 0.0)
    if not high > low:
        high = low + 1.0
    step = _round_step((high - low) / MOST_TICKS)
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    ticks = tuple(place * step for place in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def time_scale(begin_s: float, end_s: float) -> Scale:
    """Return a scale of seconds that begins and ends with the recording; its ticks count from its beginning."""
    length_s = end_s - begin_s
    if not length_s > 0:
        length_s = 1.0
    least_s = length_s / MOST_TICKS
    fitting = (one for one in TIME_STEPS_S if one >= least_s)
    step_s = float(next(fitting, 0)) if least_s > 0.5 else 0.0
    step_s = step_s or _round_step(least_s)
    count = math.floor(length_s / step_s + 1e-9)
    ticks = tuple(begin_s + place * step_s for place in range(count + 1))
    return Scale(begin_s, begin_s + length_s, ticks)


def _round_step(least: float) -> float:
    """Return the smallest round step that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in STEPS if step * power >= least * (1.0 - 1e-9))


def duration_words(seconds: float, step_s: float) -> str:
    """Return a time since the beginning, in the unit that suits the steps: "30 s", "1:30 min", "15 min", "2 h"."""
    if step_s < 60 and abs(seconds) < 120:
        return f"{seconds:.6g} s"
    minutes, second = divmod(round(seconds), 60)
    if step_s < 60:
        return f"{minutes}:{second:02} min"
    if step_s < 1800:
        return f"{minutes} min"
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02} h" if step_s < 3600 else f"{hours} h"
