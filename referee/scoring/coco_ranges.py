"""The settings of the COCO metric, and its twelve summary numbers out of precisions and recalls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

IOUS = np.linspace(0.5, 0.95, 10)
RECALLS = np.linspace(0.0, 1.0, 101)
MOST = (1, 10, 100)
"""At most that many detections per image and category."""

AREAS = {
    "all": (0.0, 1e5**2),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e5**2),
}
"""Ranges of areas in square pixels, both ends inside."""

AT_50 = 0
AT_75 = 5


@dataclass(frozen=True, eq=False)
class AreaResult:
    """One range of areas: `precision` (T, K) by IoU and category, the mean over the recalls; `recall` by MOST.

    A category without objects in the range is NaN.
    """

    precision: Floats
    recall: Mapping[int, Floats]


def outside(area: Floats, name: str) -> NDArray[np.bool_]:
    """Tell which areas (M,) lie outside a range of AREAS."""
    least, most = AREAS[name]
    return (area < least) | (area > most)


def summarize(results: Mapping[str, AreaResult]) -> dict[str, float | None]:
    """Return the twelve numbers, each a mean over IoUs and categories with objects in the range, or None."""
    everything = results["all"]
    ranges = ("small", "medium", "large")
    means = {
        "AP": everything.precision,
        "AP50": everything.precision[AT_50],
        "AP75": everything.precision[AT_75],
        **{f"AP{name}": results[name].precision for name in ranges},
        **{f"AR{most}": everything.recall[most] for most in MOST},
        **{f"AR{name}": results[name].recall[MOST[-1]] for name in ranges},
    }
    return {name: _mean(values) for name, values in means.items()}


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.mean(known)) if len(known) else None
