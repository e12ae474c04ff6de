"""Entries compared on the same images: what the parts say one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lpirc_score import CodedError, compare, evaluate
from lpirc_score.analysis.halves import half_maps
from lpirc_score.analysis.interval import Halved, chance_of_order, map_intervals
from lpirc_testsets.box_corners import coco_from_corners
from tests.scoring.test_slices import mixed


@pytest.mark.parametrize("metric", ["lpirc", "coco"])
def test_a_comparison_has_what_its_parts_say(metric: str) -> None:
    truth, better = mixed(1)
    truth = replace(truth, coco_boxes=coco_from_corners(truth.boxes))
    kept = np.random.default_rng(0).random(len(better)) < 0.7
    worse = better.of_rows(kept)
    got = compare(truth, {"few": worse, "all": better}, metric)
    drawn = {}
    for name, found in (("few", worse), ("all", better)):
        evaluation = evaluate(truth, found, metric)
        assert got.evaluations[name] == evaluation
        halves = half_maps(truth, found, metric)
        assert got.intervals[name] == map_intervals(evaluation.map, halves)
        drawn[name] = Halved(evaluation.map, halves, images="same")
    (order,) = got.orders
    assert (order.metric, order.first, order.second) == (metric, "all", "few")
    assert order.chance == chance_of_order(drawn["all"], drawn["few"])
    assert order.chance > 0.9


def test_equal_entries_are_a_coin() -> None:
    truth, found = mixed(2)
    got = compare(truth, {"a": found, "b": found, "c": found})
    assert [(one.first, one.second) for one in got.orders] == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    assert {one.chance for one in got.orders} == {0.5}


def test_one_entry_has_intervals_and_no_order() -> None:
    truth, found = mixed(3)
    got = compare(truth, {"a": found})
    assert got.orders == ()
    low, high = got.intervals["a"].mean
    assert low < got.evaluations["a"].map < high


def test_another_threshold_and_a_blacklist_hold_for_all() -> None:
    truth, found = mixed(4)
    banned = [(int(truth.image_ids[0]), int(truth.category_ids[0]))]
    got = compare(
        truth,
        {"a": found},
        "lpirc",
        0.75,
        banned,
    )
    assert got.evaluations["a"] == evaluate(
        truth,
        found,
        "lpirc",
        0.75,
        banned,
    )
    with pytest.raises(CodedError):
        compare(
            truth,
            {"a": found},
            "coco",
            0.75,
        )
