"""AP by size of object for every metric: small, medium and large as COCO counts areas.

An object outside a range does not count there, neither does a detection that finds it, nor a false detection whose own
box lies outside. The area of an object is the one that the ground truth states (in COCO that of the mask), that of a
detection is its box. `coco` matches anew in each range, as pycocotools does; any other metric matches once, as its
program does, and the range selects from what was matched.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score.analysis.judged_rows import iou_of, matched_by
from lpirc_score.errors import CodedError
from lpirc_score.metrics.coco import results_by_area
from lpirc_score.metrics.coco_matching import AREAS
from lpirc_score.metrics.coco_shapes import coco_boxes_of
from lpirc_score.metrics.detection_columns import (
    Detections,
    refuse_not_finite,
    require_columns,
)
from lpirc_score.metrics.metric_kinds import Rule
from lpirc_score.metrics.offered import COCO, rule_shown
from lpirc_score.metrics.one_threshold import CategoryRanks, ranked_categories
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class SizeScore:
    """The mAP of the objects whose area in square pixels is in `least` .. `most`, both included.

    `ap` has the AP by category id, None where the category has no such object; `map` is the mean of the others, None if
    there are none. `objects` are those that count, `rule` is the metric that matched.
    """

    name: str
    rule: str
    least: float
    most: float
    map: float | None
    ap: dict[int, float | None]
    objects: int


def ap_by_size(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str = "lpirc",
    iou: float | None = None,
) -> dict[str, SizeScore]:
    """Return the scores of `all`, `small`, `medium` and `large` objects; the limits are 32 x 32 and 96 x 96 pixels.

    For `coco` the mAPs are pycocotools' AP, APsmall, APmedium and APlarge over its ten IoUs. `all` of any other metric
    leaves out what is larger than 100,000 x 100,000 pixels only. Raises `CodedError` as `evaluate` does.
    """
    require_columns(ground_truth, detections)
    if metric == COCO:
        if iou is not None:
            sentence = (
                "The metric coco sets its own ten IoU thresholds; do not give one."
            )
            raise CodedError("bad-iou", sentence)
        refuse_not_finite(detections)
        found = _by_coco(ground_truth, detections)
    else:
        threshold = iou_of(metric, iou)
        found = _by_rule(ground_truth, detections, rule_shown(metric), threshold)
    ids = ground_truth.category_ids.tolist()
    return {
        name: _score(name, matched_by(metric), dict(zip(ids, ap, strict=True)), objects)
        for name, (ap, objects) in found.items()
    }


def _score(
    name: str,
    rule: str,
    ap: Mapping[int, float | None],
    objects: int,
) -> SizeScore:
    least, most = AREAS[name]
    known = [value for value in ap.values() if value is not None]
    mean = math.fsum(known) / len(known) if known else None
    return SizeScore(name, rule, least, most, mean, dict(ap), objects)


def _by_coco(
    ground_truth: GroundTruth,
    detections: Detections,
) -> dict[str, tuple[list[float | None], int]]:
    results = results_by_area(ground_truth, detections, frozenset())
    found = {}
    for name, result in results.items():
        ap: list[float | None] = []
        for category in np.moveaxis(result.precision, 1, 0):
            values = category.ravel().tolist()
            mean = math.fsum(values) / len(values)
            ap.append(None if math.isnan(mean) else mean)
        found[name] = (ap, int(result.objects.sum()))
    return found


def _by_rule(
    ground_truth: GroundTruth,
    detections: Detections,
    rule: Rule,
    threshold: float,
) -> dict[str, tuple[list[float | None], int]]:
    ignored = ground_truth.difficult & rule.ignores_difficult
    counts = ~(ground_truth.crowd | ignored)
    places = np.searchsorted(ground_truth.category_ids, ground_truth.category)
    objects = {}
    for name in AREAS:
        is_inside = inside(ground_truth.area, name) & counts
        of_category = places[is_inside]
        objects[name] = np.bincount(
            of_category, minlength=len(ground_truth.category_ids)
        )
    found: dict[str, list[float | None]] = {name: [] for name in AREAS}
    ranked = ranked_categories(
        ground_truth,
        detections,
        rule,
        threshold,
        frozenset(),
    )
    for place, each in enumerate(ranked):
        for name, ranks in _ranks_inside(ground_truth, detections, each):
            count = int(objects[name][place])
            ap = rule.average(ranks, count) if count else None
            found[name].append(ap)
    return {name: (ap, int(objects[name].sum())) for name, ap in found.items()}


def _ranks_inside(
    ground_truth: GroundTruth,
    detections: Detections,
    ranked: CategoryRanks,
) -> Iterator[tuple[str, Ints]]:
    """Yield the ranks (T,) of the true positives of each range, among its detections."""
    area = box_areas(detections, ranked.members)
    area[ranked.ranks - 1] = ground_truth.area.take(ranked.found)
    is_true = np.zeros(len(area), np.bool_)
    is_true[ranked.ranks - 1] = True
    for name in AREAS:
        of_range = is_true[inside(area, name)]
        yield name, np.flatnonzero(of_range) + 1


def box_areas(detections: Detections, chosen: Ints) -> Floats:
    """Return the areas (n,) of the boxes of some detections, in square pixels."""
    sides = coco_boxes_of(detections, chosen)[:, 2:]
    with np.errstate(over="ignore", invalid="ignore"):
        areas: Floats = sides[:, 0] * sides[:, 1]
    return areas


def inside(area: Floats, name: str) -> Bools:
    """Return which areas (M,) lie in the range of that name, its limits included."""
    least, most = AREAS[name]
    is_inside: Bools = (area >= least) & (area <= most)
    return is_inside
