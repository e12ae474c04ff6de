"""The mAP of parts of the objects: by size, and by how crowded their images are; and pairs of confused categories.

A slice by size is counted as COCO counts its areas: an object outside of it does not count, neither does a detection
that finds it, nor a false detection whose own box lies outside. A slice by crowding is the mAP of some of the images.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score.analysis.error_matching import OF_DETECTIONS, TRUE, ErrorType
from lpirc_score.analysis.error_types import ErrorAnalysis
from lpirc_score.analysis.halves import (
    Category,
    category_average,
    halves_of,
    mean_of_categories,
)
from lpirc_score.analysis.interval import map_intervals
from lpirc_score.analysis.sizes import box_areas, inside
from lpirc_score.metrics.average_precision import mean_known
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.groups import Ids
from lpirc_score.metrics.metric_kinds import Rule
from lpirc_score.metrics.offered import COCO, rule_shown
from lpirc_score.metrics.tidecv import TIDECV
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SIZES = {
    "small": "small, to 32 x 32 pixels",
    "medium": "medium, to 96 x 96",
    "large": "large",
}
"""The ranges of areas as `sizes` counts them, and the names of their slices."""
CROWDING = (
    ("1 object in the image", 1, 2),
    ("2 to 4 objects", 2, 5),
    ("5 to 9 objects", 5, 10),
    ("10 objects or more", 10, math.inf),
)
MOST_ROWS = 300_000
"""Rows up to which the intervals are computed: they are matched again in each half of the images."""


@dataclass(frozen=True)
class Slice:
    """The mAP of a part of the objects, its interval, the number of its objects, and how many of them were found.

    `low` and `high` are None for a submission with more than MOST_ROWS rows.
    """

    name: str
    map: float
    low: float | None
    high: float | None
    objects: int
    found: int


def size_slices(
    ground_truth: GroundTruth,
    detections: Detections,
    analysis: ErrorAnalysis,
    metric: str,
) -> tuple[Slice, ...]:
    """Return the slices by size, as `ap_by_size` counts areas, that have objects."""
    found = analysis.found
    of_objects = ground_truth.area
    of_detections = box_areas(detections, np.arange(len(detections)))
    is_true = found.outcome == TRUE
    of_detections[is_true] = of_objects[found.object[is_true]]
    parts = [
        (shown, inside(of_objects, name), inside(of_detections, name))
        for name, shown in SIZES.items()
    ]
    sliced = _Sliced(ground_truth, detections, analysis, _rule(metric))
    return tuple(sliced.slices(parts))


def crowding_slices(
    ground_truth: GroundTruth,
    detections: Detections,
    analysis: ErrorAnalysis,
    metric: str,
) -> tuple[Slice, ...]:
    """Return the slices by the number of objects in the image that have objects."""
    images = Ids(ground_truth.image_ids, "image")
    lies_in = images.places(ground_truth.image)
    found_in = images.places(detections.image)
    counted = lies_in[analysis.found.objects]
    objects = np.bincount(counted, minlength=len(images.ids))
    of_objects = objects[lies_in]
    of_detections = objects[found_in]
    parts = [
        (
            name,
            (of_objects >= least) & (of_objects < most),
            (of_detections >= least) & (of_detections < most),
        )
        for name, least, most in CROWDING
    ]
    sliced = _Sliced(ground_truth, detections, analysis, _rule(metric))
    return tuple(sliced.slices(parts))


@dataclass(frozen=True)
class Confusion:
    """How many detections of the category `sent` lie on objects of the category `true`, and the mAP that they cost."""

    sent: int
    true: int
    count: int
    cost: float


def confusions(
    ground_truth: GroundTruth,
    detections: Detections,
    analysis: ErrorAnalysis,
    count: int = 10,
) -> tuple[Confusion, ...]:
    """Return the pairs of categories that were confused, the most costly first. A duplicate counts, too."""
    found = analysis.found
    kind = OF_DETECTIONS.index(ErrorType.CLASSIFICATION)
    wrong = np.flatnonzero((found.outcome == kind) & (found.object >= 0))
    pairs = np.column_stack(
        [detections.category[wrong], ground_truth.category[found.object[wrong]]]
    )
    which, inverse = np.unique(pairs, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    counts = np.bincount(inverse, minlength=len(which))
    costs = np.bincount(inverse, analysis.cost[wrong], len(which))
    order = np.lexsort((-counts, -costs))[:count]
    confused = []
    for place in order.tolist():
        sent, true = which[place].tolist()
        its_cost = float(costs[place])
        confused.append(Confusion(sent, true, int(counts[place]), its_cost))
    return tuple(confused)


class _Sliced:
    """Detections by category and rank, of which slices count a part."""

    def __init__(
        self,
        ground_truth: GroundTruth,
        detections: Detections,
        analysis: ErrorAnalysis,
        rule: Rule,
    ) -> None:
        images = Ids(ground_truth.image_ids, "image")
        self._images = len(images.ids)
        self._lies_in = images.places(ground_truth.image).astype(np.uint32)
        self._found_in = images.places(detections.image).astype(np.uint32)
        self._confidence = detections.confidence
        self._found = analysis.found
        categories = len(ground_truth.category_ids)
        members = analysis.found.members
        of_members = analysis.found.category[members]
        self._members = _by_category(members, of_members, categories)
        of_objects = analysis.found.object_category
        objects = np.arange(len(of_objects))
        self._objects = _by_category(objects, of_objects, categories)
        self._rule = rule

    def slices(self, parts: list[tuple[str, Bools, Bools]]) -> Iterator[Slice]:
        """Yield the slices with objects, from the name, the marked objects (G,) and the detections (M,) of each."""
        for name, of_objects, of_detections in parts:
            objects = of_objects & self._found.objects
            if objects.any():
                yield self._slice(name, objects, of_detections & self._found.counted)

    def _slice(self, name: str, objects: Bools, detections: Bools) -> Slice:
        categories = [
            self._category(members[detections[members]], own[objects[own]])
            for members, own in zip(self._members, self._objects, strict=True)
        ]
        averages = np.array([self._average(one) for one in categories])
        reached = mean_known(averages)
        low = None
        high = None
        if len(self._confidence) <= MOST_ROWS and self._images > 1:
            drawn = halves_of(self._images)
            of_halves = [category_average(one, self._rule, drawn) for one in categories]
            halves = mean_of_categories(np.array(of_halves))
            low, high = map_intervals(reached, halves).mean
        unfound = objects & self._found.unfound
        total = int(objects.sum())
        return Slice(name, reached, low, high, total, total - int(unfound.sum()))

    def _average(self, category: Category) -> float:
        objects = len(category.object_images)
        if not objects:
            return math.nan
        return self._rule.average(np.flatnonzero(category.is_true) + 1, objects)

    def _category(self, members: Ints, objects: Ints) -> Category:
        return Category(
            self._confidence[members],
            self._found_in[members],
            self._found.outcome[members] == TRUE,
            self._lies_in[objects],
        )


def _by_category(which: Ints, category: Ints, categories: int) -> list[Ints]:
    """Return the indices `which` (n,) of each category, in their order."""
    order = np.argsort(category, kind="stable")
    bounds = np.searchsorted(category[order], np.arange(1, categories))
    return np.split(which[order], bounds)


def _rule(metric: str) -> Rule:
    return TIDECV if metric == COCO else rule_shown(metric)
