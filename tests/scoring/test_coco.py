"""The COCO metric, held against pycocotools on random sets that are full of the cases that matter."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from lpirc_score import Counts, Detections, Evaluation, evaluate
from lpirc_score.metrics import groups as groups_module
from lpirc_score.metrics import matching as matching_module
from lpirc_score.metrics.coco_reference import evaluate_with_pycocotools
from lpirc_testsets import GroundTruth
from lpirc_testsets.box_corners import coco_from_corners, corners_from_coco
from referee.errors import RefereeError

EXACT = 1e-12
IN_A_ROW = 13
SIDES = [0, 1, 4, 8, 16, 31.5, 32, 33, 60, 96, 97, 150]


def truth_of(
    rows: list[tuple[int, int, tuple[float, ...]]],
    crowd: list[bool] | None = None,
    area: list[float] | None = None,
    images: tuple[int, ...] = (1, 2),
    categories: tuple[int, ...] = (1, 2),
) -> GroundTruth:
    boxes = np.array([row[2] for row in rows], float).reshape(-1, 4)
    return GroundTruth(
        image_ids=np.array(images),
        image_names=("",) * len(images),
        category_ids=np.array(categories),
        category_names=tuple(map(str, categories)),
        image=np.array([row[0] for row in rows], np.int64),
        category=np.array([row[1] for row in rows], np.int64),
        boxes=corners_from_coco(boxes),
        difficult=np.zeros(len(rows), bool),
        crowd=np.array(crowd if crowd is not None else [False] * len(rows), bool),
        area=boxes[:, 2] * boxes[:, 3] if area is None else np.array(area, float),
        coco_boxes=boxes,
    )


def found_of(
    rows: list[tuple[int, int, float, tuple[float, ...]]],
) -> Detections:
    boxes = np.array([row[3] for row in rows], float).reshape(-1, 4)
    return Detections(
        image=np.array([row[0] for row in rows], np.int64),
        category=np.array([row[1] for row in rows], np.int64),
        confidence=np.array([row[2] for row in rows], float),
        boxes=corners_from_coco(boxes),
        coco_boxes=boxes,
    )


def random_boxes(
    chance: np.random.Generator,
    count: int,
    spread: int,
) -> np.ndarray:
    # Equal boxes in a row: a box between two others overlaps both alike.
    if spread == IN_A_ROW:
        left = 4.0 * chance.integers(0, spread, count)
        return np.column_stack([left, np.zeros(count), np.full((count, 2), 20.0)])
    corner = chance.integers(0, spread, (count, 2)) * chance.choice([1.0, 0.5, 0.3])
    return np.hstack([corner, chance.choice(SIDES, (count, 2))])


def random_set(seed: int) -> tuple[GroundTruth, Detections, set[tuple[int, int]]]:
    chance = np.random.default_rng(seed)
    images = np.sort(
        chance.choice([0, 1, 2, 5, 9, 2**40], chance.integers(1, 6), replace=False)
    )
    categories = np.sort(
        chance.choice([0, 1, 3, 90], chance.integers(1, 4), replace=False)
    )
    spread = int(chance.choice([2, 12, IN_A_ROW, 60]))
    pool = random_boxes(chance, chance.integers(1, 12), spread)
    objects = int(chance.integers(0, 40))
    detections = int(chance.choice([0, 5, 60, 400]))
    # Crowded, with few detections, so that it matters which of two objects is taken.
    if spread == IN_A_ROW:
        images = images[:1]
        categories = categories[:1]
        objects = int(chance.integers(2, 9))
        detections = int(chance.integers(2, 9))
        pool = random_boxes(chance, 40, spread)
    boxes = np.where(
        chance.random((objects, 1)) < 0.6,
        pool[chance.integers(0, len(pool), objects)],
        0,
    )
    boxes = np.where(
        boxes.any(axis=1, keepdims=True),
        boxes,
        random_boxes(chance, objects, spread),
    )
    truth = GroundTruth(
        image_ids=images,
        image_names=("",) * len(images),
        category_ids=categories,
        category_names=tuple(map(str, categories)),
        image=chance.choice(images, objects),
        category=chance.choice(categories, objects),
        boxes=corners_from_coco(boxes),
        difficult=chance.random(objects) < 0.2,
        crowd=chance.random(objects) < chance.choice([0, 0.3]),
        area=boxes[:, 2] * boxes[:, 3] * chance.choice([1, 0.25, 1.5], objects),
        coco_boxes=boxes,
    )
    found = pool[chance.integers(0, len(pool), detections)]
    shift = chance.choice([0, 0, 0, 1, 4], (detections, 4))
    if spread != IN_A_ROW:
        found = found + shift
    found[chance.random(detections) < 0.03, 2] *= -1
    confidence = chance.choice([0.1, 0.3, 0.5, 0.7, 0.9], detections)
    confidence = np.where(
        chance.random(detections) < 0.5,
        chance.random(detections),
        confidence,
    )
    submission = Detections(
        image=chance.choice(images, detections),
        category=chance.choice(categories, detections),
        confidence=confidence,
        boxes=corners_from_coco(found),
        coco_boxes=found,
    )
    banned = {(int(images[0]), int(categories[-1]))} if chance.random() < 0.2 else set()
    return truth, submission, banned


def assert_same(
    ours: Evaluation,
    theirs: Evaluation,
) -> None:
    assert ours.summary == pytest.approx(theirs.summary, abs=EXACT)
    assert ours.ap == pytest.approx(theirs.ap, abs=EXACT)
    assert ours.ap50 == pytest.approx(theirs.ap50, abs=EXACT)
    assert ours.ap75 == pytest.approx(theirs.ap75, abs=EXACT)
    assert ours.map == pytest.approx(theirs.map, abs=EXACT)
    assert ours.counts == theirs.counts
    assert ours.categories_with_ground_truth == theirs.categories_with_ground_truth


@pytest.mark.parametrize("part", range(5))
def test_both_engines_agree_on_random_sets(part: int) -> None:
    for seed in range(40 * part, 40 * part + 12):
        truth, found, banned = random_set(seed)
        ours = evaluate(truth, found, "coco", blacklist=banned)
        assert_same(ours, evaluate_with_pycocotools(truth, found, banned))


def test_both_engines_agree_on_corners() -> None:
    for seed in range(8):
        truth, found, _ = random_set(seed)
        corners = replace(found, coco_boxes=None)
        assert_same(
            evaluate(truth, corners, "coco"),
            evaluate_with_pycocotools(truth, corners),
        )


def test_portions_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, found, _ = random_set(7)
    whole = evaluate(truth, found, "coco")
    monkeypatch.setattr(groups_module, "_BATCH", 1)
    monkeypatch.setattr(matching_module, "_PAIRS_AT_ONCE", 3)
    assert evaluate(truth, found, "coco") == whole


BOX = (10.0, 10.0, 40.0, 40.0)


def summary(
    truth: GroundTruth,
    found: Detections,
) -> dict[str, float | None]:
    result = evaluate(truth, found, "coco")
    assert_same(result, evaluate_with_pycocotools(truth, found))
    assert result.summary is not None
    return result.summary


def test_what_has_no_object_is_none() -> None:
    numbers = summary(
        truth_of([(1, 1, BOX)]),
        found_of([(1, 1, 0.5, BOX), (1, 2, 0.5, BOX)]),
    )
    assert (numbers["AP"], numbers["APmedium"], numbers["AR1"]) == pytest.approx(
        (1.0, 1.0, 1.0)
    )
    assert numbers["APsmall"] is None
    assert numbers["APlarge"] is None
    assert numbers["ARlarge"] is None


def test_nothing_at_all_is_none() -> None:
    empty = evaluate(truth_of([]), found_of([]), "coco")
    assert empty.map is None
    assert set(empty.ap.values()) == {None}
    assert set((empty.summary or {}).values()) == {None}
    assert set(summary(truth_of([(1, 1, BOX)]), found_of([])).values()) == {0.0, None}


def test_a_set_without_categories_has_no_figures_either() -> None:
    truth = truth_of([], categories=())
    evaluation = evaluate(truth, found_of([]), "coco")
    assert evaluation.counts == evaluation.ap == {}
    assert set((evaluation.summary or {}).values()) == {None}


def test_a_crowd_swallows_any_number_of_detections() -> None:
    truth = truth_of(
        [
            (1, 1, BOX),
            (1, 1, (100.0, 0.0, 99.0, 99.0)),
        ],
        crowd=[False, True],
    )
    inside = [(1, 1, 0.9, (110.0 + n, 10.0, 20.0, 20.0)) for n in range(5)]
    result = evaluate(truth, found_of([*inside, (1, 1, 0.5, BOX)]), "coco")
    assert result.counts[1] == Counts(1, 1, 0)
    assert result.map == pytest.approx(1.0)


def test_of_equal_overlaps_the_last_object_is_taken() -> None:
    twins = [
        (1, 1, (0.0, 0.0, 20.0, 20.0)),
        (1, 1, (8.0, 0.0, 20.0, 20.0)),
    ]
    rows = [
        (1, 1, 0.9, (4.0, 0.0, 20.0, 20.0)),
        (1, 1, 0.8, (0.0, 0.0, 20.0, 20.0)),
    ]
    true_positives = (
        evaluate(truth_of(twins), found_of(rows), "coco").counts[1].true_positives
    )
    assert true_positives == 2
    true_positives = (
        evaluate(truth_of(twins[::-1]), found_of(rows), "coco").counts[1].true_positives
    )
    assert true_positives == 1


def test_both_engines_agree_on_ties_of_overlap() -> None:
    for seed in range(50):
        chance = np.random.default_rng(seed)
        lefts = [
            chance.choice([0.0, 8.0, 16.0, 24.0], 4, replace=False),
            chance.choice(7, 6) * 4.0,
        ]
        boxes = [[(left, 0.0, 20.0, 20.0) for left in each.tolist()] for each in lefts]
        truth = truth_of([(1, 1, box) for box in boxes[0][: chance.integers(2, 5)]])
        found = found_of(
            [(1, 1, 1 / (place + 2), box) for place, box in enumerate(boxes[1])]
        )
        assert_same(
            evaluate(truth, found, "coco"),
            evaluate_with_pycocotools(truth, found),
        )


def test_the_hundred_and_first_detection_of_an_image_is_not_looked_at() -> None:
    misses = [(1, 1, 0.9, (200.0, 200.0, 40.0, 40.0))] * 100
    numbers = summary(truth_of([(1, 1, BOX)]), found_of([*misses, (1, 1, 0.5, BOX)]))
    assert numbers["AP"] == 0.0
    assert numbers["AR100"] == 0.0
    numbers = summary(
        truth_of([(1, 1, BOX)]),
        found_of([*misses[1:], (1, 1, 0.5, BOX)]),
    )
    assert numbers["AR10"] == 0.0
    assert numbers["AR100"] == 1.0


def test_the_stated_area_decides_the_range() -> None:
    numbers = summary(
        truth_of([(1, 1, BOX)], area=[100.0]),
        found_of([(1, 1, 0.9, BOX)]),
    )
    assert numbers["APsmall"] == pytest.approx(1.0)
    assert numbers["APmedium"] is None


def test_settings_and_numbers_that_cannot_be_are_refused() -> None:
    truth = truth_of([(1, 1, BOX)])
    with pytest.raises(RefereeError, match="ten IoU thresholds"):
        evaluate(truth, found_of([]), "coco", iou=0.5)
    for row, code in (
        ((3, 1, 0.5, BOX), "unknown-image"),
        ((1, 7, 0.5, BOX), "unknown-category"),
        ((1, 1, math.nan, BOX), "not-finite"),
    ):
        with pytest.raises(RefereeError) as failure:
            evaluate(truth, found_of([row]), "coco")
        assert failure.value.code == code


def test_signatures_tell_the_engines_apart() -> None:
    truth = truth_of([(1, 1, BOX)])
    found = found_of([])
    assert evaluate(truth, found, "coco").signature.startswith(
        "coco|iou:0.5:0.95|blacklist:none|rules:"
    )
    assert "|engine:pycocotools-" in evaluate_with_pycocotools(truth, found).signature


def test_corners_are_inclusive() -> None:
    boxes = np.array([[10.0, 10, 40, 40]])
    assert coco_from_corners(corners_from_coco(boxes)).tolist() == boxes.tolist()
    found = Detections.from_rows(np.array([[1, 1, 0.9, 10, 10, 49, 49]], float))
    assert evaluate(truth_of([(1, 1, BOX)]), found, "coco").summary == summary(
        truth_of([(1, 1, BOX)]),
        found_of([(1, 1, 0.9, BOX)]),
    )
