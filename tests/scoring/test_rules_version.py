"""A score of fixed inputs for each version of the scoring rules: neither changes without the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from lpirc_score import METRICS, Detections, evaluate
from lpirc_score.metrics.evaluation_result import RULES_VERSION, signature_parts
from lpirc_testsets import GroundTruth
from tests.scoring import oracle

# If a test here fails, a score has changed. Where that is meant, raise RULES_VERSION and add its mAPs; keep the others.
GOLDEN: dict[int, dict[str, float]] = {
    1: {
        "lpirc": 0.246682150638033,
        "ilsvrc-det": 0.41167517039869594,
        "voc-area": 0.25117649531012703,
        "voc-11": 0.24317891188095792,
        "coco": 0.13405200436796277,
    },
}
EXACT = 1e-12


def numbers(most: int) -> Iterator[int]:
    """Whole numbers below `most` that no library can change: a linear congruence."""
    state = 20150607
    while True:
        state = (state * 1103515245 + 12345) % 2**31
        yield (state >> 8) % most


def fixed_contest() -> tuple[GroundTruth, Detections]:
    """Small, large, difficult and crowded objects; detections near them, twice or nowhere, many of one confidence."""
    chance = numbers(1 << 20)
    # Overlaps of exactly one half, and of exactly what a square of five pixels asks for; three objects of ten.
    objects: list[oracle.ObjectRow] = [
        (1, 1, 0.0, 0.0, 9.0, 9.0),
        (9, 1, 50.0, 50.0, 54.0, 54.0),
    ]
    rows: list[oracle.DetectionRow] = [
        (1, 1, 0.9, 0.0, 0.0, 19.0, 9.0),
        (9, 1, 0.9, 54.0, 50.0, 58.0, 54.0),
    ]
    objects += [(9, 5, left, 0.0, left + 20, 20.0) for left in range(0, 300, 30)]
    rows += [(9, 5, 0.5, *box) for _, _, *box in objects[-3:]]  # type: ignore[arg-type]
    for _ in range(60):
        image, category, left, top, wide, high, copies = islice(chance, 7)
        size = 4 if wide % 3 == 0 else 30
        box = [left % 200, top % 200]
        box += [box[0] + size + wide % size, box[1] + size + high % size]
        objects.append((1 + image % 8, 1 + category % 4, *map(float, box)))  # type: ignore[arg-type]
        for _ in range(copies % 4):
            confidence, *shifts = islice(chance, 5)
            shaken = [
                side + shift % max(5, size // 3)
                for side, shift in zip(box, shifts, strict=True)
            ]
            rows.append(
                (
                    1 + image % 8,
                    1 + category % 4,
                    (confidence % 10) / 10,
                    *map(float, shaken),
                )
            )  # type: ignore[arg-type]
    for image, category, confidence, left in zip(
        *(islice(chance, 40) for _ in range(4)),
        strict=True,
    ):
        box = [left % 99 + edge for edge in (0, 5, 20, 40)]
        rows.append((1 + image % 9, 1 + category % 4, confidence % 10 / 10, *box))  # type: ignore[arg-type]
    marks = [
        0 if row[1] == 5 else one for row, one in zip(objects, chance, strict=False)
    ]
    truth = oracle.ground_truth(
        range(1, 10),
        range(1, 6),
        objects,
        [one % 13 == 12 for one in marks],
        [one % 7 == 1 for one in marks],
    )
    wide_high = truth.boxes[:, 2:] - truth.boxes[:, :2] + 1
    coco_boxes = np.hstack([truth.boxes[:, :2], wide_high])
    return replace(
        truth,
        area=wide_high.prod(axis=1),
        coco_boxes=coco_boxes,
    ), oracle.detections(rows)


@pytest.mark.parametrize("metric", METRICS)
def test_the_version_of_the_rules_changes_whenever_a_score_does(metric: str) -> None:
    truth, found = fixed_contest()
    evaluation = evaluate(truth, found, metric)
    assert evaluation.map == pytest.approx(GOLDEN[RULES_VERSION][metric], abs=EXACT)
    assert signature_parts(evaluation.signature)["rules"] == str(RULES_VERSION)


def test_the_fixed_contest_tells_the_metrics_and_their_versions_apart() -> None:
    assert len(
        {value for scores in GOLDEN.values() for value in scores.values()}
    ) == len(GOLDEN) * len(METRICS)


def test_parts_are_read_by_name_and_a_later_one_cannot_pose_as_an_earlier() -> None:
    parts = signature_parts(
        "lpirc|iou:0.5|rules:1|mode:rms|meter:ACME X|rules:9|mode:dc 1|metric:coco"
    )
    assert parts["metric"] == "lpirc"
    assert parts["rules"] == "1"
    assert parts["mode"] == "rms"
    assert signature_parts("coco|iou:0.5:0.95")["iou"] == "0.5:0.95"
    assert "rules" not in signature_parts(
        "lpirc|iou:0.5|blacklist:none|v:0.1.0|window:600s|meter:None"
    )
