"""Scores a submission that is too large for one process: match it by blocks of images, then merge by category.

Matching never looks beyond one image. Within a category, detections are ordered by confidence, then image, then
arrival. So concatenating the lists of blocks in ascending image order, and sorting the result stably by confidence,
gives the list of the whole submission.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from lpirc_score.analysis.halves import (
    Category,
    Floats,
    category_average,
    coco_average,
    halves_of,
    ranked_images,
)
from lpirc_score.metrics.coco import CocoCategory, ranked_coco
from lpirc_score.metrics.detection_columns import Detections, refuse_not_finite
from lpirc_score.metrics.offered import COCO, rule_named
from lpirc_score.metrics.ordering import descending
from lpirc_testsets.ground_truth import GroundTruth

AnyCategory = Category | CocoCategory
C = TypeVar("C", bound=AnyCategory)


def match_block(
    ground_truth: GroundTruth,
    rows: Floats,
    metrics: Sequence[str],
) -> list[AnyCategory]:
    """Match the rows (n, 7), in order of arrival, of one block of images, by each metric.

    Returns all categories by the first metric, then all by the second, and so on. The ground truth has all images of
    the set, and the objects of this block. Raises `CodedError` as `evaluate` does.
    """
    by_image = rows[np.argsort(rows[:, 0], kind="stable")]
    found = Detections.from_rows(by_image)
    return [each for metric in metrics for each in _ranked(ground_truth, found, metric)]


def _ranked(
    ground_truth: GroundTruth,
    found: Detections,
    metric: str,
) -> Iterator[AnyCategory]:
    if metric == COCO:
        refuse_not_finite(found)
        return ranked_coco(ground_truth, found, frozenset())
    return ranked_images(
        ground_truth,
        found,
        rule_named(metric),
        frozenset(),
        None,
    )


def merged(parts: Sequence[C]) -> C:
    """Merge the parts of one category; the blocks that the parts come from ascend by image."""
    columns = {}
    for field in fields(parts[0]):
        values = [getattr(part, field.name) for part in parts]
        columns[field.name] = np.concatenate(values)
    whole = type(parts[0])(**columns)
    return _taken(whole, descending(whole.confidence))


def score_category(
    parts: Sequence[AnyCategory],
    metric: str,
    counted: NDArray[np.bool_],
    with_halves: bool,
) -> tuple[float | None, float | None, Floats | None]:
    """Return the APs of one category: on the `counted` (N,) images, on all images, and on halves of the counted ones.

    The first two are None if the category has no objects there. The last, shaped (HALVES,) as in `half_averages`, is
    None unless `with_halves` is set.
    """
    whole = merged(parts)
    is_counted = counted.take(whole.image)
    part = _taken(whole, np.flatnonzero(is_counted))
    ap = _average(part, metric)
    of_all = _average(whole, metric)
    of_halves = None
    if with_halves:
        of_halves = _of_halves(part, metric, len(counted))
    return ap, of_all, of_halves


def _taken(category: C, places: NDArray[np.int64]) -> C:
    """Return the category with only the detections at these ranks, in this order."""
    columns = {}
    for field in fields(category):
        if field.name != "object_images":
            column = getattr(category, field.name)
            columns[field.name] = column.take(places)
    return replace(category, **columns)


def _average(category: AnyCategory, metric: str) -> float | None:
    if isinstance(category, CocoCategory):
        return category.average_precision()
    objects = len(category.object_images)
    ranks = np.flatnonzero(category.is_true) + 1
    if objects:
        return rule_named(metric).average(ranks, objects)
    return None


def _of_halves(
    category: AnyCategory,
    metric: str,
    images: int,
) -> Floats:
    drawn = halves_of(images)
    if isinstance(category, CocoCategory):
        return coco_average(category, drawn)
    return category_average(category, rule_named(metric), drawn)
