from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from referee.errors import RefereeError
from referee.scoring import Counts, Detections, evaluate
from referee.scoring import rules as rules_module
from referee.scoring.average_precision import area_under_envelope
from referee.scoring.rules import RULES
from referee.scoring.running import RunningEvaluation
from tests.referee.scoring import oracle
from testsets import GroundTruth

TWICE_AS_MANY = settings(max_examples=2 * settings().max_examples)
BOX = (10.0, 10.0, 29.0, 29.0)
NEAR = (10.0, 10.0, 29.0, 27.0)
FAR = (90.0, 90.0, 95.0, 95.0)
TRUTH = oracle.ground_truth([1, 2], [1, 2], [(1, 1, *BOX), (2, 1, *BOX)])

# Overlapping boxes and few confidences: ties, several detections of an object and changed matches are the rule.
BOXES = st.sampled_from(
    [(0, 0, 9, 9), (1, 0, 10, 9), (0, 2, 9, 11), (0, 0, 9, 6), (3, 3, 12, 12), (50, 50, 50, 50)]
)
CONFIDENCES = st.sampled_from([0.5, 0.5, 0.5, 0.9, 0.1, 0.0, -0.0])


@st.composite
def contests(draw: st.DrawFn) -> tuple[GroundTruth, list[list[oracle.DetectionRow]], set[tuple[int, int]]]:
    """A ground truth, detections in batches as they arrive, and a blacklist."""
    images = draw(st.sampled_from([[1], [1, 2], [1, 2, 3], [5, 2**40]]))
    categories = draw(st.sampled_from([[1], [1, 2], [3, 200]]))
    image, category = st.sampled_from(images), st.sampled_from(categories)
    objects = draw(st.lists(st.tuples(image, category, BOXES), max_size=9))
    flags = st.lists(st.sampled_from([False, False, True]), min_size=len(objects), max_size=len(objects))
    truth = oracle.ground_truth(
        images, categories, [(i, c, *box) for i, c, box in objects], crowd=draw(flags), difficult=draw(flags)
    )
    detection = st.tuples(image, category, CONFIDENCES, BOXES)
    batches = draw(st.lists(st.lists(detection, max_size=8), max_size=8))
    rows = [[(i, c, p, *box) for i, c, p, box in batch] for batch in batches]
    return truth, rows, draw(st.sets(st.tuples(image, category), max_size=1))


@pytest.mark.parametrize("metric", RULES)
@TWICE_AS_MANY
@given(contests(), st.sampled_from([None, 0.3, 1.0]), st.data())
def test_any_batches_give_what_the_whole_gives(
    metric: str, contest: tuple, iou: float | None, data: st.DataObject
) -> None:
    truth, batches, blacklist = contest
    running = RunningEvaluation(truth, metric, iou, blacklist, "digest")
    seen: list[oracle.DetectionRow] = []
    for batch in batches:
        running.add(oracle.detections(batch))
        seen += batch
        if data.draw(st.booleans(), label="look"):
            assert running.evaluation() == evaluate(
                truth, oracle.detections(seen), metric, iou, blacklist, "digest"
            )
    expected = evaluate(truth, oracle.detections(seen), metric, iou, blacklist, "digest")
    assert running.evaluation() == expected
    assert (running.map, running.ap) == (expected.map, expected.ap)


@pytest.mark.parametrize("decimals", [1, 3, 16])
@pytest.mark.parametrize("metric", ["lpirc", "ilsvrc-det"])
def test_a_long_run_stays_bit_equal(metric: str, decimals: int) -> None:
    truth, found = crowded(images=60, categories=7, detections=6000, decimals=decimals)
    running = RunningEvaluation(truth, metric)
    for first in range(0, 6000, 173):
        running.add(part(found, slice(first, first + 173)))
        assert running.evaluation() == evaluate(truth, part(found, slice(first + 173)), metric)


def crowded(images: int, categories: int, detections: int, decimals: int) -> tuple[GroundTruth, Detections]:
    chance = np.random.default_rng(7)

    def rows(count: int) -> np.ndarray:
        corner = chance.integers(0, 20, (count, 2)).astype(float)
        ids = chance.integers(1, images + 1, count), chance.integers(1, categories + 1, count)
        return np.column_stack([*ids, corner, corner + chance.integers(8, 30, (count, 2))])

    truth = oracle.ground_truth(range(1, images + 1), range(1, categories + 1), rows(4 * images).tolist())
    found = rows(detections)
    confidence = chance.random(detections).round(decimals)
    return truth, Detections.from_rows(np.column_stack([found[:, :2], confidence, found[:, 2:]]))


