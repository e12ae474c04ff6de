"""A figure that is not defined is None, never a zero that looks measured: pycocotools writes -1 there."""

from __future__ import annotations

import pytest

from lpirc_score import (
    METRICS,
    Detections,
    GroundTruth,
    analyse_errors,
    ap_by_size,
    best_f1,
    calibration,
    compare,
    evaluate,
    evaluate_slices,
)
from tests.scoring import oracle

BOX = (10, 10, 59, 59)


@pytest.fixture
def empty() -> GroundTruth:
    return oracle.ground_truth([1, 2], [1, 2], [])


@pytest.fixture
def found() -> Detections:
    return oracle.detections([(1, 1, 0.9, *BOX), (2, 1, 0.8, *BOX)])


@pytest.mark.parametrize("metric", METRICS)
def test_without_objects_no_metric_has_a_map(
    metric: str,
    empty: GroundTruth,
    found: Detections,
) -> None:
    evaluation = evaluate(empty, found, metric)
    assert evaluation.map is None
    assert set(evaluation.ap.values()) == {None}
    sizes = ap_by_size(empty, found, metric)
    assert {one.map for one in sizes.values()} == {None}


def test_a_slice_without_objects_has_none(found: Detections) -> None:
    truth = oracle.ground_truth([1, 2], [1], [(1, 1, *BOX)])
    slices = evaluate_slices(truth, found, {"with": [1], "without": [2]})
    assert (slices["with"].map, slices["without"].map) == (1.0, None)


def test_without_objects_nothing_is_compared(
    empty: GroundTruth, found: Detections
) -> None:
    comparison = compare(empty, {"a": found, "b": oracle.detections([])})
    assert {one.map for one in comparison.evaluations.values()} == {None}
    assert (comparison.intervals, comparison.orders) == ({}, ())


def test_without_objects_there_is_no_f1_and_no_error_gains(
    empty: GroundTruth, found: Detections
) -> None:
    best = best_f1(empty, found)
    assert (best.overall, best.mean) == (None, None)
    errors = analyse_errors(empty, found)
    assert errors.map is None
    assert set(errors.gains.values()) == {None}


def test_without_detections_nothing_is_calibrated() -> None:
    truth = oracle.ground_truth([1], [1], [(1, 1, *BOX)])
    reliability = calibration(truth, oracle.detections([]))
    assert (reliability.ece, reliability.mce) == (None, None)
    assert {one.gap for one in reliability.bins} == {None}
