"""Compares entries on the same images: the mAP of each with its intervals, and how sure each order of two is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from lpirc_score.analysis.halves import half_maps
from lpirc_score.analysis.interval import (
    Halved,
    MapIntervals,
    chance_of_order,
    map_intervals,
)
from lpirc_score.arguments import pairs_of, require_mapping
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.evaluation import evaluated
from lpirc_score.metrics.evaluation_result import Evaluation
from lpirc_testsets.ground_truth import GroundTruth


@dataclass(frozen=True)
class Order:
    """Two entries compared by one metric, the better one first, with the chance that this order is real."""

    metric: str
    first: str
    second: str
    chance: float


@dataclass(frozen=True)
class Comparison:
    """The evaluation and the intervals of each entry by its name, and the order of every two.

    An entry without a mAP, since no category has an object, has neither intervals nor an order.
    """

    evaluations: dict[str, Evaluation]
    intervals: dict[str, MapIntervals]
    orders: tuple[Order, ...]


def compare(
    ground_truth: GroundTruth,
    entries: Mapping[str, Detections],
    metric: str = "lpirc",
    iou: float | None = None,
    blacklist: Iterable[tuple[int, int]] = (),
) -> Comparison:
    """Compare entries, named detections, on all images of a ground truth.

    Intervals and chances come from the mAPs on 300 halves of the images (docs/scoring.md, "How sure a score is"), the
    same halves for each entry. Raises `CodedError` as `evaluate` does.
    """
    require_mapping(entries, "entries")
    banned = pairs_of(blacklist)
    evaluations = {}
    intervals = {}
    drawn = {}
    for name, found in entries.items():
        evaluation = evaluated(ground_truth, found, metric, iou, banned)
        evaluations[name] = evaluation
        if evaluation.map is None:
            continue
        halves = half_maps(
            ground_truth,
            found,
            metric,
            blacklist=banned,
            iou=iou,
        )
        intervals[name] = map_intervals(evaluation.map, halves)
        images = ground_truth.image_ids.tobytes()
        drawn[name] = Halved(evaluation.map, halves, images=images)
    return Comparison(evaluations, intervals, tuple(orders_of(metric, drawn)))


def orders_of(metric: str, drawn: Mapping[str, Halved]) -> Sequence[Order]:
    """Return the order of every two entries by their score per watt-hour (without energies: by their mAP)."""
    orders = []
    for pair in combinations(drawn, 2):
        better, worse = sorted(
            pair,
            key=lambda name: drawn[name].value("score"),
            reverse=True,
        )
        chance = chance_of_order(drawn[better], drawn[worse])
        orders.append(Order(metric, better, worse, chance))
    return orders
