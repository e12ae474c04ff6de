"""Measures how much a mAP that grows over time depends on the order of the images.

A contest serves the images in a secret random order. Any other order of the answered images could have come as well, so
the mAPs in random orders show how far the mAP at a moment lies from its mean by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lpirc_score.analysis.halves import (
    SEED,
    Bools,
    Category,
    Floats,
    category_average,
    mean_of_categories,
    ranked_images,
)
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.metric_kinds import Rule
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]

ORDERS = 100
_LEAST_ORDERS = 20
_MOST_CELLS = 1e8  # a cell is a detection at a moment in an order: about three seconds


def maps_in_other_orders(
    ground_truth: GroundTruth,
    detections: Detections,
    answered: Ints,
    moments: int,
    rule: Rule,
) -> Floats:
    """Return the mAP (moments, R) at each moment, in R random orders of the answered images.

    `answered` (N,) is the moment at which each image is answered, in the order of the image ids; `moments` or more if
    it never is. An order exchanges these moments among the answered images. Raises as `evaluate` does.
    """
    cells = max(1, len(detections) * moments)
    orders = int(np.clip(_MOST_CELLS / cells, _LEAST_ORDERS, ORDERS))
    is_here = _answered_by(answered, moments, orders)
    averages = [
        category_average(one, rule, is_here)
        for one in _categories(ground_truth, detections, rule)
    ]
    maps = mean_of_categories(np.array(averages).reshape(-1, is_here.shape[1]))
    return maps.reshape(moments, orders)


def _answered_by(
    answered: Ints,
    moments: int,
    orders: int,
) -> Bools:
    """Return which images are answered at each moment in each order (N + 1, moments x orders).

    The last row stands for the objects of all images, which count at all moments.
    """
    chance = np.random.default_rng(SEED)
    which = np.flatnonzero(answered < moments)
    is_here = np.zeros((len(answered) + 1, moments, orders), np.bool_)
    is_here[-1] = True
    for order in range(orders):
        since = chance.permutation(answered[which])
        is_here[which, :, order] = since[:, None] <= np.arange(moments)
    return is_here.reshape(len(answered) + 1, -1)


def _categories(
    ground_truth: GroundTruth,
    detections: Detections,
    rule: Rule,
) -> Iterator[Category]:
    """Yield each category with its objects moved to the last row of `_answered_by`."""
    of_all = len(ground_truth.image_ids)
    for one in ranked_images(ground_truth, detections, rule, frozenset(), None):
        objects = np.full_like(one.object_images, of_all)
        yield replace(one, object_images=objects)
