"""What must hold for any ground truth and any detections; the oracle says it slowly."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpirc_score import METRICS, evaluate
from lpirc_score.metrics.offered import rule_named
from lpirc_score.metrics.one_threshold import maps_over_time
from lpirc_testsets import GroundTruth
from tests.scoring import oracle
from tests.scoring.mending import chosen

EXACT = 1e-12


@st.composite
def corners(draw: st.DrawFn) -> oracle.Box:
    # Small whole and half pixels: exact halves, touching and equal boxes come up by themselves.
    step = st.integers(-2, 12).map(lambda half: half / draw(st.sampled_from([1, 2])))
    left = draw(step)
    top = draw(step)
    size = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 9.0])
    return left, top, left + draw(size), top + draw(size)


@st.composite
def contests(
    draw: st.DrawFn,
) -> tuple[GroundTruth, list[oracle.DetectionRow], set[tuple[int, int]]]:
    ids = st.integers(1, 9) | st.sampled_from([20180000001, 20180000500, 2**40])
    images = sorted(draw(st.sets(ids, min_size=1, max_size=3)))
    categories = sorted(draw(st.sets(st.integers(1, 200), min_size=1, max_size=3)))
    image = st.sampled_from(images)
    category = st.sampled_from(categories)
    # A few boxes that recur: else a random detection would rarely meet a random object.
    box = st.sampled_from(draw(st.lists(corners(), min_size=1, max_size=5)))
    objects = draw(st.lists(st.tuples(image, category, box), max_size=10))
    confidence = st.sampled_from([0.1, 0.5, 0.5, 0.9, -1.0, 0.0, -0.0])
    found = draw(st.lists(st.tuples(image, category, confidence, box), max_size=24))
    crowd = draw(
        st.lists(st.sampled_from([False, False, False, True]), min_size=10, max_size=10)
    )
    truth = oracle.ground_truth(
        images,
        categories,
        [(i, c, *b) for i, c, b in objects],
        crowd=crowd[: len(objects)],
    )
    return (
        truth,
        [(i, c, p, *b) for i, c, p, b in found],
        draw(st.sets(st.tuples(image, category), max_size=2)),
    )


@pytest.mark.parametrize("metric", METRICS[:2])
@given(contests(), st.sampled_from([0.3, 0.5, 0.75, 1.0]))
def test_the_oracle_agrees(
    metric: str,
    contest: tuple,
    iou: float,
) -> None:
    truth, rows, blacklist = contest
    got = evaluate(truth, oracle.detections(rows), metric, iou, blacklist)
    expected = oracle.answer(truth, rows, metric, iou, blacklist)
    assert got.counts == expected.counts
    assert got.ap == pytest.approx(expected.ap, abs=EXACT)
    assert got.map == pytest.approx(expected.map, abs=EXACT)
    assert got.map is None or 0.0 <= got.map <= 1.0


@pytest.mark.parametrize("metric", ["voc-area", "voc-11"])
@given(contests(), st.sampled_from([0.3, 0.5, 0.75, 1.0]), st.integers(0, 2**30))
def test_the_voc_oracle_agrees(
    metric: str,
    contest: tuple,
    iou: float,
    seed: int,
) -> None:
    truth, rows, blacklist = contest
    # One flag for a box wherever it recurs, so that the oracle can tell objects by their boxes.
    hard = [hash((seed, *box)) % 4 == 0 for box in truth.boxes.tolist()]
    truth = replace(truth, difficult=np.array(hard, np.bool_))
    got = evaluate(truth, oracle.detections(rows), metric, iou, blacklist)
    expected = oracle.voc_answer(truth, rows, metric, iou, blacklist)
    assert got.counts == expected.counts
    assert got.ap == pytest.approx(expected.ap, abs=EXACT)
    assert got.map == pytest.approx(expected.map, abs=EXACT)
    assert got.map is None or 0.0 <= got.map <= 1.0


@pytest.mark.parametrize("metric", METRICS[:4])
@settings(max_examples=15)
@given(contests(), st.data())
def test_the_map_over_time_is_that_of_what_is_there(
    metric: str,
    contest: tuple,
    data: st.DataObject,
) -> None:
    truth, rows, _ = contest
    truth = replace(truth, difficult=truth.boxes[:, 0] > 3)
    moments = st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))
    since = np.array(data.draw(moments), np.int64)
    found = oracle.detections(rows)
    expected = [
        evaluate(truth, chosen(found, np.flatnonzero(since <= at)), metric).map or 0.0
        for at in range(3)
    ]
    values = maps_over_time(truth, found, since, 3, rule_named(metric)).tolist()
    assert values == expected


@given(contests(), st.randoms(use_true_random=False))
def test_the_network_cannot_change_a_score(
    contest: tuple,
    chance: random.Random,
) -> None:
    truth, rows, _ = contest
    waiting = {
        image: [row for row in rows if row[0] == image]
        for image in truth.image_ids.tolist()
    }
    mixed = []
    while any(waiting.values()):
        mixed.append(
            waiting[
                chance.choice([image for image, left in waiting.items() if left])
            ].pop(0)
        )
    ap = evaluate(truth, oracle.detections(mixed)).ap
    assert ap == evaluate(truth, oracle.detections(rows)).ap


@given(contests(), st.integers(1, 10**9))
def test_image_numbers_carry_no_weight(
    contest: tuple,
    stride: int,
) -> None:
    truth, rows, _ = contest
    new = {
        image: 7 + stride * place
        for place, image in enumerate(truth.image_ids.tolist())
    }
    objects = [
        (new[i], c, *box)
        for i, c, box in zip(
            truth.image.tolist(),
            truth.category.tolist(),
            truth.boxes.tolist(),
            strict=True,
        )
    ]
    renamed = oracle.ground_truth(
        sorted(new.values()),
        truth.category_ids.tolist(),
        objects,
        truth.crowd.tolist(),
    )
    moved = oracle.detections([(new[row[0]], *row[1:]) for row in rows])
    assert evaluate(renamed, moved).ap == evaluate(truth, oracle.detections(rows)).ap


@given(contests(), st.permutations(range(3)))
def test_image_numbers_may_be_permuted_when_no_confidence_recurs(
    contest: tuple,
    order: list[int],
) -> None:
    truth, rows, _ = contest
    ids = truth.image_ids.tolist()
    new = dict(
        zip(ids, [ids[place] for place in order if place < len(ids)], strict=True)
    )
    distinct = [(r[0], r[1], 1 / (n + 2), *r[3:]) for n, r in enumerate(rows)]
    objects = [
        (new[i], c, *box)
        for i, c, box in zip(
            truth.image.tolist(),
            truth.category.tolist(),
            truth.boxes.tolist(),
            strict=True,
        )
    ]
    renamed = oracle.ground_truth(
        ids,
        truth.category_ids.tolist(),
        objects,
        truth.crowd.tolist(),
    )
    moved = oracle.detections([(new[row[0]], *row[1:]) for row in distinct])
    ap = evaluate(renamed, moved).ap
    assert ap == evaluate(truth, oracle.detections(distinct)).ap


@given(contests())
def test_perfect_detections_have_a_map_of_one(contest: tuple) -> None:
    truth, _, _ = contest
    objects = list(
        zip(
            truth.image.tolist(),
            truth.category.tolist(),
            truth.boxes.tolist(),
            strict=True,
        )
    )
    counted = [
        (i, c, 0.5, *b)
        for (i, c, b), crowd in zip(objects, truth.crowd, strict=True)
        if not crowd
    ]
    assert evaluate(truth, oracle.detections(counted)).map == (1.0 if counted else None)


@given(contests())
def test_a_later_false_positive_of_lowest_confidence_changes_nothing(
    contest: tuple,
) -> None:
    truth, rows, _ = contest
    image = int(truth.image_ids[0])
    category = int(truth.category_ids[0])
    more = [*rows, (image, category, -9.0, 900.0, 900.0, 901.0, 901.0)]
    ap = evaluate(truth, oracle.detections(more)).ap
    assert ap == evaluate(truth, oracle.detections(rows)).ap
