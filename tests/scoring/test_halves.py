"""Against the slow and obvious way: take the objects and detections of a half, and evaluate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpirc_score import METRICS, evaluate
from lpirc_score.analysis import halves as halves_module
from lpirc_score.analysis.halves import (
    HALVES,
    PAIRS,
    half_averages,
    half_maps,
    halves_of,
    mean_of_categories,
)
from lpirc_score.metrics.detection_columns import Detections
from lpirc_testsets import GroundTruth
from tests.scoring import oracle

EXACT = 1e-12
BOX = (10.0, 10.0, 29.0, 29.0)
BOXES = st.sampled_from(
    [
        (0, 0, 9, 9),
        (1, 0, 10, 9),
        (0, 2, 9, 11),
        (50, 50, 59, 59),
    ]
)
CONFIDENCES = st.sampled_from([0.5, 0.5, 0.9, 0.3, 0.1])


@st.composite
def contests(draw: st.DrawFn) -> tuple[GroundTruth, Detections, set[tuple[int, int]]]:
    images = draw(st.sampled_from([[1], [1, 2], [4, 5, 9], [2, 3, 5, 7, 11, 13]]))
    image = st.sampled_from(images)
    category = st.sampled_from([1, 2])
    objects = draw(st.lists(st.tuples(image, category, BOXES), max_size=10))
    rows = draw(st.lists(st.tuples(image, category, CONFIDENCES, BOXES), max_size=24))
    truth = oracle.ground_truth(images, [1, 2], [(i, c, *box) for i, c, box in objects])
    count = len(objects)
    flags = st.lists(st.booleans(), min_size=count, max_size=count)
    difficult, crowd = (np.array(draw(flags), np.bool_) for _ in range(2))
    truth = replace(truth, difficult=difficult, crowd=crowd & ~difficult)
    found = oracle.detections([(i, c, p, *box) for i, c, p, box in rows])
    return truth, found, draw(st.sets(st.tuples(image, category), max_size=1))


def map_of_half(
    truth: GroundTruth,
    found: Detections,
    blacklist: set[tuple[int, int]],
    half: int,
    metric: str,
) -> float:
    """The mAP of the images of a half alone."""
    images = truth.image_ids[halves_of(len(truth.image_ids))[:, half]]
    part = truth.of_objects(np.isin(truth.image, images))
    names = ("",) * len(images)
    part = replace(part, image_ids=images, image_names=names)
    kept = np.isin(found.image, images)
    columns = (found.image, found.category, found.confidence, found.boxes)
    banned = {(image, category) for image, category in blacklist if image in images}
    evaluation = evaluate(
        part,
        Detections(*(column[kept] for column in columns)),
        metric,
        blacklist=banned,
    )
    return evaluation.map or 0.0


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=40)
@given(contests())
def test_the_map_of_each_half_is_the_metric_s_own(
    metric: str,
    contest: tuple,
) -> None:
    truth, found, blacklist = contest
    maps = half_maps(truth, found, metric, blacklist=blacklist)
    some = range(0, HALVES, 23)
    assert maps[some] == pytest.approx(
        [map_of_half(truth, found, blacklist, half, metric) for half in some],
        abs=EXACT,
    )


def some_contest(images: int = 40) -> tuple[GroundTruth, Detections]:
    chance = np.random.default_rng(3)
    objects = [(image, 1 + image % 3, *BOX) for image in range(1, images + 1)]
    rows: list[oracle.DetectionRow] = [
        (
            image,
            category,
            round(chance.random(), 1) + (left == 40.0) / 20,
            left,
            10.0,
            left + 19.0,
            29.0,
        )
        for image, category, *_ in objects
        for left in (10.0 + chance.integers(0, 9), 40.0)
    ]
    return oracle.ground_truth(
        range(1, images + 1),
        [1, 2, 3],
        objects,
    ), oracle.detections(rows)


@pytest.mark.parametrize("metric", METRICS)
def test_a_larger_contest_agrees_too_however_it_is_cut(
    metric: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    truth, found = some_contest()
    whole = half_maps(truth, found, metric)
    some = range(0, HALVES, 11)
    assert whole[some] == pytest.approx(
        [map_of_half(truth, found, set(), half, metric) for half in some],
        abs=EXACT,
    )
    monkeypatch.setattr(halves_module, "_CELLS_AT_ONCE", 100)
    assert half_maps(truth, found, metric).tolist() == whole.tolist()


def test_sums_have_an_order_that_a_loop_repeats_bit_by_bit() -> None:
    """By the words of docs/bundle.md, with plain Python."""
    truth, found = some_contest()
    averages = half_averages(truth, found, "lpirc")
    half = 7
    inside = {int(one) for one in truth.image_ids[halves_of(40)[:, half]]}
    for category, expected in zip((1, 2, 3), averages[:, half].tolist(), strict=True):
        objects = [
            i
            for i, c in zip(truth.image, truth.category, strict=True)
            if c == category and i in inside
        ]
        rows = sorted(
            (-float(p), int(i), place)
            for place, (i, c, p) in enumerate(
                zip(found.image, found.category, found.confidence, strict=True)
            )
            if c == category and i in inside
        )
        precisions = []
        taken = set()
        for rank, (_, image, place) in enumerate(rows, start=1):
            # Overlaps its image's object enough.
            if image not in taken and found.boxes[place][0] < 30:
                overlap = (BOX[2] + 1 - found.boxes[place][0]) / (
                    20 + found.boxes[place][0] - BOX[0]
                )
                if overlap >= 0.5:
                    taken.add(image)
                    precisions.append(len(taken) / rank)
        total = 0.0
        for at in range(len(precisions)):
            total += max(precisions[at:])
        assert total / len(objects) == expected


def test_a_category_has_its_halves_alone_as_with_the_others() -> None:
    truth, found = some_contest()
    whole = half_averages(truth, found, "lpirc", seed=4)
    assert whole.shape == (3, HALVES)
    values = mean_of_categories(whole).tolist()
    assert values == half_maps(truth, found, "lpirc", 4).tolist()
    alone = replace(
        truth.of_objects(truth.category == 2),
        category_ids=np.array([2]),
        category_names=("two",),
    )
    of_two = Detections(
        *(column[found.category == 2] for column in list(vars(found).values())[:4])
    )
    assert half_averages(alone, of_two, "lpirc", seed=4).tolist() == whole[1:2].tolist()
    without = half_averages(
        truth.of_objects(truth.category != 2),
        found,
        "lpirc",
        seed=4,
    )
    assert np.isnan(without[1]).all()
    assert without[[0, 2]].tolist() == whole[[0, 2]].tolist()


def test_the_seed_decides() -> None:
    truth, found = some_contest()
    one, same, other = (half_maps(truth, found, seed=seed) for seed in (1, 1, 2))
    assert one.tolist() == same.tolist()
    assert one.tolist() != other.tolist()


@pytest.mark.parametrize(
    ("truth", "rows", "value"),
    [
        (oracle.ground_truth([1, 2], [1], [(1, 1, *BOX), (2, 1, *BOX)]), [], 0.0),
        (oracle.ground_truth([], [], []), [], 0.0),
        (oracle.ground_truth([1, 2], [1], []), [(1, 1, 0.5, *BOX)], 0.0),
        (
            oracle.ground_truth([1, 2], [1], [(1, 1, *BOX), (2, 1, *BOX)]),
            [(1, 1, 0.5, *BOX), (2, 1, 0.4, *BOX)],
            1.0,
        ),
    ],
)
@pytest.mark.parametrize("metric", ["lpirc", "voc-11", "voc-area"])
def test_where_no_choice_of_images_matters_there_is_no_width(
    metric: str,
    truth: GroundTruth,
    rows: list[oracle.DetectionRow],
    value: float,
) -> None:
    assert set(half_maps(truth, oracle.detections(rows), metric).tolist()) == {value}


@pytest.mark.parametrize("images", [0, 1, 2, 7, 1000])
def test_the_halves_of_a_pair_share_the_images_out(images: int) -> None:
    drawn = halves_of(images)
    assert drawn.shape == (images, HALVES)
    assert (drawn[:, ::2] ^ drawn[:, 1::2]).all()
    assert set(drawn[:, ::2].sum(axis=0).tolist()) == {images // 2}


def test_the_halves_are_drawn_by_whole_numbers_that_any_machine_has() -> None:
    """The keys by the words of docs/bundle.md, with plain Python."""
    images = 9
    seed = 3
    mask = 2**64 - 1

    def key(place: int) -> int:
        state = (seed + (place + 1) * 0x9E3779B97F4A7C15) & mask
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
        state = (state ^ state >> 27) * 0x94D049BB133111EB & mask
        return state ^ state >> 31

    drawn = halves_of(images, seed)
    for pair in range(PAIRS):
        ranked = sorted(
            range(images),
            key=lambda image: (key(pair * images + image), image),
        )
        assert np.flatnonzero(drawn[:, 2 * pair]).tolist() == sorted(ranked[:4])


def test_half_of_the_pairs_split_two_images() -> None:
    together = (halves_of(200)[0, ::2] == halves_of(200)[1, ::2]).mean()
    assert together == pytest.approx(0.5, abs=0.15)
