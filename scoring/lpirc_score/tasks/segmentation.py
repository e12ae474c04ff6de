"""Semantic segmentation: a label map for each image; mean IoU, and beside it mean Dice and pixel accuracy.

Goal: the numbers of the official evaluators. With I pixels of a category that are right, P predicted and T true ones,
its IoU is I / (P + T - I) and its Dice 2 I / (P + T), each from the sums over all images. The mean is over the
categories that occur in the truth or in an answer.
Sources: `evalPixelLevelSemanticLabeling.py` of cityscapesScripts and `VOCevalseg.m` of the VOC devkit, which compute
IoU and mean so; Everingham et al., IJCV 2010; Cordts et al., CVPR 2016; for Dice, mDice of mmsegmentation.
Conventions: pixels of the truth whose value is no category are void; what is predicted there does not count. A pixel
without a category in the answer is wrong, and adds to no category. Without an answer no pixel is predicted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lpirc_score.tasks.label_bodies import (
    JSON,
    LARGEST_BODY_BYTES,
    PACKED,
    read_label_maps,
)
from lpirc_score.tasks.label_maps import LabelMap, TrueLabels, places_of
from lpirc_score.tasks.label_overlay import shown_beside
from lpirc_score.tasks.label_png import Labels
from lpirc_score.tasks.task_kinds import Figures, Floats, Ints, SummedTask, Truth
from lpirc_testsets import Category, TestSet
from lpirc_testsets.task_truth import read_label_maps as read_true_maps

MEAN_DICE = "mean Dice"
PIXEL_ACCURACY = "pixel accuracy"

_BYTES = 256


def read_truth(test_set: TestSet) -> Truth:
    """Return the label map of each image. Raises TestSetError if the set has none."""
    return Truth(*read_true_maps(test_set))


def statistics(
    truth: TrueLabels,
    given: LabelMap | None,
    categories: Sequence[Category],
) -> Floats:
    """Return the pixels of one image (3 K,): for each category those that are right, predicted and true."""
    ids = [category.id for category in categories]
    if given is None:
        pixels = np.bincount(places_of(truth, ids).ravel(), minlength=len(ids) + 1)
        found = np.zeros((3, len(ids)))
        found[2] = pixels[: len(ids)]
        return found.ravel()
    labels = given.labels()
    if labels.dtype == np.uint8 and max(ids, default=0) < _BYTES:
        return _of_bytes(truth, labels, ids)
    return _of_places(places_of(truth, ids), places_of(labels, ids), len(ids))


def _of_bytes(
    truth: TrueLabels,
    labels: Labels,
    ids: Sequence[int],
) -> Floats:
    """Count pairs of values, which is faster than `_of_places`; row 0 of the counts is VOID."""
    pairs = truth + 1
    pairs *= _BYTES
    pairs += labels
    counts = np.bincount(pairs.ravel(), minlength=(_BYTES + 1) * _BYTES)
    of_truth = counts.reshape(-1, _BYTES)[1:][[*ids]]
    of_labels = of_truth[:, [*ids]]
    found = [of_labels.diagonal(), of_labels.sum(axis=0), of_truth.sum(axis=1)]
    return np.concatenate(found).astype(np.float64)


def _of_places(
    true: Ints,
    predicted: Ints,
    count: int,
) -> Floats:
    right = true[true == predicted]
    counted = predicted[true < count]
    rows = (right, counted, true.ravel())
    found = [np.bincount(row, minlength=count)[:count] for row in rows]
    return np.concatenate(found).astype(np.float64)


def figures(total: Floats, categories: Sequence[Category]) -> Figures:
    """Return mean IoU, mean Dice and pixel accuracy from the sum of the statistics."""
    right, predicted, true = total.reshape(3, -1)
    both = predicted + true
    occurs = both > 0
    iou = np.full(len(both), np.nan)
    dice = iou.copy()
    np.divide(right, both - right, out=iou, where=occurs)
    np.divide(2 * right, both, out=dice, where=occurs)
    ids = (category.id for category in categories)
    by_category: dict[int, float | None] = dict(zip(ids, iou.tolist(), strict=True))
    for place in np.flatnonzero(~occurs).tolist():
        by_category[categories[place].id] = None
    pixels = float(true.sum())
    accuracy = float(right.sum()) / pixels if pixels else 0.0
    return Figures(
        _mean(iou[occurs].tolist()),
        by_category,
        {MEAN_DICE: _mean(dice[occurs].tolist()), PIXEL_ACCURACY: accuracy},
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


TASK = SummedTask(
    name="segmentation",
    title="Semantic segmentation",
    accuracy="mean IoU",
    category_accuracy="IoU",
    answer="label map",
    answers="label maps",
    content_types=(JSON, PACKED),
    read=read_label_maps,
    read_truth=read_truth,
    show=shown_beside,
    largest_body_bytes=LARGEST_BODY_BYTES,
    source="cityscapesScripts, evalPixelLevelSemanticLabeling; PASCAL VOC, VOCevalseg",
    statistics=statistics,
    figures=figures,
)