def part(detections: Detections, which: slice) -> Detections:
    return Detections(
        detections.image[which],
        detections.category[which],
        detections.confidence[which],
        detections.boxes[which],
    )


def test_a_later_and_surer_detection_takes_the_object() -> None:
    running = RunningEvaluation(TRUTH)
    running.add(oracle.detections([(1, 1, 0.5, *BOX)]))
    assert running.evaluation().counts[1] == Counts(2, 1, 0)
    running.add(oracle.detections([(1, 1, 0.9, *NEAR)]))
    assert running.evaluation().counts[1] == Counts(2, 1, 1)
    assert running.ap[1] == 0.5  # the surer one is true and first, although the other fits better


def test_a_later_detection_of_equal_confidence_comes_second() -> None:
    running = RunningEvaluation(TRUTH)
    running.add(oracle.detections([(1, 1, 0.5, *FAR)]))
    running.add(oracle.detections([(1, 1, 0.5, *BOX)]))
    assert running.ap[1] == 0.25


def test_before_the_first_detection_there_is_zero() -> None:
    assert RunningEvaluation(TRUTH).evaluation() == evaluate(TRUTH, oracle.detections([]))


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ((9, 1, 0.5, *BOX), "unknown-image"),
        ((1, 9, 0.5, *BOX), "unknown-category"),
        ((1, 1, float("nan"), *BOX), "not-finite"),
        ((1, 1, 0.5, 0, 0, float("inf"), 9), "not-finite"),
    ],
)
def test_a_batch_that_is_refused_leaves_no_trace(bad: oracle.DetectionRow, code: str) -> None:
    good = oracle.detections([(1, 1, 0.9, *BOX)])
    running = RunningEvaluation(TRUTH)
    running.add(good)
    with pytest.raises(RefereeError) as failure:
        running.add(oracle.detections([(2, 1, 0.9, *BOX), bad]))
    assert failure.value.code == code
    assert running.evaluation() == evaluate(TRUTH, good)


@pytest.mark.parametrize(
    ("metric", "iou", "code"),
    [("mean", None, "unknown-metric"), ("coco", None, "metric-not-running"), ("lpirc", 0.0, "bad-iou")],
)
def test_what_evaluate_refuses_is_refused(metric: str, iou: float | None, code: str) -> None:
    with pytest.raises(RefereeError) as failure:
        RunningEvaluation(TRUTH, metric, iou)
    assert failure.value.code == code


def test_an_evaluation_that_was_read_does_not_change() -> None:
    running = RunningEvaluation(TRUTH)
    before = running.evaluation()
    running.add(oracle.detections([(1, 1, 0.9, *BOX)]))
    running.evaluation()
    assert before == evaluate(TRUTH, oracle.detections([]))


def test_only_categories_with_new_detections_are_averaged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    averaged: list[int] = []

    def average(ranks: np.ndarray, objects: int) -> float:
        averaged.append(objects)
        return area_under_envelope(ranks, objects)

    truth = oracle.ground_truth([1], [1, 2], [(1, 1, *BOX), (1, 1, *FAR), (1, 2, *BOX)])
    monkeypatch.setitem(rules_module.RULES, "lpirc", replace(RULES["lpirc"], average=average))
    running = RunningEvaluation(truth)
    averaged.clear()
    running.add(oracle.detections([(1, 2, 0.9, *BOX)]))
    assert (running.map, running.map) == (0.5, 0.5)
    assert averaged == [1]  # the one object of category 2, once


def test_only_groups_with_new_pairs_are_matched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    matched: list[int] = []
    rule = RULES["lpirc"]

    def outcomes(pairs, detections, ignored):
        matched.append(detections)
        return rule.outcomes(pairs, detections, ignored)

    monkeypatch.setitem(rules_module.RULES, "lpirc", replace(rule, outcomes=outcomes))
    running = RunningEvaluation(TRUTH)
    for batch in (
        [(1, 1, 0.9, *BOX), (1, 1, 0.8, *BOX)],
        [(2, 1, 0.7, *BOX)],
        [(1, 1, 0.6, *FAR), (2, 1, 0.6, *FAR)],
        [(1, 1, 0.6, *NEAR)],
    ):
        running.add(oracle.detections(batch))
        running.evaluation()
    assert matched == [2, 1, 3]
