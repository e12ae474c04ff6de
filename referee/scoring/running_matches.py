"""What becomes of each detection, kept right while detections arrive."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from referee.scoring.groups import Groups
from referee.scoring.growing import GrowingColumn
from referee.scoring.matching import FALSE, Pairs, in_turn
from referee.scoring.rules import Rule

Floats = NDArray[np.float64]


class RunningMatches:
    """The outcomes of a submission that grows.

    Detections go by their number of arrival. What decides a matching are the pairs of detection and object whose
    overlap passes: they are kept, the boxes are not. `update` matches again the groups (image, category) that have
    new pairs, with their earlier pairs: a group without new ones would end as before.
    """

    def __init__(self, rule: Rule, groups: Groups, ignored: NDArray[np.bool_]) -> None:
        self._rule = rule
        self._ignored = ignored
        self._group_of_object = np.repeat(np.arange(len(groups.keys)), np.diff(groups.starts))
        self._has_pairs = np.zeros(len(groups.keys), np.bool_)
        self._detection = GrowingColumn(np.int32)
        self._object = GrowingColumn(np.int32)
        self._overlap = GrowingColumn(np.float64)
        self._outcome = GrowingColumn(np.int8)
        self._matched = 0

    @property
    def outcome(self) -> NDArray[np.int8]:
        """By detection FALSE, TRUE or IGNORED; `update` has been called after the last `append`."""
        return self._outcome.values

    def append(self, portions: Iterable[Pairs], detections: int) -> None:
        """Take down the pairs of that many further detections, whose numbers in the pairs start at 0."""
        first = len(self._outcome)
        self._outcome.append(np.full(detections, FALSE, np.int8))
        for pairs in portions:
            self._detection.append(pairs.detection + first)
            self._object.append(pairs.object)
            self._overlap.append(pairs.overlap)

    def update(self, confidence: Floats) -> None:
        """Match what has new pairs since the last call; `confidence` (M,) of all detections so far."""
        touched = self._group_of_object[self._object.values[self._matched :]]
        if len(touched) == 0:
            return
        pairs = self._pairs_to_match(touched)
        self._has_pairs[touched] = True
        self._matched = len(self._object)
        is_next = np.append(True, pairs.detection[1:] != pairs.detection[:-1])
        members = pairs.detection[is_next]
        numbered = Pairs((np.cumsum(is_next) - 1).astype(np.int32), pairs.object, pairs.overlap)
        turns = in_turn(numbered, confidence[members])
        self._outcome.values[members] = self._rule.outcomes(turns, len(members), self._ignored)

    def _pairs_to_match(self, touched: NDArray[np.integer]) -> Pairs:
        pairs = Pairs(self._detection.values, self._object.values, self._overlap.values)
        if not self._has_pairs[touched].any():
            return pairs.take(np.arange(self._matched, len(self._object)))
        is_touched = np.zeros(len(self._has_pairs), np.bool_)
        is_touched[touched] = True
        return pairs.take(np.flatnonzero(is_touched[self._group_of_object][pairs.object]))
