"""Measures how much a mAP that grows over time depends on the order of the images.

A contest serves the images in a secret random order. Any other order of the answered images could have come as well, so
the mAPs in random orders show how far the mAP at a moment lies from its mean by chance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lpirc_score.analysis.halves import (
    SEED,
    Category,
    Floats,
    averages_under,
    envelope_of,
    mean_of_categories,
    ranked_images,
)
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.metric_kinds import Rule
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]

ORDERS = 100
_LEAST_ORDERS = 20
_MOST_CELLS = 1e8  # a cell is a detection at a moment in an order
_CELLS_AT_ONCE = 1 << 18


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
    since = _since(answered, moments, orders)
    averages = [
        _averages(one, rule, since, moments)
        for one in ranked_images(ground_truth, detections, rule, frozenset(), None)
    ]
    maps = mean_of_categories(np.array(averages).reshape(-1, moments * orders))
    return maps.reshape(moments, orders)


def _since(
    answered: Ints,
    moments: int,
    orders: int,
) -> Ints:
    """Return the moment at which each image is answered in each order (orders, N); `moments` if it never is."""
    chance = np.random.default_rng(SEED)
    which = np.flatnonzero(answered < moments)
    since = np.full((orders, len(answered)), moments)
    for order in range(orders):
        since[order, which] = chance.permutation(answered[which])
    return since


def _averages(
    category: Category,
    rule: Rule,
    since: Ints,
    moments: int,
) -> Floats:
    """Return the AP (moments, orders) of a category whose objects count at all moments, NaN without objects."""
    orders = len(since)
    objects = len(category.object_images)
    if not objects:
        return np.full((moments, orders), np.nan)
    ap = np.zeros((orders, moments))
    true = np.flatnonzero(category.is_true)
    if not len(true):
        return ap.T
    image = category.image[: true[-1] + 1]
    largest = max(len(image), len(true) * (moments + 1))
    step = max(1, _CELLS_AT_ONCE // largest)
    for first in range(0, orders, step):
        its_since = since[first : first + step, image]
        listed = _listed(its_since, true, moments)
        at_true = its_since[:, true]
        found = at_true[:, None, :] <= np.arange(moments)[:, None]
        # Numpy is fastest if the axis that it accumulates is the last one in memory.
        by_column = found.reshape(-1, len(true)).T
        envelope = envelope_of(listed.reshape(-1, len(true)).T, by_column)
        of_all = np.full(envelope.shape[1], objects)
        reached = averages_under(envelope, by_column, of_all, rule)
        ap[first : first + step] = reached.reshape(-1, moments)
    return ap.T


def _listed(since: Ints, true: Ints, moments: int) -> Floats:
    """Return how many detections are listed up to each true positive (r, moments, T), in each order at each moment.

    `since` (r, n) is the moment of each detection, up to the last of the true positives (T,). Detections are counted
    once, by moment and section, however many moments there are.
    """
    orders = len(since)
    section = np.searchsorted(true, np.arange(since.shape[1]))
    row = np.arange(orders)[:, None] * (moments + 1) + since
    cell = row * len(true) + section
    counts = np.bincount(cell.ravel(), minlength=orders * (moments + 1) * len(true))
    present = counts.reshape(orders, moments + 1, len(true))[:, :moments]
    for moment in range(1, moments):
        present[:, moment] += present[:, moment - 1]
    listed: Floats = np.cumsum(present, axis=2, dtype=np.float64)
    return listed
