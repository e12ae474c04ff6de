"""An evaluation that follows detections while they arrive, bit for bit what `evaluate` gives for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from referee.errors import RefereeError
from referee.scoring.columns import Detections
from referee.scoring.groups import BLACKLISTED, group_objects
from referee.scoring.matching import IGNORED, TRUE, candidate_pairs
from referee.scoring.result import Counts, Evaluation, mean_of_scored
from referee.scoring.rules import METRICS, RULES, checked_iou, rule_named
from referee.scoring.running_list import RunningList
from referee.scoring.running_matches import RunningMatches
from referee.scoring.signature import signature
from testsets.ground_truth import GroundTruth

RUNNING_METRICS = tuple(RULES)
"""The metrics that can be followed; `coco` ranks every image anew, and only at the end."""


@dataclass(frozen=True, eq=False)
class RankedCategory:
    """The detections (M,) of one category that count, in the order of their ranks, and its objects (n,).

    `image` and `object_images` are places among the ground truth's images.
    """

    id: int
    image: NDArray[np.int32]
    confidence: NDArray[np.float64]
    is_true: NDArray[np.bool_]
    object_images: NDArray[np.int64]


class RunningEvaluation:
    """The evaluation of a submission that grows, by a metric of one IoU threshold.

    `add` takes detections in any batches; the order of arrival is that of the batches and, inside one, of the
    rows. Reading the result does what has to be done anew, and only that: the matching of the groups (image,
    category) with new candidates, the AP of the categories with new detections.
    """

    def __init__(
        self,
        ground_truth: GroundTruth,
        metric: str = "lpirc",
        iou: float | None = None,
        blacklist: Iterable[tuple[int, int]] = (),
        ground_truth_digest: str | None = None,
    ) -> None:
        """Raise `RefereeError` as `evaluate` does, and `metric-not-running` for a metric not in RUNNING_METRICS."""
        if metric in METRICS and metric not in RUNNING_METRICS:
            known = ", ".join(RUNNING_METRICS)
            raise RefereeError(
                "metric-not-running", f"The metric {metric} cannot be followed; those that can are {known}."
            )
        self._rule = rule_named(metric)
        self._iou = checked_iou(self._rule.iou if iou is None else iou)
        banned = frozenset(blacklist)
        self._signature = signature(metric, self._iou, banned, ground_truth_digest)
        self._groups = groups = group_objects(ground_truth, ~ground_truth.crowd, banned)
        self._objects = ground_truth.boxes[groups.objects]
        self._thresholds = self._rule.thresholds(self._objects, self._iou)
        ignored = ground_truth.difficult[groups.objects] & self._rule.ignores_difficult
        self._per_category = groups.counts(~ignored)
        counted = groups.objects[~ignored]
        self._object_images = groups.images.places(ground_truth.image[counted])
        self._object_categories = groups.categories.places(ground_truth.category[counted])
        self._list = RunningList(len(groups.images.ids), len(groups.categories.ids))
        self._matches = RunningMatches(self._rule, groups, ignored)
        self._received = 0
        self._ap: dict[int, float | None] = {}
        self._counts: dict[int, Counts] = {}
        self._judge(np.arange(len(groups.categories.ids)))

    def add(self, detections: Detections) -> None:
        """Take further detections; of a batch that is refused, nothing is taken.

        Raises `RefereeError` `unknown-image`, `unknown-category`, `not-finite`.
        """
        if not (np.isfinite(detections.confidence).all() and np.isfinite(detections.boxes).all()):
            raise RefereeError("not-finite", "A number among the detections is not a finite number.")
        image = self._groups.images.places(detections.image)
        category = self._groups.categories.places(detections.category)
        group = self._groups.at(image, category)
        self._received += len(detections)
        if (group == BLACKLISTED).any():
            kept = group != BLACKLISTED
            image, category, group = image[kept], category[kept], group[kept]
            detections = _taken(detections, kept)
        pairs = candidate_pairs(detections, 0, group, self._groups, self._objects, self._thresholds)
        self._matches.append(pairs, len(detections))
        tie_breaker = image if self._rule.ties_by_image else np.zeros_like(image)
        self._list.append(tie_breaker, category, detections.confidence)

    @property
    def map(self) -> float:
        """The mean average precision of everything so far, 0..1."""
        return self.evaluation().map

    @property
    def ap(self) -> dict[int, float | None]:
        """The average precision by category id, None without ground truth."""
        return self.evaluation().ap

    def evaluation(self) -> Evaluation:
        """What `evaluate` gives for everything so far."""
        self._update()
        mean, scored = mean_of_scored(self._ap)
        return Evaluation(
            metric=self._rule.name,
            iou=self._iou,
            map=mean,
            ap=self._ap.copy(),
            counts=self._counts.copy(),
            categories_with_ground_truth=scored,
            images=len(self._groups.images.ids),
            detections=self._received,
            signature=self._signature,
        )

    def ranked(self) -> Iterator[RankedCategory]:
        """Every category's list so far, in the order of the category ids; for metrics that break ties by image."""
        self._update()
        for place, category in enumerate(self._groups.categories.ids.tolist()):
            members = self._counting(place)
            yield RankedCategory(
                category,
                self._list.image[members],
                self._list.confidence[members],
                self._matches.outcome[members] == TRUE,
                self._object_images[self._object_categories == place],
            )

    def _update(self) -> None:
        self._matches.update(self._list.confidence)
        self._judge(self._list.update())

    def _judge(self, categories: NDArray[np.int64]) -> None:
        for place in categories.tolist():
            category, objects = int(self._groups.categories.ids[place]), int(self._per_category[place])
            members = self._counting(place)
            ranks = np.flatnonzero(self._matches.outcome[members] == TRUE) + 1
            self._ap[category] = self._rule.average(ranks, objects) if objects else None
            self._counts[category] = Counts(objects, len(ranks), len(members) - len(ranks))

    def _counting(self, place: int) -> NDArray[np.int32]:
        members = self._list.members(place)
        if not self._rule.ignores_difficult:
            return members
        counting: NDArray[np.int32] = members[self._matches.outcome[members] != IGNORED]
        return counting


def _taken(detections: Detections, which: NDArray[np.bool_]) -> Detections:
    return Detections(
        detections.image[which],
        detections.category[which],
        detections.confidence[which],
        detections.boxes[which],
    )
