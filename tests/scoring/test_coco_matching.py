"""What is found in a range of areas, taken from what is found in all of them, is what is computed from the start."""

from __future__ import annotations

import numpy as np
import pytest

from lpirc_score import Detections
from lpirc_score.metrics.coco_matching import ALL, CocoMatching
from lpirc_score.metrics.coco_ranking import Found, assigned_at_each_iou
from lpirc_testsets import GroundTruth
from tests.scoring.test_coco import found_of, random_set, truth_of


def both_ways(
    truth: GroundTruth,
    detections: Detections,
    banned: frozenset[tuple[int, int]] = frozenset(),
) -> list[tuple[list[Found], list[Found]]]:
    """For each range of areas."""
    matching = CocoMatching(truth, detections, banned)
    batch = matching.batch(0, len(truth.category_ids))
    return [
        (taken_over, assigned_at_each_iou(batch.pairs, ignored, matching.crowd))
        for taken_over, ignored in zip(
            matching.assigned(batch), matching.ignored, strict=True
        )
    ]


def as_lists(found: list[Found]) -> list[tuple[list[int], list[int]]]:
    return [(one.detection.tolist(), one.object.tolist()) for one in found]


@pytest.mark.parametrize("seed", range(200))
def test_a_range_takes_over_what_no_size_changes(seed: int) -> None:
    truth, detections, banned = random_set(seed)
    for taken_over, computed in both_ways(truth, detections, frozenset(banned)):
        assert as_lists(taken_over) == as_lists(computed)


def test_an_object_outside_the_range_gives_way_to_one_inside() -> None:
    small = (0, 0, 30, 30)
    large = (0, 0, 34, 34)
    truth = truth_of([(1, 1, large), (1, 1, small), (2, 1, large)])
    detections = found_of(
        [(1, 1, 0.9, large), (2, 1, 0.8, large), (1, 1, 0.7, (0, 0, 32, 32))]
    )
    taken_over = [found for found, _ in both_ways(truth, detections)]
    everything, of_small, *_ = (as_lists(found)[0] for found in taken_over)
    assert everything != of_small
    # The first detection takes the small object, and leaves the large one to the last.
    assert dict(zip(*of_small, strict=True))[0] == 1
    assert as_lists(taken_over[ALL])[0] == everything


def test_without_a_change_nothing_is_computed_again() -> None:
    truth = truth_of([(1, 1, (0, 0, 10, 10)), (2, 1, (0, 0, 50, 50))])
    detections = found_of(
        [(1, 1, 0.9, (0, 0, 10, 10)), (2, 1, 0.5, (0, 0, 50, 50))],
    )
    first, *others = (found for found, _ in both_ways(truth, detections))
    assert all(one is first for one in others)
    assert np.array_equal(first[0].detection, [0, 1])
