"""Slices have the mAP of the objects and images that they are of; confusions and thresholds are counted by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lpirc_score import Detections, ap_by_size, evaluate
from lpirc_score.analysis.error_types import ErrorType, analyse_errors
from lpirc_score.analysis.slices import (
    CROWDING,
    MOST_ROWS,
    SIZES,
    confusions,
    crowding_slices,
    size_slices,
)
from lpirc_score.analysis.thresholds import LEAST_LOSS, threshold_curve
from lpirc_score.metrics.offered import rule_named
from lpirc_testsets import GroundTruth
from tests.referee.judging.simulated_stops import answered


def mixed(seed: int) -> tuple[GroundTruth, Detections]:
    """Objects of three sizes, with some detections renamed."""
    run = answered(seed)
    chance = np.random.default_rng(seed)
    side = chance.choice([20.0, 60.0, 120.0], len(run.truth.image))
    boxes = run.truth.boxes * 5
    boxes[:, 2:] = boxes[:, :2] + side[:, None]
    area = (boxes[:, 2:] - boxes[:, :2] + 1).prod(axis=1)
    truth = replace(run.truth, boxes=boxes, area=area)
    some = chance.random(len(boxes)) < 0.7
    category = truth.category.copy()
    is_wrong = chance.random(len(boxes)) < 0.2
    category[is_wrong] = category[is_wrong] % 3 + 1
    false_boxes = boxes[some] + 1000
    found = Detections(
        np.concatenate([truth.image[some], truth.image[some]]),
        np.concatenate([category[some], category[some]]),
        chance.random(2 * some.sum()),
        np.concatenate([boxes[some], false_boxes]),
    )
    by_image = np.argsort(found.image, kind="stable")
    return truth, Detections(
        *(
            one[by_image]
            for one in (found.image, found.category, found.confidence, found.boxes)
        )
    )


def sides(boxes: np.ndarray) -> np.ndarray:
    return boxes[:, 2] - boxes[:, 0]


@pytest.mark.parametrize("metric", ["lpirc", "voc-11"])
def test_a_slice_by_size_is_the_map_of_its_objects_and_of_boxes_of_its_size(
    metric: str,
) -> None:
    truth, found = mixed(1)
    analysis = analyse_errors(truth, found, metric)
    slices = size_slices(
        truth,
        found,
        analysis,
        metric,
    )
    assert [one.name for one in slices] == [*SIZES.values()]
    by_size = ap_by_size(truth, found, metric)
    assert [one.map for one in slices] == [by_size[name].map for name in SIZES]
    for one, side in zip(slices, (20.0, 60.0, 120.0), strict=True):
        is_own = sides(truth.boxes) == side
        part = found.of_rows(sides(found.boxes) == side)
        assert one.map == evaluate(truth.of_objects(is_own), part, metric).map
        assert one.objects == is_own.sum()
        assert one.low is not None
        assert one.high is not None
        assert one.low < one.map < one.high
    assert sum(one.found for one in slices) == (analysis.found.outcome == -1).sum()


@pytest.mark.parametrize("metric", ["lpirc", "voc-11"])
def test_a_slice_by_crowding_is_the_map_of_its_images(metric: str) -> None:
    truth, found = mixed(2)
    analysis = analyse_errors(truth, found, metric)
    slices = crowding_slices(
        truth,
        found,
        analysis,
        metric,
    )
    counts = dict(zip(*np.unique(truth.image, return_counts=True), strict=True))
    of_objects = np.array([counts[one] for one in truth.image])
    of_rows = np.array([counts[one] for one in found.image])
    assert len(slices) == 3
    for one, (name, least, most) in zip(slices, CROWDING, strict=False):
        is_own = (of_objects >= least) & (of_objects < most)
        part = found.of_rows((of_rows >= least) & (of_rows < most))
        assert one.name == name
        assert one.map == evaluate(truth.of_objects(is_own), part, metric).map
        assert one.objects == is_own.sum()


def test_coco_is_sliced_at_one_threshold() -> None:
    truth, found = mixed(3)
    analysis = analyse_errors(truth, found, "coco")
    assert (
        len(
            size_slices(
                truth,
                found,
                analysis,
                "coco",
            )
        )
        == 3
    )


def test_confusions_are_the_detections_that_name_an_object_wrongly() -> None:
    truth, found = mixed(4)
    analysis = analyse_errors(truth, found)
    pairs = confusions(truth, found, analysis)
    counted: dict[tuple[int, int], int] = {}
    for row in range(len(found)):
        on = (truth.image == found.image[row]) & (truth.boxes == found.boxes[row]).all(
            axis=1
        )
        for true in truth.category[on].tolist():
            sent = int(found.category[row])
            if sent != true:
                counted[sent, true] = counted.get((sent, true), 0) + 1
    assert {(one.sent, one.true): one.count for one in pairs} == counted
    total = sum(one.count for one in pairs)
    assert total == analysis.counts[ErrorType.CLASSIFICATION]
    costs = [one.cost for one in pairs]
    assert costs == sorted(costs, reverse=True)
    assert (
        len(
            confusions(
                truth,
                found,
                analysis,
                2,
            )
        )
        == 2
    )


def test_without_errors_or_rows_there_are_no_confusions_and_no_thresholds() -> None:
    truth, found = mixed(5)
    none = found.of_rows(np.zeros(len(found), np.bool_))
    analysis = analyse_errors(truth, none)
    assert confusions(truth, none, analysis) == ()
    assert {
        one.map
        for one in size_slices(
            truth,
            none,
            analysis,
            "lpirc",
        )
    } == {0.0}
    assert threshold_curve(truth, none, rule_named("lpirc")) is None


@pytest.mark.parametrize("metric", ["lpirc", "voc-11"])
def test_each_threshold_has_the_map_of_the_rows_that_it_leaves(metric: str) -> None:
    truth, found = mixed(6)
    curve = threshold_curve(truth, found, rule_named(metric))
    assert curve is not None
    assert curve.rows[0] == len(found)
    whole = evaluate(truth, found, metric).map
    assert curve.map[0] == whole
    for place in (0, 1, 7, 20, -1):
        part = found.of_rows(found.confidence >= curve.threshold[place])
        assert curve.rows[place] == len(part)
        assert curve.map[place] == evaluate(truth, part, metric).map
    assert (curve.map <= whole).all()
    best = curve.best
    assert curve.map[best] >= whole - LEAST_LOSS
    assert (curve.map[best + 1 :] < whole - LEAST_LOSS).all()


def test_all_rows_at_one_confidence_have_one_threshold() -> None:
    truth, found = mixed(7)
    same = replace(found, confidence=np.full(len(found), 0.5))
    curve = threshold_curve(truth, same, rule_named("lpirc"))
    assert curve is not None
    assert curve.threshold.tolist() == [0.5]
    assert curve.rows.tolist() == [len(found)]


def test_many_rows_have_slices_without_intervals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    truth, found = mixed(8)
    assert len(found) < MOST_ROWS
    monkeypatch.setattr("lpirc_score.analysis.slices.MOST_ROWS", 10)
    analysis = analyse_errors(truth, found)
    slices = size_slices(
        truth,
        found,
        analysis,
        "lpirc",
    )
    assert {(one.low, one.high) for one in slices} == {(None, None)}
