"""AP by size for metrics with one threshold: counted again from the objects that the error analysis says were found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lpirc_score import (
    METRICS,
    CodedError,
    Detections,
    GroundTruth,
    ap_by_size,
    evaluate,
)
from lpirc_score.analysis.error_matching import TRUE, find
from lpirc_score.metrics.offered import rule_named
from tests.scoring import oracle
from tests.scoring.test_coco import random_set

RULES = METRICS[:4]
LIMITS = {
    "all": (0, 1e10),
    "small": (0, 1024),
    "medium": (1024, 9216),
    "large": (9216, 1e10),
}


def counted(
    truth: GroundTruth,
    found: Detections,
    metric: str,
    name: str,
) -> dict[int, float | None]:
    """The AP of each category in a range, in loops."""
    rule = rule_named(metric)
    matched = find(
        truth,
        found,
        rule,
        rule.iou,
    )
    least, most = LIMITS[name]
    aps: dict[int, float | None] = {}
    for place, id_ in enumerate(truth.category_ids.tolist()):
        total = sum(
            bool(least <= truth.area[one] <= most)
            for one in np.flatnonzero(matched.objects).tolist()
            if matched.object_category[one] == place
        )
        ranks = []
        rank = 0
        for row in matched.members.tolist():
            if matched.category[row] != place or not matched.counted[row]:
                continue
            left, top, right, bottom = found.boxes[row].tolist()
            area = (right - left + 1) * (bottom - top + 1)
            if found.coco_boxes is not None:
                area = found.coco_boxes[row, 2] * found.coco_boxes[row, 3]
            is_true = matched.outcome[row] == TRUE
            if is_true:
                area = truth.area[matched.object[row]]
            if least <= area <= most:
                rank += 1
                if is_true:
                    ranks.append(rank)
        aps[id_] = rule.average(np.array(ranks, np.int64), total) if total else None
    return aps


@pytest.mark.parametrize("metric", RULES)
def test_a_range_selects_from_what_the_metric_matched(metric: str) -> None:
    for seed in range(60):
        truth, found, _ = random_set(seed)
        sizes = ap_by_size(truth, found, metric)
        for name, one in sizes.items():
            assert one.ap == pytest.approx(
                counted(
                    truth,
                    found,
                    metric,
                    name,
                )
            )
            known = [ap for ap in one.ap.values() if ap is not None]
            mean = sum(known) / len(known) if known else None
            assert one.map == pytest.approx(mean)


@pytest.mark.parametrize("metric", RULES)
def test_all_sizes_together_have_the_ap_of_the_metric(metric: str) -> None:
    for seed in range(60):
        truth, found, _ = random_set(seed)
        truth = replace(truth, area=np.full(len(truth.image), 50.0))
        sizes = np.minimum(np.abs(found.boxes), 1e4)
        corner = np.minimum(sizes[:, :2], sizes[:, 2:])
        boxes = np.hstack([corner, np.maximum(sizes[:, :2], sizes[:, 2:])])
        found = replace(found, boxes=boxes, coco_boxes=None)
        every = ap_by_size(truth, found, metric)["all"]
        whole = evaluate(truth, found, metric)
        assert every.ap == whole.ap
        assert every.map == whole.map


def test_an_object_on_a_limit_is_in_both_ranges_as_in_coco() -> None:
    box = (0, 0, 31, 31)
    truth = oracle.ground_truth([1], [1], [(1, 1, *box)])
    truth = replace(truth, area=np.array([1024.0]))
    found = oracle.detections([(1, 1, 0.9, *box)])
    sizes = ap_by_size(truth, found, "lpirc")
    assert [one.map for one in sizes.values()] == [
        1.0,
        1.0,
        1.0,
        None,
    ]
    assert [one.objects for one in sizes.values()] == [
        1,
        1,
        1,
        0,
    ]


def test_another_threshold_counts_at_that_threshold() -> None:
    truth = oracle.ground_truth([1], [1], [(1, 1, 0, 0, 9, 9)])
    found = oracle.detections([(1, 1, 0.9, 0, 0, 9, 6)])
    assert ap_by_size(truth, found, "lpirc")["small"].map == 1.0
    assert (
        ap_by_size(
            truth,
            found,
            "lpirc",
            0.75,
        )["small"].map
        == 0.0
    )


def test_coco_sets_its_own_thresholds() -> None:
    truth, found, _ = random_set(3)
    with pytest.raises(CodedError, match="ten IoU thresholds"):
        ap_by_size(
            truth,
            found,
            "coco",
            0.5,
        )
