"""How much a mAP depends on the choice of test images: a bootstrap over images.

Each resample draws as many images as the test set has, with replacement, and counts objects and detections of an
image as often as it was drawn (Efron 1979; the image is the unit, since what happens inside one image is not
independent). Matching never looks beyond an image, so it is done once; a resample then only weighs the matched
detections.

The convention for copies: those of a detection stand side by side, where the detection stands. `evaluate` does that
with numbered copies of images, except where one image has several detections of one confidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets.ground_truth import GroundTruth
from referee.errors import RefereeError
from referee.scoring.columns import Detections
from referee.scoring.evaluation import ranked_categories
from referee.scoring.groups import group_objects
from referee.scoring.rules import Rule, rule_named

Floats = NDArray[np.float64]
Counts = NDArray[np.uint8]

BOOTSTRAP_METRICS = ("lpirc", "ilsvrc-det")
"""Those whose AP is the area under the envelope and whose ties are broken by image, as a resample needs."""

_CELLS_AT_ONCE = 1 << 22


def bootstrap_samples(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str = "lpirc",
    resamples: int = 1000,
    seed: int = 0,
    blacklist: Iterable[tuple[int, int]] = (),
    iou: float | None = None,
) -> Floats:
    """Return the mAP (R,) of each resample, not yet `centred`; the same for the same seed.

    Raises `RefereeError` as `evaluate` does, and `metric-without-bootstrap`.
    """
    samples = category_samples(ground_truth, detections, metric, resamples, seed, blacklist, iou)
    return mean_of_categories(samples)


def category_samples(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str,
    resamples: int,
    seed: int,
    blacklist: Iterable[tuple[int, int]] = (),
    iou: float | None = None,
) -> Floats:
    """Return the AP (K, R) of each category and resample, in the order of the ids; the same for the same seed.

    It is NaN where the resample has no object of the category. Raises as `bootstrap_samples` does.
    """
    if metric not in BOOTSTRAP_METRICS:
        sentence = f"There is no bootstrap for {metric!r}, only for {', '.join(BOOTSTRAP_METRICS)}."
        raise RefereeError("metric-without-bootstrap", sentence)
    categories = ranked_images(ground_truth, detections, rule_named(metric), frozenset(blacklist), iou)
    drawn = multiplicities(len(ground_truth.image_ids), resamples, seed)
    samples = np.empty((len(ground_truth.category_ids), resamples))
    for ap, category in zip(samples, categories, strict=True):
        ap[:] = resampled_ap(category, drawn)
    return samples


def mean_of_categories(samples: Floats) -> Floats:
    """Return the mAP (R,) of each resample, 0 without objects, from the AP (K, R) of each category."""
    has_objects = ~np.isnan(samples)
    total = np.zeros(samples.shape[1])
    for ap in np.where(has_objects, samples, 0.0):  # in turn: the sum does not depend on how numpy adds
        total += ap
    maps: Floats = total / np.maximum(has_objects.sum(axis=0), 1)
    return maps


def centred(samples: Floats, value: float) -> Floats:
    """Shift the mAPs (R,) of resamples to the mean `value`, the mAP.

    Copies of an image make the precision curve rougher, and the envelope takes the best of what follows: with many
    categories resampled mAPs lie above the mAP by several times their spread. That spread is right: decision 0003.
    """
    moved: Floats = np.clip(samples - samples.mean() + value, 0.0, 1.0)
    return moved


@lru_cache(maxsize=1)
def multiplicities(images: int, resamples: int, seed: int) -> Counts:
    """How often each resample draws each image: whole numbers (images, resamples), which no one may change."""
    chance = np.random.default_rng(seed)
    # No image is ever drawn 256 times: the chance is below 1e-500.
    drawn = np.zeros((images, resamples), np.uint8)
    for resample in range(resamples if images else 0):
        drawn[:, resample] = np.bincount(chance.integers(0, images, images), minlength=images)
    drawn.flags.writeable = False
    return drawn


@dataclass(frozen=True, eq=False)
class Category:
    """By rank, the confidence and image (M,) of the detections of one category that count, and which are true.

    `object_images` are those of its objects, of which `objects` count. Images are places among all.
    """

    confidence: Floats
    image: NDArray[np.uint32]
    is_true: NDArray[np.bool_]
    object_images: NDArray[np.uint32]
    objects: int


def ranked_images(
    ground_truth: GroundTruth,
    detections: Detections,
    rule: Rule,
    banned: frozenset[tuple[int, int]],
    iou: float | None,
) -> Iterator[Category]:
    """Match by a rule: every category in the order of the ids. Raises as `ranked_categories` does."""
    groups = group_objects(ground_truth, ~ground_truth.crowd, banned)
    object_images = groups.images.places(ground_truth.image[groups.objects]).astype(np.uint32)
    object_categories = ground_truth.category[groups.objects]
    images = groups.images.places(detections.image).astype(np.uint32)
    for each in ranked_categories(ground_truth, detections, rule, rule.threshold(iou), banned):
        is_true = np.zeros(len(each.members), np.bool_)
        is_true[each.ranks - 1] = True
        its = detections.confidence[each.members], images[each.members], is_true
        yield Category(*its, object_images[object_categories == each.id], each.objects)


def resampled_ap(category: Category, drawn: Counts) -> Floats:
    """The AP (R,) of a category in each resample, NaN without objects, from how often it draws each image (N, R)."""
    objects = _objects(category, drawn)
    ap = _sums_of_precisions(category, drawn) / np.maximum(objects, 1)
    ap[objects == 0] = np.nan
    return ap


def _objects(category: Category, drawn: Counts) -> Floats:
    images, objects = np.unique(category.object_images, return_counts=True)
    counts: Floats = np.einsum("i,ir->r", objects.astype(np.float64), drawn[images])
    return counts


def _sums_of_precisions(category: Category, drawn: Counts) -> Floats:
    """By resample, the sum of the envelope over all copies of the true positives.

    The copies of one true positive stand side by side: the last of them has the best precision, and all have the same
    envelope. One that is not drawn has at best the precision of the true positive before it: it never raises an
    envelope.
    """
    true = np.flatnonzero(category.is_true)
    sums = np.zeros(drawn.shape[1])
    if len(true) == 0:
        return sums
    image = category.image[: true[-1] + 1]
    for part in _parts(drawn.shape[1], len(image)):
        weights = drawn[image, part]
        listed = np.add.reduceat(weights, np.append(0, true[:-1] + 1), axis=0, dtype=np.uint32)
        found = weights[true]
        precision = np.cumsum(found, axis=0, dtype=np.float64)
        precision /= np.maximum(np.cumsum(listed, axis=0, dtype=np.float64), 1)
        envelope = np.maximum.accumulate(precision[::-1], axis=0)[::-1]
        sums[part] = np.einsum("tr,tr->r", envelope, found)
    return sums


def _parts(resamples: int, rows: int) -> Iterator[slice]:
    size = max(1, _CELLS_AT_ONCE // rows)
    for first in range(0, resamples, size):
        yield slice(first, first + size)
