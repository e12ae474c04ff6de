"""The mAP of the metric `lpirc`, in plain Python: boxes that overlap by half, area under the precision envelope.

The numbers are those of `referee score`, to the last bit: the same operations in the same order. Crowds are no objects.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

IOU = 0.5


def mean_ap(objects: Iterable[tuple[int, int, Sequence[float]]], rows: Iterable[Sequence[float]]) -> float:
    """Return the mAP of `rows` (image, category, confidence, xmin, ymin, xmax, ymax) for `objects`.

    An object is (image, category, box); corners are inclusive pixels. Categories without objects do not count;
    without any object it is 0.
    """
    free: dict[tuple[int, int], list[Sequence[float]]] = {}
    counts: dict[int, int] = {}
    for image, category, box in objects:
        free.setdefault((image, category), []).append(box)
        counts[category] = counts.get(category, 0) + 1
    found: dict[float, list[bool]] = {category: [] for category in counts}
    for row in sorted(rows, key=lambda row: (-row[2], row[0])):
        if row[1] in found:
            found[row[1]].append(_takes(row[3:], free.get((int(row[0]), int(row[1])), [])))
    averages = [_average(found[category], objects) for category, objects in counts.items()]
    return math.fsum(averages) / len(averages) if averages else 0.0


def _takes(box: Sequence[float], free: list[Sequence[float]]) -> bool:
    """Take the free object that the box overlaps most, the first of equal ones, if it overlaps one enough."""
    meets = [(overlap, -at) for at, one in enumerate(free) if (overlap := _overlap(box, one)) >= IOU]
    if meets:
        del free[-max(meets)[1]]
    return bool(meets)


def _overlap(detected: Sequence[float], object_: Sequence[float]) -> float:
    width = min(detected[2], object_[2]) - max(detected[0], object_[0]) + 1
    height = min(detected[3], object_[3]) - max(detected[1], object_[1]) + 1
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (_area(detected) + _area(object_) - shared)


def _area(box: Sequence[float]) -> float:
    return (box[2] - box[0] + 1) * (box[3] - box[1] + 1)


def _average(found: Sequence[bool], objects: int) -> float:
    ranks = [rank for rank, is_true in enumerate(found, start=1) if is_true]
    envelope, best = [], 0.0
    for count, rank in reversed([*enumerate(ranks, start=1)]):
        envelope.append(best := max(best, count / rank))
    return math.fsum(envelope) / objects
