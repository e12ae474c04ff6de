"""What every metric answers with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Counts:
    """One category's objects that count, detections that found one, and detections that did not."""

    objects: int
    true_positives: int
    false_positives: int


@dataclass(frozen=True)
class Evaluation:
    """The outcome of a metric: `ap` and `counts` by category id, `map` their mean in 0..1, never NaN.

    A category without ground truth has the AP None and is no part of the mean; without any the mean is 0.
    `coco` has no single threshold, so its `iou` is None, its counts are those at IoU .5, and it alone has a
    `summary`: the twelve numbers, None where no object is in the range of areas.
    """

    metric: str
    iou: float | None
    map: float
    ap: dict[int, float | None]
    counts: dict[int, Counts]
    categories_with_ground_truth: int
    images: int
    detections: int
    signature: str
    summary: dict[str, float | None] | None = None


def mean_of_scored(ap: Mapping[int, float | None]) -> tuple[float, int]:
    """Return the mean AP of categories that have one, 0 without any, and how many have."""
    scored = [value for value in ap.values() if value is not None]
    return (math.fsum(scored) / len(scored) if scored else 0.0), len(scored)
