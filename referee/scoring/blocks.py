"""A submission too large for one process: matched by blocks of images, merged and averaged by category.

Matching never looks beyond an image. Within a category detections stand by confidence, then image, then arrival: the
lists of blocks of ascending images, behind each other and sorted stably by confidence, are the list of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets.ground_truth import GroundTruth
from referee.scoring.columns import Detections
from referee.scoring.halves import Category, Floats, category_average, halves_of, ranked_images
from referee.scoring.ordering import descending
from referee.scoring.rules import rule_named


def match_block(ground_truth: GroundTruth, rows: Floats, metrics: Sequence[str]) -> list[Category]:
    """Match the rows (n, 7), in order of arrival, of some images: all categories by the first metric, by the second ...

    The ground truth has all images and the objects of these. Raises `RefereeError` as `evaluate` does.
    """
    found = Detections.from_rows(rows[np.argsort(rows[:, 0], kind="stable")])
    rules = map(rule_named, metrics)
    return [each for rule in rules for each in ranked_images(ground_truth, found, rule, frozenset(), None)]


def merged(parts: Sequence[Category]) -> Category:
    """One category of all blocks, which ascend by image."""
    confidence, image, is_true, object_images = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("confidence", "image", "is_true", "object_images")
    )
    order = descending(confidence)
    return Category(confidence.take(order), image.take(order), is_true.take(order), object_images)


def score_category(
    parts: Sequence[Category], metric: str, counted: NDArray[np.bool_], with_halves: bool
) -> tuple[float | None, float | None, Floats | None]:
    """Return the AP of a category, None without objects: of the images that are `counted` (N,), and of all.

    And that of the former in each half (HALVES,), as `half_averages`, if asked for.
    """
    whole, rule = merged(parts), rule_named(metric)
    which = counted.take(whole.image)
    part = replace(whole, image=whole.image[which], is_true=whole.is_true[which])
    ranks = [np.flatnonzero(each.is_true) + 1 for each in (part, whole)]
    objects = len(whole.object_images)
    ap, of_all = (rule.average(each, objects) if objects else None for each in ranks)
    halves = category_average(part, rule, halves_of(len(counted))) if with_halves else None
    return ap, of_all, halves
