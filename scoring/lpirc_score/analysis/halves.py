"""Measures how much a mAP depends on the choice of test images, by computing it on random halves of them.

Each pair of halves splits the images without replacement: the halves share no image, so they differ as two independent
sets of that size do. The unit is the image, since detections in one image are not independent. Matching never looks
beyond an image, so it is done once; a half only selects from the matched detections.

The results are the same on every machine: the halves are drawn with integer arithmetic, and sums have a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.coco import CocoCategory, ranked_coco
from lpirc_score.metrics.coco_ranking import IOUS, RECALLS, SPACING
from lpirc_score.metrics.detection_columns import Detections, refuse_not_finite
from lpirc_score.metrics.groups import group_objects
from lpirc_score.metrics.metric_kinds import Blacklist, OwnMetric, Rule
from lpirc_score.metrics.offered import COCO, metric_named
from lpirc_score.metrics.one_threshold import ranked_categories
from lpirc_testsets.ground_truth import GroundTruth

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Places = NDArray[np.uint32]

PAIRS = 150
HALVES = 2 * PAIRS
SEED = 0

_CELLS_AT_ONCE = 1 << 22
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIXERS = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))


@lru_cache(maxsize=2)
def halves_of(images: int, seed: int = SEED) -> Bools:
    """Draw the halves; return which images are in which half (images, HALVES), read-only.

    Halves 2p and 2p + 1 are a pair: the first has the images // 2 images with the lowest keys, the second has the rest.
    Keys are the numbers of SplitMix64 (Steele, Lea, Flood 2014) from `seed`, image by image and pair by pair. For equal
    keys the earlier image is taken as the lower one.
    """
    drawn = np.zeros((images, HALVES), np.bool_)
    for pair in range(PAIRS):
        keys = _split_mix(seed, pair * images, images)
        order = np.argsort(keys, kind="stable")
        least = order[: images // 2]
        drawn[least, 2 * pair] = True
    drawn[:, 1::2] = ~drawn[:, ::2]
    drawn.flags.writeable = False
    return drawn


def _split_mix(
    seed: int,
    first: int,
    count: int,
) -> NDArray[np.uint64]:
    numbers = np.arange(first + 1, first + count + 1, dtype=np.uint64)
    state = numbers * _GOLDEN + np.uint64(seed)
    for bits, factor in _MIXERS:
        shifted = state >> np.uint64(bits)
        state = (state ^ shifted) * factor
    return state ^ (state >> np.uint64(31))


def half_maps(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str = "lpirc",
    seed: int = SEED,
    blacklist: Iterable[tuple[int, int]] = (),
    iou: float | None = None,
) -> Floats:
    """Return the mAP (HALVES,) of each half; the same seed gives the same result.

    Raises `CodedError` as `evaluate` does.
    """
    averages = half_averages(
        ground_truth,
        detections,
        metric,
        seed,
        blacklist,
        iou,
    )
    return mean_of_categories(averages)


def half_averages(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str,
    seed: int = SEED,
    blacklist: Iterable[tuple[int, int]] = (),
    iou: float | None = None,
) -> Floats:
    """Return the AP (K, HALVES) by category, in ascending order of id, and by half.

    The AP is NaN if the category has no object in the half. Raises as `half_maps` does.
    """
    banned = frozenset(blacklist)
    drawn = halves_of(len(ground_truth.image_ids), seed)
    averages = np.empty((len(ground_truth.category_ids), HALVES))
    found = metric_named(metric)
    if isinstance(found, Rule):
        ranked = ranked_images(
            ground_truth,
            detections,
            found,
            banned,
            iou,
        )
        for ap, category in zip(averages, ranked, strict=True):
            ap[:] = category_average(category, found, drawn)
        return averages

    refuse_not_finite(detections)
    if metric == COCO:
        ranked_at_ious = ranked_coco(ground_truth, detections, banned)
        for ap, coco in zip(averages, ranked_at_ious, strict=True):
            ap[:] = coco_average(coco, drawn)
        return averages
    for half in range(HALVES):
        averages[:, half] = _scored_again(
            found,
            ground_truth,
            detections,
            banned,
            drawn[:, half],
        )
    return averages


def _scored_again(
    metric: OwnMetric,
    ground_truth: GroundTruth,
    detections: Detections,
    banned: Blacklist,
    is_drawn: Bools,
) -> Floats:
    """Return the AP (K,) of each category on the drawn images (N,), by running the metric itself."""
    images = ground_truth.image_ids[is_drawn]
    names = compress(ground_truth.image_names, is_drawn)
    part = ground_truth.of_objects(np.isin(ground_truth.image, images))
    part = replace(part, image_ids=images, image_names=tuple(names))
    is_there = np.isin(detections.image, images)
    found = detections.of_rows(is_there)
    ap = metric.evaluate(part, found, banned).ap
    ids = ground_truth.category_ids.tolist()
    return np.array([ap[id_] for id_ in ids], np.float64)


def mean_of_categories(averages: Floats) -> Floats:
    """Return the mAP (R,) of each half from the AP (K, R) by category, summed in order; 0 without objects."""
    has_objects = ~np.isnan(averages)
    total = np.zeros(averages.shape[1])
    for ap in np.where(has_objects, averages, 0.0):
        total += ap
    maps: Floats = total / np.maximum(has_objects.sum(axis=0), 1)
    return maps


@dataclass(frozen=True, eq=False)
class Category:
    """The counted detections of one category, by rank: confidence, image (M,), and whether each is true.

    `object_images` has the image of each object that counts. Images are given as indices into all images.
    """

    confidence: Floats
    image: Places
    is_true: Bools
    object_images: Places


def ranked_images(
    ground_truth: GroundTruth,
    detections: Detections,
    rule: Rule,
    banned: frozenset[tuple[int, int]],
    iou: float | None,
) -> Iterator[Category]:
    """Match by a rule and yield every category, in ascending order of id. Raises as `ranked_categories` does."""
    groups = group_objects(ground_truth, ~ground_truth.crowd, banned)
    is_difficult = ground_truth.difficult[groups.objects]
    is_ignored = is_difficult & rule.ignores_difficult
    counted = groups.objects[~is_ignored]
    object_images = groups.images.places(ground_truth.image[counted]).astype(np.uint32)
    object_categories = ground_truth.category[counted]
    images = groups.images.places(detections.image).astype(np.uint32)
    threshold = rule.threshold(iou)
    for each in ranked_categories(
        ground_truth,
        detections,
        rule,
        threshold,
        banned,
    ):
        is_true = np.zeros(len(each.members), np.bool_)
        is_true[each.ranks - 1] = True
        is_own = object_categories == each.id
        yield Category(
            confidence=detections.confidence[each.members],
            image=images[each.members],
            is_true=is_true,
            object_images=object_images[is_own],
        )


def category_average(
    category: Category,
    rule: Rule,
    drawn: Bools,
) -> Floats:
    """Return the AP (R,) of a category in each half, NaN without objects.

    `drawn` (N, R) marks the images of each half.
    """
    objects = _objects(category.object_images, drawn)
    ap = np.zeros(len(objects))
    for part, envelope, found in _envelopes(category.image, category.is_true, drawn):
        ap[part] = averages_under(envelope, found, objects[part], rule)
    ap[objects == 0] = np.nan
    return ap


def averages_under(
    envelope: Floats,
    found: Bools,
    objects: NDArray[np.int64],
    rule: Rule,
) -> Floats:
    """Return the AP (r,) from the precision envelope (T, r) at each true positive, and which are `found` (T, r)."""
    if rule.recalls is None:
        # Each true positive adds its envelope, in the order of the ranks.
        added = np.where(found, envelope, 0.0)
        return _in_turn(added) / np.maximum(objects, 1)
    reached = _at_recalls(envelope, found, objects, rule.recalls)
    return _in_turn(reached) / len(rule.recalls)


def coco_average(category: CocoCategory, drawn: Bools) -> Floats:
    """Return the AP as `category_average` does, by COCO: the mean over IoUs and then recalls, summed in this order."""
    objects = _objects(category.object_images, drawn)
    total = np.zeros(len(objects))
    for image, is_true in category.rankings():
        for part, envelope, found in _envelopes(image, is_true, drawn, SPACING):
            reached = _at_recalls(envelope, found, objects[part], RECALLS)
            total[part] += _in_turn(reached)
    count = len(IOUS) * len(RECALLS)
    ap = total / count
    ap[objects == 0] = np.nan
    return ap


def _objects(object_images: Places, drawn: Bools) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = drawn[object_images].sum(axis=0, dtype=np.int64)
    return counts


def _envelopes(
    image: Places,
    is_true: Bools,
    drawn: Bools,
    spacing: float = 0.0,
) -> Iterator[tuple[slice, Floats, Bools]]:
    """Yield, for some halves at a time, the precision envelope (T, r) at each true positive, and which are in the half.

    The envelope is the best precision from that true positive on. A true positive outside a half has, in that half,
    at most the precision of the true positive before it, so it never raises the envelope.
    """
    true = np.flatnonzero(is_true)
    if len(true) == 0:
        return
    last = true[-1]
    image = image[: last + 1]
    after_true = true[:-1] + 1
    steps = np.append(0, after_true)
    for part in _parts(drawn.shape[1], len(image)):
        here = drawn[image, part]
        between = np.add.reduceat(here, steps, axis=0, dtype=np.uint32)
        listed = np.cumsum(between, axis=0, dtype=np.float64)
        found = here[true]
        yield part, envelope_of(listed, found, spacing), found


def envelope_of(listed: Floats, found: Bools, spacing: float = 0.0) -> Floats:
    """Return the precision envelope (T, r) from the number of detections `listed` up to each true positive."""
    precision = np.cumsum(found, axis=0, dtype=np.float64)
    precision /= np.maximum(listed, 1.0) + spacing
    backwards = np.maximum.accumulate(precision[::-1], axis=0)
    return backwards[::-1]


def _at_recalls(
    envelope: Floats,
    found: Bools,
    objects: NDArray[np.int64],
    recalls: Floats,
) -> Floats:
    """Return the best precision (recalls, r) at each recall or above, 0 beyond the highest recall reached."""
    count = np.cumsum(found, axis=0)
    by_count = np.zeros((len(found) + 1, found.shape[1]))
    row, half = np.nonzero(found)
    nth = count[row, half]
    by_count[nth - 1, half] = envelope[row, half]

    needed = []
    sizes, which = np.unique(objects, return_inverse=True)
    for size in sizes.tolist():
        recall = np.arange(1, size + 1) / size
        needed.append(np.searchsorted(recall, recalls))
    of_halves = np.array(needed)[which]
    places = np.minimum(of_halves.T, len(found))  # the last row is 0
    return np.take_along_axis(by_count, places, axis=0)


def _in_turn(values: Floats) -> Floats:
    """Return the sums (r,) of the rows, added in order: numpy's `sum` does not guarantee an order."""
    sums: Floats = np.cumsum(values, axis=0)[-1]
    return sums


def _parts(halves: int, rows: int) -> Iterator[slice]:
    size = max(1, _CELLS_AT_ONCE // rows)
    for first in range(0, halves, size):
        yield slice(first, first + size)
