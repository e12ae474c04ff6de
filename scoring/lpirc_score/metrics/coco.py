"""The metric `coco`: the twelve numbers of COCO for boxes, computed on whole columns.

Goal: the numbers of pycocotools' COCOeval, with the AP over ten IoUs from .50 to .95 as `map`.
Source: https://github.com/cocodataset/cocoapi, `cocoeval.py`.
Conventions: boxes are a corner and a size; at most 1, 10 or 100 detections count per image and category. In each of
four ranges of areas, an object that is a crowd or outside the range is ignored. A detection is ignored if it finds an
ignored object, or if it finds none and is itself outside the range. Sums are exact (`math.fsum`), as in the other
metrics; pycocotools leaves the order of sums to NumPy, so its figures may differ in the last digit.

`coco_ranking` matches and ranks in one range of areas. `coco_reference` is pycocotools itself, to check this module.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.coco_ranking import (
    LEAST_OVERLAPS,
    MOST,
    AreaResult,
    category_precisions,
    matched_at_each_iou,
    rank,
)
from lpirc_score.metrics.coco_shapes import BoxShapes, ShapesOf
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.evaluation_result import Counts, Evaluation
from lpirc_score.metrics.groups import Listing, group_objects, list_detections
from lpirc_score.metrics.matching import Pairs, in_turn
from lpirc_score.metrics.metric_kinds import OFFICIAL, Blacklist, OwnMetric
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

AREAS = {
    "all": (0.0, 1e5**2),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e5**2),
}
"""Ranges of areas in square pixels; both limits are included."""

_ALL = 0
_BITS = [np.uint16(1 << place) for place in range(len(LEAST_OVERLAPS))]
AT_50 = 0
AT_75 = 5


def evaluate_coco(
    ground_truth: GroundTruth,
    detections: Detections,
    blacklist: Blacklist = frozenset(),
) -> Evaluation:
    """Score detections by the COCO metric; all their numbers must be finite.

    Raises `CodedError` `unknown-image` or `unknown-category`.
    """
    results = results_by_area(ground_truth, detections, blacklist)
    return evaluation_of_areas(ground_truth, detections, results)


def evaluation_of_areas(
    ground_truth: GroundTruth,
    detections: Detections,
    results: Mapping[str, AreaResult],
) -> Evaluation:
    """Return the outcome from the result for each of AREAS."""
    summary = _summarize(results)
    everything = results["all"]
    precision = everything.precision
    ap = _by_category(ground_truth, precision)
    ap50 = _by_category(ground_truth, precision[[AT_50]])
    ap75 = _by_category(ground_truth, precision[[AT_75]])
    counts = _counts(everything)
    with_objects = [value for value in ap.values() if value is not None]
    return Evaluation(
        metric="coco",
        iou=None,
        map=summary["AP"] or 0.0,
        ap=ap,
        counts=dict(zip(ap, counts, strict=True)),
        categories_with_ground_truth=len(with_objects),
        images=len(ground_truth.image_ids),
        detections=len(detections),
        summary=summary,
        ap50=ap50,
        ap75=ap75,
    )


METRIC = OwnMetric("coco", evaluate_coco, iou="0.5:0.95", tolerance=OFFICIAL)


def _counts(result: AreaResult) -> list[Counts]:
    """Return the counts of each category at IoU .5."""
    objects = result.objects.tolist()
    true = result.true[-1, AT_50].tolist()
    listed = result.listed.tolist()
    return [
        Counts(count, found, size - found)
        for count, found, size in zip(objects, true, listed, strict=True)
    ]


def results_by_area(
    ground_truth: GroundTruth,
    detections: Detections,
    banned: Blacklist,
    shapes_of: ShapesOf = BoxShapes,
) -> dict[str, AreaResult]:
    """Match and rank in each of AREAS. Raises as `evaluate_coco` does."""
    matching = _Matching(ground_truth, detections, banned, shapes_of)
    counts = [matching.groups.counts(~each) for each in matching.ignored]

    def results(first: int, last: int) -> list[AreaResult]:
        batch = matching.batch(first, last)
        return [
            rank(
                batch.pairs,
                matching.ignored[area],
                matching.crowd,
                batch.inside[area],
                batch.within,
                batch.bounds,
                count[first:last],
            )
            for area, count in enumerate(counts)
        ]

    parts = (results(first, last) for first, last in matching.listing.batches())
    by_area = zip(*parts, strict=True)
    joined = map(_joined, by_area)
    return dict(zip(AREAS, joined, strict=True))


@dataclass(frozen=True, eq=False)
class CocoCategory:
    """The detections of one category in the range of all areas, by rank: confidence and image (M,).

    Bit k of `counts` and `is_true` (M,) tells whether a detection counts, and is true, at the k-th IoU. `object_images`
    has the image of each object that counts. Images are given as indices into all images.
    """

    confidence: Floats
    image: NDArray[np.uint32]
    counts: NDArray[np.uint16]
    is_true: NDArray[np.uint16]
    object_images: NDArray[np.uint32]

    def rankings(self) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.bool_]]]:
        """Yield for each IoU, by rank, the images (m,) of the counted detections, and which of them are true."""
        for bit in _BITS:
            here = np.flatnonzero(self.counts & bit)
            is_true = self.is_true.take(here) & bit
            yield self.image.take(here), is_true.astype(np.bool_)

    def average_precision(self) -> float | None:
        """Return the AP that `evaluate_coco` computes, or None without objects."""
        objects = len(self.object_images)
        if not objects:
            return None
        by_iou = (is_true for _, is_true in self.rankings())
        precisions = category_precisions(by_iou, objects)
        total = math.fsum(precisions.ravel().tolist())
        return total / precisions.size


def ranked_coco(
    ground_truth: GroundTruth,
    detections: Detections,
    banned: Blacklist,
    shapes_of: ShapesOf = BoxShapes,
) -> Iterator[CocoCategory]:
    """Match in the range of all areas and yield every category, in order of id. Raises as `evaluate_coco` does."""
    matching = _Matching(ground_truth, detections, banned, shapes_of)
    groups = matching.groups
    ignored = matching.ignored[_ALL]
    counted = groups.objects[~ignored]
    object_images = groups.images.places(ground_truth.image[counted]).astype(np.uint32)
    object_categories = ground_truth.category[counted]
    images = groups.images.places(detections.image).astype(np.uint32)
    for first, last in matching.listing.batches():
        batch = matching.batch(first, last)
        counts, is_true = np.zeros((2, len(batch.members)), np.uint16)
        inside = batch.inside[_ALL]
        at_ious = matched_at_each_iou(batch.pairs, ignored, matching.crowd, inside)
        for bit, (counts_here, true_here) in zip(_BITS, at_ious, strict=True):
            counts[counts_here] |= bit
            is_true[true_here] |= bit
        confidence = detections.confidence[batch.members]
        image = images[batch.members]
        bounds = pairwise(batch.bounds.tolist())
        ids = groups.categories.ids[first:last]
        for id_, (low, high) in zip(ids, bounds, strict=True):
            is_own = object_categories == id_
            yield CocoCategory(
                confidence=confidence[low:high],
                image=image[low:high],
                counts=counts[low:high],
                is_true=is_true[low:high],
                object_images=object_images[is_own],
            )


@dataclass(frozen=True, eq=False)
class _Batch:
    """Some categories: `members` (n,) are their detections by rank, category k from `bounds[k]` to `bounds[k + 1] - 1`.

    `inside` marks the detections in each area range; `within` is the rank within the same image and category; `pairs`
    are in the order of `in_turn`.
    """

    members: Ints
    bounds: Ints
    pairs: Pairs
    inside: NDArray[np.bool_]
    within: NDArray[np.uint8]


class _Matching:
    """The work shared by all ranges of areas: groups, candidate pairs, and objects `ignored` by range (areas, G)."""

    def __init__(
        self,
        ground_truth: GroundTruth,
        detections: Detections,
        banned: Blacklist,
        shapes_of: ShapesOf,
    ) -> None:
        every = np.ones(len(ground_truth.image), np.bool_)
        groups = group_objects(ground_truth, every, banned)
        self.groups = groups
        self._detections = detections
        chosen = groups.objects
        self.crowd = ground_truth.crowd[chosen]
        is_inside = _inside(ground_truth.area[chosen])
        self.ignored = self.crowd | ~is_inside
        self._shapes = shapes_of(ground_truth, detections, chosen)
        self.listing = list_detections(detections, groups)

    def batch(
        self,
        first: int,
        last: int,
    ) -> _Batch:
        """Return the batch of the categories `first` .. `last - 1`."""
        listing = self.listing
        detections = self._detections
        members, ranks = listing.ranked(
            first, last, detections.confidence, ties_by_image=True
        )
        within = _within(listing, first, last, ranks)
        is_listed = within < MOST[-1]
        inside = _inside(self._shapes.areas(members)) & is_listed

        found = self._shapes.pairs(
            listing,
            self.groups,
            first,
            last,
            is_listed.take(ranks),
        )
        pairs = in_turn(found, ranks, last_first=True)
        pairs = pairs.take(is_listed.take(pairs.detection))
        starts = listing.starts[first : last + 1]
        bounds = starts - starts[0]
        return _Batch(
            members,
            bounds,
            pairs,
            inside,
            within,
        )


def _joined(parts: Iterable[AreaResult]) -> AreaResult:
    """Join the results of successive batches of categories."""
    whole = [*parts]
    axes = {"precision": 1, "true": 2}
    columns = {}
    for field in fields(AreaResult):
        name = field.name
        values = [getattr(part, name) for part in whole]
        columns[name] = np.concatenate(values, axis=axes.get(name, 0))
    return AreaResult(**columns)


def _within(
    listing: Listing,
    first: int,
    last: int,
    ranks: Ints,
) -> NDArray[np.uint8]:
    """Number the detections by rank within their image and category, from 0 to the largest of MOST at most."""
    opens = listing.opens[listing.starts[first] : listing.starts[last]]
    bits = len(ranks).bit_length()
    keys = np.cumsum(opens) << bits
    keys |= ranks
    keys.sort()
    begins = np.flatnonzero(opens)
    within = np.empty(len(ranks), np.uint8)
    keys &= (1 << bits) - 1
    place = np.arange(len(ranks)) - np.repeat(
        begins, np.diff(begins, append=len(ranks))
    )
    within[keys] = np.minimum(place, MOST[-1])
    return within


def _inside(area: Floats) -> NDArray[np.bool_]:
    """Return which areas (M,) lie inside each of AREAS (ranges, M)."""
    rows = []
    for least, most in AREAS.values():
        is_outside = (area < least) | (area > most)
        rows.append(~is_outside)
    return np.array(rows)


def _by_category(ground_truth: GroundTruth, values: Floats) -> dict[int, float | None]:
    ids = ground_truth.category_ids.tolist()
    return dict(zip(ids, _category_means(values), strict=True))


def _category_means(values: Floats) -> list[float | None]:
    """Return the exact mean of values (T, K, ...) by category (K,); None for a category without objects (NaN)."""
    means: list[float | None] = []
    for each in np.moveaxis(values, 1, 0):
        row = each.ravel().tolist()
        mean = math.fsum(row) / len(row)
        means.append(None if math.isnan(mean) else mean)
    return means


def _summarize(results: Mapping[str, AreaResult]) -> dict[str, float | None]:
    """Return the twelve numbers, each a mean over the categories with objects in the range, or None."""
    everything = results["all"]
    precision = everything.precision
    recall = everything.recall
    ranges = ("small", "medium", "large")
    values = {
        "AP": precision,
        "AP50": precision[[AT_50]],
        "AP75": precision[[AT_75]],
    }
    for name in ranges:
        values[f"AP{name}"] = results[name].precision
    for place, most in enumerate(MOST):
        values[f"AR{most}"] = recall[place]
    for name in ranges:
        values[f"AR{name}"] = results[name].recall[-1]

    summary = {}
    for name, each in values.items():
        summary[name] = _mean(_category_means(each))
    return summary


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if known:
        return math.fsum(known) / len(known)
    return None
