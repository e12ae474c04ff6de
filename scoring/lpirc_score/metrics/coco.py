"""The metric `coco`: the twelve numbers of COCO for boxes, computed on whole columns.

Goal: the numbers of pycocotools' COCOeval, with the AP over ten IoUs from .50 to .95 as `map`.
Source: https://github.com/cocodataset/cocoapi, `cocoeval.py`.
Conventions: boxes are a corner and a size; at most 1, 10 or 100 detections count per image and category. In each of
four ranges of areas, an object that is a crowd or outside the range is ignored. A detection is ignored if it finds an
ignored object, or if it finds none and is itself outside the range. Sums are exact (`math.fsum`), as in the other
metrics; pycocotools leaves the order of sums to NumPy, so its figures may differ in the last digit.

`coco_matching` matches in each range of areas, `coco_ranking` ranks. `coco_reference` is pycocotools itself, to check
this module.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.coco_matching import ALL, AREAS, CocoMatching
from lpirc_score.metrics.coco_ranking import (
    LEAST_OVERLAPS,
    MOST,
    AreaResult,
    assigned_at_each_iou,
    category_precisions,
    counted_at_each_iou,
    rank,
)
from lpirc_score.metrics.coco_shapes import BoxShapes, ShapesOf
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.evaluation_result import Counts, Evaluation
from lpirc_score.metrics.exact_means import exact_means
from lpirc_score.metrics.metric_kinds import OFFICIAL, Blacklist, OwnMetric
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_BITS = [np.uint8(1 << place) for place in range(len(AREAS))]
_IOU_BITS = [np.uint16(1 << place) for place in range(len(LEAST_OVERLAPS))]
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
    means = _means_by_category(results)
    summary = {name: _mean(each) for name, each in means.items()}
    everything = results["all"]
    ids = ground_truth.category_ids.tolist()
    ap, ap50, ap75 = (
        dict(zip(ids, means[name], strict=True)) for name in ("AP", "AP50", "AP75")
    )
    counts = _counts(everything)
    with_objects = [value for value in ap.values() if value is not None]
    return Evaluation(
        metric="coco",
        iou=None,
        map=summary["AP"],
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
    matching = CocoMatching(ground_truth, detections, banned, shapes_of)
    counts = [matching.groups.counts(~each) for each in matching.ignored]

    def results(first: int, last: int) -> list[AreaResult]:
        batch = matching.batch(first, last)
        return [
            rank(
                assigned,
                matching.ignored[area],
                batch.inside[area],
                batch.within,
                batch.bounds,
                counts[area][first:last],
            )
            for area, assigned in enumerate(matching.assigned(batch))
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
        for bit in _IOU_BITS:
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
    matching = CocoMatching(ground_truth, detections, banned, shapes_of)
    groups = matching.groups
    ignored = matching.ignored[ALL]
    counted = groups.objects[~ignored]
    object_images = groups.images.places(ground_truth.image[counted]).astype(np.uint32)
    object_categories = ground_truth.category[counted]
    images = groups.images.places(detections.image).astype(np.uint32)
    for first, last in matching.listing.batches():
        batch = matching.batch(first, last)
        counts, is_true = np.zeros((2, len(batch.members)), np.uint16)
        inside = batch.inside[ALL]
        assigned = assigned_at_each_iou(batch.pairs, ignored, matching.crowd)
        at_ious = counted_at_each_iou(assigned, ignored, inside)
        for bit, (counts_here, true_here) in zip(_IOU_BITS, at_ious, strict=True):
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


def _category_means(values: Floats) -> list[float | None]:
    """Return the exact mean of values (T, K, ...) by category (K,); None for a category without objects (NaN)."""
    by_category = np.moveaxis(values, 1, 0)
    rows = by_category.reshape(len(by_category), math.prod(by_category.shape[1:]))
    means: list[float | None] = []
    for mean in exact_means(rows):
        is_known = not math.isnan(mean)
        means.append(mean if is_known else None)
    return means


def _means_by_category(
    results: Mapping[str, AreaResult],
) -> dict[str, list[float | None]]:
    """Return the twelve numbers of each category (K,), None for one without objects in the range."""
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
    return {name: _category_means(each) for name, each in values.items()}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if known:
        return math.fsum(known) / len(known)
    return None
