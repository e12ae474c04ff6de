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
from referee.scoring.bootstrap import Category, Floats, multiplicities, ranked_images, resampled_ap
from referee.scoring.columns import Detections
from referee.scoring.ordering import descending
from referee.scoring.rules import rule_named

Bools = NDArray[np.bool_]


def match_block(ground_truth: GroundTruth, rows: Floats, metric: str, first_image: int) -> list[Category]:
    """Match the rows (n, 7), in order of arrival, of a block of images by a metric with one IoU threshold.

    `first_image` is the place of the block's first image among all. Raises `RefereeError` as `evaluate` does.
    """
    rule = rule_named(metric)
    detections = Detections.from_rows(rows[np.argsort(rows[:, 0], kind="stable")])
    return [
        replace(
            each,
            image=(each.image + first_image).astype(np.uint32),
            object_images=(each.object_images + first_image).astype(np.uint32),
        )
        for each in ranked_images(ground_truth, detections, rule, frozenset(), None)
    ]


def merged(parts: Sequence[Category]) -> Category:
    """One category of all blocks, which ascend by image."""
    confidence, image, is_true, object_images = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("confidence", "image", "is_true", "object_images")
    )
    order = descending(confidence)
    objects = sum(part.objects for part in parts)
    return Category(confidence.take(order), image.take(order), is_true.take(order), object_images, objects)


def score_category(
    parts: Sequence[Category], metric: str, counted: Sequence[Bools], resamples: int, seed: int
) -> tuple[list[float | None], Floats]:
    """Return the AP of a category by each choice of images whose detections count (N,), None without objects.

    And by the first choice its AP in each resample (R,), as `category_samples`.
    """
    whole, rule = merged(parts), rule_named(metric)
    its = [which.take(whole.image) for which in counted]
    ranks = [np.flatnonzero(whole.is_true[which]) + 1 for which in its]
    aps = [rule.average(each, whole.objects) if whole.objects else None for each in ranks]
    first = replace(whole, image=whole.image[its[0]], is_true=whole.is_true[its[0]])
    return aps, resampled_ap(first, multiplicities(len(counted[0]), resamples, seed))
