"""A line of small bars: how a value went. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

BARS: Final = "▁▂▃▄▅▆▇█"


def sparkline(points: Iterable[tuple[float, float]], end_s: float, span_s: float, width: int) -> str:
    """Return `width` bars for the `span_s` seconds up to `end_s`, from points of (seconds, value).

    Each bar is the mean of its stretch of time, a blank where it has no finite value. The lowest bar stands for the
    least mean, the highest for the largest; if all are the same, the line is in the middle.
    """
    stretches: list[list[float]] = [[] for _ in range(width)]
    for at_s, value in points:
        place = math.floor((at_s - (end_s - span_s)) / span_s * width)
        if math.isfinite(value) and 0 <= place <= width:
            stretches[min(place, width - 1)].append(value)
    means = [math.fsum(values) / len(values) if values else math.nan for values in stretches]
    finite = [mean for mean in means if math.isfinite(mean)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    return "".join(_bar(mean, low, high) for mean in means)


def _bar(value: float, low: float, high: float) -> str:
    if math.isnan(value):
        return " "
    # Noise in the last digits is no change of power.
    if high - low <= 1e-4 * abs(high):
        return BARS[len(BARS) // 2 - 1]
    return BARS[min(int((value - low) / (high - low) * len(BARS)), len(BARS) - 1)]
