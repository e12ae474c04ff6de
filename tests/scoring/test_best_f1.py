"""The best F1 is the best of all thresholds, each tried by leaving rows out and scoring again."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from lpirc_score import METRICS, CodedError, Counts, best_f1, evaluate
from tests.scoring import oracle
from tests.scoring.test_coco import random_set

SEEDS = range(25)


def f1_of(counts: list[Counts]) -> Fraction:
    true = sum(one.true_positives for one in counts)
    rows = true + sum(one.false_positives for one in counts)
    objects = sum(one.objects for one in counts)
    return Fraction(2 * true, max(rows + objects, 1))


@pytest.mark.parametrize("metric", METRICS)
def test_no_threshold_is_better_and_of_equals_the_highest_is_told(metric: str) -> None:
    for seed in SEEDS:
        truth, found, _ = random_set(seed)
        found = replace(found, confidence=found.confidence.round(1))
        best = best_f1(truth, found, metric)
        tried = {}
        for threshold in np.unique(found.confidence).tolist():
            part = found.of_rows(found.confidence >= threshold)
            tried[threshold] = evaluate(truth, part, metric).counts
        assert best.iou == 0.5
        whole = {one: f1_of(list(counts.values())) for one, counts in tried.items()}
        highest = max(whole.values(), default=Fraction(0))
        assert best.overall.f1 == pytest.approx(float(highest), abs=1e-15)
        if highest:
            told = best.overall.confidence
            assert told == max(one for one, value in whole.items() if value == highest)
        for id_, one in best.by_category.items():
            own = {each: f1_of([counts[id_]]) for each, counts in tried.items()}
            top = max(own.values(), default=Fraction(0))
            if one is None:
                assert evaluate(truth, found, metric).counts[id_].objects == 0
                continue
            assert one.f1 == pytest.approx(float(top), abs=1e-15)
            if top:
                assert one.confidence is not None
                counts = tried[one.confidence][id_]
                assert counts == Counts(one.objects, one.true, one.false)
                assert own[one.confidence] == top
                assert one.precision == one.true / (one.true + one.false)
                assert one.recall == one.true / one.objects
        known = [one.f1 for one in best.by_category.values() if one is not None]
        assert best.mean == pytest.approx(sum(known) / max(len(known), 1))


def test_rows_of_equal_confidence_stay_together() -> None:
    box = (0, 0, 9, 9)
    truth = oracle.ground_truth([1], [1], [(1, 1, *box), (1, 1, 20, 0, 29, 9)])
    rows = [
        (1, 1, 0.9, *box),
        (1, 1, 0.9, 50, 0, 59, 9),
        (1, 1, 0.5, 20, 0, 29, 9),
    ]
    best = best_f1(truth, oracle.detections(rows)).by_category[1]
    assert best is not None
    assert (best.f1, best.confidence, best.true, best.false) == (0.8, 0.5, 2, 1)


def test_without_a_true_detection_there_is_no_threshold() -> None:
    truth = oracle.ground_truth([1], [1, 2], [(1, 1, 0, 0, 9, 9)])
    found = oracle.detections([(1, 1, 0.9, 50, 0, 59, 9)])
    for best in (best_f1(truth, found), best_f1(truth, oracle.detections([]))):
        assert best.by_category[2] is None
        assert best.overall.f1 == best.mean == 0.0
        assert best.overall.confidence is None
        assert best.overall.objects == 1


@pytest.mark.parametrize(("metric", "iou"), [("coco", 0.51), ("lpirc", 0.0)])
def test_an_iou_that_the_metric_does_not_have_is_refused(
    metric: str,
    iou: float,
) -> None:
    truth, found, _ = random_set(3)
    with pytest.raises(CodedError, match=str(iou)) as refused:
        best_f1(
            truth,
            found,
            metric,
            iou,
        )
    assert refused.value.code == "bad-iou"


def test_coco_can_be_asked_at_each_of_its_ten() -> None:
    truth = oracle.ground_truth([1], [1], [(1, 1, 0, 0, 100, 100)])
    found = oracle.detections([(1, 1, 0.9, 0, 0, 99, 69)])  # an overlap of 0.7
    ious = (0.5, 0.7, 0.75, 0.95)
    f1 = [
        best_f1(
            truth,
            found,
            "coco",
            iou,
        ).overall.f1
        for iou in ious
    ]
    assert f1 == [
        1.0,
        1.0,
        0.0,
        0.0,
    ]
