"""The COCO metric: the numbers of pycocotools' COCOeval for boxes, computed on whole columns.

Semantics: https://github.com/cocodataset/cocoapi, `cocoeval.py`. Ten IoUs and four ranges of areas; an object that
is a crowd or outside the range is ignored, and so is a detection that finds such an object or that finds none and
is itself outside the range.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from referee.scoring.coco_ranking import MOST, CocoListing, Ranked, Ranking, list_detections
from referee.scoring.columns import Detections
from referee.scoring.groups import Groups, group_objects
from referee.scoring.matching import UNMATCHED, Pairs, assign_greedily, joined, pairs_above
from referee.scoring.overlap import coco_overlaps
from referee.scoring.result import Counts, Evaluation, signature
from referee.scoring.rules import COCO
from testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

IOU_RANGE = "0.5:0.95"
IOUS = np.linspace(0.5, 0.95, 10)
RECALLS = np.linspace(0.0, 1.0, 101)

AREAS = {
    "all": (0.0, 1e5**2),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e5**2),
}
"""Ranges of areas in square pixels, both ends inside."""

AT_50 = 0
AT_75 = 5

_NEARLY_ONE = 1 - 1e-10


@dataclass(frozen=True, eq=False)
class AreaResult:
    """One range of areas: `precision` (T, K) by IoU and category, the mean over the recalls; `recall` by MOST.

    A category without objects in the range is NaN.
    """

    precision: Floats
    recall: Mapping[int, Floats]


def evaluate_coco(
    ground_truth: GroundTruth,
    detections: Detections,
    blacklist: Iterable[tuple[int, int]] = (),
    ground_truth_digest: str | None = None,
) -> Evaluation:
    """Score detections, all numbers finite, by the COCO metric.

    Raises `RefereeError` `unknown-image` or `unknown-category`.
    """
    banned = frozenset(blacklist)
    groups = group_objects(ground_truth, np.ones(len(ground_truth.image), np.bool_), banned)
    crowd = ground_truth.crowd[groups.objects]
    area = ground_truth.area[groups.objects]
    listing = list_detections(detections, groups)
    pairs = _pairs(listing, groups, ground_truth.coco_boxes[groups.objects], crowd)
    ignored = {name: crowd | _outside(area, name) for name in AREAS}
    found = {name: _evaluate_area(name, listing, groups, pairs, ignored[name], crowd) for name in AREAS}
    summary = _summarize({name: result for name, (result, _) in found.items()})
    everything, ranked = found["all"]
    counts = _counts(groups.counts(~ignored["all"]), ranked)
    categories = groups.categories.ids.tolist()
    means = everything.precision.mean(axis=0)
    ap = {id_: None if np.isnan(mean) else float(mean) for id_, mean in zip(categories, means, strict=True)}
    return Evaluation(
        metric=COCO,
        iou=None,
        map=summary["AP"] or 0.0,
        ap=ap,
        counts=dict(zip(categories, counts, strict=True)),
        categories_with_ground_truth=sum(value is not None for value in ap.values()),
        images=len(ground_truth.image_ids),
        detections=len(detections),
        signature=signature(COCO, IOU_RANGE, banned, ground_truth_digest),
        summary=summary,
    )


def _pairs(listing: CocoListing, groups: Groups, objects: Floats, crowd: Bools) -> Pairs:
    """All pairs from the least IoU on: by detection, then best overlap; of equal ones the last object first."""

    def overlap(rows: Ints, columns: Ints) -> Floats:
        return coco_overlaps(listing.boxes[rows], objects[columns], crowd[columns])

    thresholds = np.full(len(objects), IOUS[0])
    pairs = joined(list(pairs_above(listing.group, 0, groups, overlap, thresholds)))
    return pairs.take(np.lexsort((-pairs.object, -pairs.overlap, pairs.detection)))


def _evaluate_area(
    name: str, listing: CocoListing, groups: Groups, pairs: Pairs, ignored: Bools, crowd: Bools
) -> tuple[AreaResult, Ranked]:
    """Return the result of a range of areas, and the ranks at IoU .5."""
    objects = groups.counts(~ignored)
    ranking = Ranking(listing, ~_outside(listing.area, name))
    # Ignored objects come last: they are taken only where no other is left.
    keys = 2 * pairs.detection.astype(np.int64) + ignored[pairs.object]
    pairs = pairs.take(np.argsort(keys, kind="stable"))
    ranked = [_rank(ranking, len(listing.group), pairs, ignored, crowd, iou) for iou in IOUS.tolist()]
    recall = {
        most: np.array([_share(each.true_positives(most), objects) for each in ranked]) for most in MOST
    }
    return AreaResult(_precisions(ranked, objects), recall), ranked[AT_50]


def _rank(
    ranking: Ranking, detections: int, pairs: Pairs, ignored: Bools, crowd: Bools, iou: float
) -> Ranked:
    passed = pairs.take(pairs.overlap >= min(iou, _NEARLY_ONE))
    taken = assign_greedily(passed, detections, len(ignored), crowd)
    matched = np.flatnonzero(taken != UNMATCHED)
    return ranking.rank(matched, ~ignored[taken[matched]])


def _share(true: Ints, objects: Ints) -> Floats:
    share: Floats = np.divide(true, objects, out=np.full(len(objects), np.nan), where=objects > 0)
    return share


def _precisions(ranked: list[Ranked], objects: Ints) -> Floats:
    """Return the mean of the envelope at the 101 recalls (T, K); NaN without objects."""
    means = np.full((len(ranked), len(objects)), np.nan)
    for category, count in enumerate(objects.tolist()):
        if count:
            # The true positive with which each recall is reached.
            needed = np.searchsorted(np.arange(1, count + 1) / count, RECALLS)
            for row, each in enumerate(ranked):
                best = each.precisions(category)
                means[row, category] = best[needed[needed < len(best)]].sum() / len(RECALLS)
    return means


def _counts(objects: Ints, ranked: Ranked) -> list[Counts]:
    columns = (objects.tolist(), ranked.true_positives(MOST[-1]).tolist(), ranked.sizes.tolist())
    return [Counts(count, true, size - true) for count, true, size in zip(*columns, strict=True)]


def _outside(area: Floats, name: str) -> NDArray[np.bool_]:
    """Which areas (M,) lie outside a range of AREAS."""
    least, most = AREAS[name]
    return (area < least) | (area > most)


def _summarize(results: Mapping[str, AreaResult]) -> dict[str, float | None]:
    """Return the twelve numbers, each a mean over IoUs and categories with objects in the range, or None."""
    everything = results["all"]
    ranges = ("small", "medium", "large")
    means = {
        "AP": everything.precision,
        "AP50": everything.precision[AT_50],
        "AP75": everything.precision[AT_75],
        **{f"AP{name}": results[name].precision for name in ranges},
        **{f"AR{most}": everything.recall[most] for most in MOST},
        **{f"AR{name}": results[name].recall[MOST[-1]] for name in ranges},
    }
    return {name: _mean(values) for name, values in means.items()}


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.mean(known)) if len(known) else None
