"""Computes the mAP of the metric `lpirc` in plain Python: an overlap of half, area under the precision envelope.

The results equal those of `referee score` to the last bit: the same operations in the same order. Crowds are
ignored.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any, Iterable, Sequence

IOU = 0.5


def mean_ap(
    objects: Sequence[tuple[int, int, Sequence[float]]], rows: Iterable[Sequence[float]]
) -> float:
    """Return the mAP of `rows` (image, category, confidence, xmin, ymin, xmax, ymax) for `objects`.

    An object is (image, category, box); corners are inclusive pixels. Categories without objects are ignored; without
    any object the mAP is 0.
    """
    counts = Counter(category for _, category, _ in objects)
    free: Any = defaultdict(list)
    for image, category, box in objects:
        free[image, category].append(box)
    found: dict[float, list[bool]] = {category: [] for category in counts}
    for row in sorted(rows, key=lambda row: (-row[2], row[0])):
        group = row[0], row[1]
        if row[1] in found:
            is_true = _takes(row[3:], free[group])
            found[row[1]].append(is_true)
    averages = [_average(found[category], counts[category]) for category in counts]
    if not averages:
        return 0.0
    return math.fsum(averages) / len(averages)


def _takes(box: Sequence[float], free: list[Sequence[float]]) -> bool:
    """Match the box to the object in `free` that it overlaps most, if enough; return True if it matched."""
    meets = [
        (overlap, -at)
        for at, one in enumerate(free)
        if (overlap := _overlap(box, one)) >= IOU
    ]
    if meets:
        del free[-max(meets)[1]]
    return bool(meets)


def _overlap(one: Sequence[float], other: Sequence[float]) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0]) + 1
    height = min(one[3], other[3]) - max(one[1], other[1]) + 1
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (_area(one) + _area(other) - shared)


def _area(box: Sequence[float]) -> float:
    xmin, ymin, xmax, ymax = box
    return (xmax - xmin + 1) * (ymax - ymin + 1)


def _average(found: Sequence[bool], objects: int) -> float:
    ranks = [rank for rank, is_true in enumerate(found, start=1) if is_true]
    envelope = []
    best = 0.0
    for count, rank in reversed([*enumerate(ranks, start=1)]):
        best = max(best, count / rank)
        envelope.append(best)
    return math.fsum(envelope) / objects
