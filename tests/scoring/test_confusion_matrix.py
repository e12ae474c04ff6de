"""The confusion matrix, assigned again one detection after the other; and what its rows and columns add up to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lpirc_score import (
    METRICS,
    CodedError,
    Detections,
    GroundTruth,
    confusion_matrix,
    label_candidates,
)
from lpirc_score.metrics.offered import rule_shown
from tests.scoring import oracle
from tests.scoring.test_coco import random_set

BOX = (0.0, 0.0, 9.0, 9.0)


def coco_overlap(one: list[float], other: list[float], crowd: bool) -> float:
    width = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    height = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    own = one[2] * one[3]
    return shared / (own if crowd else own + other[2] * other[3] - shared)


def shares(
    truth: GroundTruth,
    found: Detections,
    row: int,
    is_coco: bool,
) -> list[tuple[int, float]]:
    """The objects of the row's image, each with its overlap."""
    shared = []
    for one in np.flatnonzero(truth.image == found.image[row]).tolist():
        if is_coco:
            boxes = (found.coco_boxes[row].tolist(), truth.coco_boxes[one].tolist())
            shared.append((one, coco_overlap(*boxes, bool(truth.crowd[one]))))
        elif not truth.crowd[one]:
            corners = (found.boxes[row].tolist(), truth.boxes[one].tolist())
            shared.append((one, oracle.overlap(*map(tuple, corners))))
    return shared


def assigned(
    truth: GroundTruth,
    found: Detections,
    metric: str,
    confidence: float,
) -> list[list[int]]:
    """The counts, in loops."""
    is_coco = metric == "coco"
    rule = rule_shown(metric)
    ids = truth.category_ids.tolist()
    needed = rule.thresholds(truth.boxes, 0.5)
    if is_coco:
        needed = np.full(len(needed), 0.5)
    ignored = truth.crowd | (truth.difficult & rule.ignores_difficult & (not is_coco))
    counts = [[0] * (len(ids) + 1) for _ in range(len(ids) + 1)]
    taken = set()
    rows = sorted(range(len(found)), key=lambda row: (-found.confidence[row], row))
    for row in rows:
        if found.confidence[row] < confidence:
            continue
        met = [
            (one, shared)
            for one, shared in shares(
                truth,
                found,
                row,
                is_coco,
            )
            if shared > 0 and shared >= needed[one]
        ]
        free = [each for each in met if not ignored[each[0]] and each[0] not in taken]
        sent = ids.index(int(found.category[row]))
        if free:
            best = max(free, key=lambda each: (each[1], -each[0]))[0]
            taken.add(best)
            counts[ids.index(int(truth.category[best]))][sent] += 1
        elif not any(ignored[one] for one, _ in met):
            counts[-1][sent] += 1
    for one in np.flatnonzero(~ignored).tolist():
        if one not in taken:
            counts[ids.index(int(truth.category[one]))][-1] += 1
    return counts


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("confidence", [0.0, 0.25, 0.5])
def test_one_detection_after_the_other_gives_the_same_counts(
    metric: str,
    confidence: float,
) -> None:
    for seed in range(25):
        truth, found, _ = random_set(seed)
        # Where confidences are equal, some metrics go by image and some by arrival; within an image both are arrival.
        order = np.argsort(found.image, kind="stable")
        columns = (found.image, found.category, found.confidence, found.boxes)
        coco_boxes = np.abs(found.coco_boxes[order])
        found = Detections(*(one[order] for one in columns), coco_boxes)
        matrix = confusion_matrix(
            truth,
            found,
            metric,
            confidence=confidence,
        )
        assert matrix.counts.tolist() == assigned(
            truth,
            found,
            metric,
            confidence,
        )
        assert matrix.ids == tuple(truth.category_ids.tolist())
        assert matrix.names[-1] == "background"


def test_rows_are_objects_and_columns_detections() -> None:
    truth = oracle.ground_truth(
        [1],
        [3, 7],
        [(1, 3, *BOX), (1, 7, 50, 0, 59, 9), (1, 7, 90, 0, 99, 9)],
    )
    rows = [
        (1, 7, 0.9, *BOX),
        (1, 3, 0.8, *BOX),
        (1, 7, 0.7, 50, 0, 59, 9),
        (1, 3, 0.2, 90, 0, 99, 9),
    ]
    matrix = confusion_matrix(truth, oracle.detections(rows))
    assert matrix.counts.tolist() == [[0, 1, 0], [0, 1, 1], [1, 0, 0]]
    assert matrix.shares.tolist() == [[0, 1, 0], [0, 0.5, 0.5], [1, 0, 0]]
    lower = confusion_matrix(truth, oracle.detections(rows), confidence=0.1)
    assert lower.counts.tolist() == [[0, 1, 0], [1, 1, 0], [1, 0, 0]]


def test_a_set_without_anything_has_a_matrix_of_zeros() -> None:
    truth = oracle.ground_truth([1], [1, 2], [])
    matrix = confusion_matrix(truth, oracle.detections([]))
    assert matrix.counts.tolist() == matrix.shares.tolist() == [[0, 0, 0]] * 3


def test_what_is_not_a_number_is_refused() -> None:
    truth, found, _ = random_set(3)
    for wrong, said in (
        (float("nan"), "is NaN"),
        (50, "50 was given as least confidence, .* such as 0.5 for 50 %"),
    ):
        for analysis in (confusion_matrix, label_candidates):
            with pytest.raises(CodedError, match=said):
                analysis(truth, found, confidence=wrong)
    in_percent = replace(found, confidence=found.confidence * 100)
    assert confusion_matrix(truth, in_percent, confidence=50).counts.any()
    odd = replace(found, confidence=np.full(len(found), np.nan))
    with pytest.raises(CodedError, match="The confidence of row 0 of") as refused:
        confusion_matrix(truth, odd)
    assert refused.value.code == "not-finite"
