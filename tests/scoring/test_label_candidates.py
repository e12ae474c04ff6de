"""Labels to look at: planted faults of a ground truth are found, in order, each once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lpirc_score import (
    METRICS,
    GroundTruth,
    LabelDoubt,
    analyse_errors,
    label_candidates,
)
from tests.scoring import oracle
from tests.scoring.test_coco import random_set

FIRST = (0.0, 0.0, 99.0, 99.0)
SECOND = (200.0, 0.0, 299.0, 99.0)
THIRD = (0.0, 200.0, 99.0, 299.0)


def labelled(*rows: oracle.ObjectRow) -> GroundTruth:
    return oracle.ground_truth([1, 2], [1, 2], rows)


def test_a_wrong_category_a_wrong_box_and_a_missing_object_are_candidates() -> None:
    truth = labelled((1, 1, *FIRST), (1, 2, 200, 0, 299, 30), (2, 1, *FIRST))
    rows = [
        (2, 1, 0.99, *FIRST),  # right
        (1, 2, 0.7, *FIRST),
        (1, 2, 0.8, *SECOND),
        (1, 1, 0.9, *THIRD),
        (1, 1, 0.49, 500, 500, 540, 540),  # not sure enough
    ]
    found = label_candidates(truth, oracle.detections(rows))
    assert [(one.doubt, one.image, one.detection) for one in found] == [
        (LabelDoubt.NO_OBJECT, 1, 3),
        (LabelDoubt.BOX, 1, 2),
        (LabelDoubt.CATEGORY, 1, 1),
    ]
    missing, misplaced, renamed = found
    assert missing.image_name == "1.jpg"
    assert (missing.box, missing.category, missing.confidence) == (THIRD, 1, 0.9)
    assert (missing.object, missing.object_category, missing.object_box) == (None,) * 3
    assert (misplaced.object, misplaced.object_box) == (1, (200, 0, 299, 30))
    assert (renamed.object, renamed.object_category, renamed.category) == (0, 1, 2)


def test_an_object_that_is_found_as_labelled_is_not_doubted() -> None:
    truth = labelled((1, 1, *FIRST))
    rows = [(1, 2, 0.99, *FIRST), (1, 1, 0.1, *FIRST)]
    assert label_candidates(truth, oracle.detections(rows)) == ()


def test_an_object_is_doubted_once_and_a_missing_one_is_listed_once() -> None:
    truth = labelled((1, 1, *FIRST))
    near = (0.0, 205.0, 99.0, 304.0)
    rows = [
        (1, 2, 0.6, *FIRST),
        (1, 2, 0.9, *FIRST),
        (1, 1, 0.8, *THIRD),
        (1, 2, 0.7, *near),
        (2, 2, 0.7, *near),
    ]
    found = label_candidates(truth, oracle.detections(rows))
    assert [one.detection for one in found] == [1, 2, 4]


def test_at_most_so_many_are_listed_the_surest_first() -> None:
    truth = labelled()
    rows = [(1, 1, 0.5 + n / 100, 50 * n, 0, 50 * n + 9, 9) for n in range(20)]
    found = label_candidates(truth, oracle.detections(rows), most=3)
    assert [one.detection for one in found] == [19, 18, 17]
    assert label_candidates(truth, oracle.detections(rows), most=0) == ()


@pytest.mark.parametrize("metric", METRICS)
def test_every_candidate_is_an_error_of_the_analysis(metric: str) -> None:
    for seed in range(25):
        truth, found, _ = random_set(seed)
        analysis = analyse_errors(truth, found, metric)
        given = label_candidates(
            truth,
            found,
            metric,
            most=10**6,
            analysis=analysis,
        )
        assert given == label_candidates(
            truth,
            found,
            metric,
            most=10**6,
        )
        confidences = [one.confidence for one in given]
        assert confidences == sorted(confidences, reverse=True)
        assert all(one.confidence >= 0.5 for one in given)
        assert all(analysis.found.outcome[one.detection] >= 0 for one in given)
        doubted = [one.object for one in given if one.object is not None]
        assert len(doubted) == len(set(doubted))
        assert all(analysis.found.unfound[one] for one in doubted)


def test_planted_faults_come_before_anything_else() -> None:
    """Who labels 40 objects and forgets two, renames one and misplaces one finds just these four."""
    corners = [(100.0 * n, 0.0, 100.0 * n + 79, 79.0) for n in range(40)]
    right = [(1, 1 + n % 2, *box) for n, box in enumerate(corners)]
    rows = [(1, 1 + n % 2, 0.6 + n / 100, *box) for n, box in enumerate(corners)]
    wrong = [*right]
    wrong[5] = (1, 1, *corners[5])
    wrong[6] = (1, 1, *(corners[6][0], 0.0, corners[6][2], 20.0))
    del wrong[30]
    del wrong[8]
    found = label_candidates(labelled(*wrong), oracle.detections(rows))
    assert [(one.detection, one.doubt) for one in found] == [
        (30, LabelDoubt.NO_OBJECT),
        (8, LabelDoubt.NO_OBJECT),
        (6, LabelDoubt.BOX),
        (5, LabelDoubt.CATEGORY),
    ]
    found = label_candidates(labelled(*right), oracle.detections(rows))
    assert found == ()


@pytest.mark.parametrize("metric", METRICS)
def test_what_lies_in_a_crowd_is_no_missing_object(metric: str) -> None:
    truth = replace(labelled((1, 1, *FIRST)), crowd=np.array([True]))
    inside = (1, 1, 0.9, 0, 0, 50, 50)
    outside = (1, 1, 0.8, 200, 0, 250, 50)
    on_another_image = (2, 1, 0.7, 0, 0, 50, 50)
    rows = oracle.detections([inside, outside, on_another_image])
    found = label_candidates(truth, rows, metric)
    assert [one.detection for one in found] == [1, 2]
