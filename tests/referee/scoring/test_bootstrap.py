"""Against the slow and obvious way: build the resampled images with their objects and detections, and evaluate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lpirc_testsets import GroundTruth
from referee.errors import RefereeError
from referee.scoring import bootstrap as bootstrap_module
from referee.scoring import evaluate
from referee.scoring.bootstrap import (
    BOOTSTRAP_METRICS,
    bootstrap_samples,
    category_samples,
    centred,
    mean_of_categories,
    multiplicities,
)
from referee.scoring.columns import Detections
from referee.scoring.interval import middle
from tests.referee.scoring import oracle

RESAMPLES = 12
EXACT = 1e-12
BOX = (10.0, 10.0, 29.0, 29.0)
BOXES = st.sampled_from([(0, 0, 9, 9), (1, 0, 10, 9), (0, 2, 9, 11), (50, 50, 59, 59)])
CONFIDENCES = st.sampled_from([0.5, 0.5, 0.9, 0.3, 0.1])


@st.composite
def contests(draw: st.DrawFn) -> tuple[GroundTruth, Detections, set[tuple[int, int]]]:
    images = draw(st.sampled_from([[1], [1, 2], [4, 5, 9], [2, 3, 5, 7, 11, 13]]))
    image, category = st.sampled_from(images), st.sampled_from([1, 2])
    objects = draw(st.lists(st.tuples(image, category, BOXES), max_size=10))
    # No confidence recurs within an image and category: that is the case where copies stand otherwise.
    one_each = st.lists(
        st.tuples(image, category, CONFIDENCES, BOXES), max_size=24, unique_by=lambda row: row[:3]
    )
    rows = draw(one_each)
    truth = oracle.ground_truth(images, [1, 2], [(i, c, *box) for i, c, box in objects])
    found = oracle.detections([(i, c, p, *box) for i, c, p, box in rows])
    return truth, found, draw(st.sets(st.tuples(image, category), max_size=1))


def resampled_map(
    truth: GroundTruth,
    found: Detections,
    blacklist: set[tuple[int, int]],
    drawn: NDArray[np.integer],
    metric: str,
) -> float:
    """The mAP of the images drawn; each copy is an image of its own, next to the other copies of its image."""
    objects: list[oracle.ObjectRow] = []
    rows: list[oracle.DetectionRow] = []
    banned = set()
    copies = np.repeat(truth.image_ids, drawn)
    for copy, image in enumerate(copies.tolist(), start=1):
        objects += [
            (copy, int(truth.category[k]), *truth.boxes[k].tolist())
            for k in np.flatnonzero(truth.image == image)
        ]
        rows += [
            (copy, int(found.category[k]), float(found.confidence[k]), *found.boxes[k].tolist())
            for k in np.flatnonzero(found.image == image)
        ]
        banned |= {(copy, category) for of, category in blacklist if of == image}
    ids = range(1, len(copies) + 1)
    copied = oracle.ground_truth(ids, truth.category_ids.tolist(), objects)
    return evaluate(copied, oracle.detections(rows), metric, blacklist=banned).map


@pytest.mark.parametrize("metric", BOOTSTRAP_METRICS)
@given(contests(), st.integers(0, 2**32))
def test_each_sample_is_the_map_of_its_images(metric: str, contest: tuple, seed: int) -> None:
    truth, found, blacklist = contest
    samples = bootstrap_samples(truth, found, metric, RESAMPLES, seed, blacklist=blacklist)
    drawn = multiplicities(len(truth.image_ids), RESAMPLES, seed)
    expected = [
        resampled_map(truth, found, blacklist, drawn[:, sample], metric) for sample in range(RESAMPLES)
    ]
    assert samples == pytest.approx(expected, abs=EXACT)


def some_contest(images: int = 40) -> tuple[GroundTruth, Detections]:
    chance = np.random.default_rng(3)
    objects = [(image, 1 + image % 3, *BOX) for image in range(1, images + 1)]
    rows: list[oracle.DetectionRow] = [
        (image, category, round(chance.random(), 1) + (left == 40.0) / 20, left, 10.0, left + 19.0, 29.0)
        for image, category, *_ in objects
        for left in (10.0 + chance.integers(0, 9), 40.0)
    ]
    return oracle.ground_truth(range(1, images + 1), [1, 2, 3], objects), oracle.detections(rows)


def test_a_larger_contest_agrees_too_however_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, found = some_contest()
    whole = bootstrap_samples(truth, found, resamples=RESAMPLES)
    drawn = multiplicities(40, RESAMPLES, 0)
    expected = [resampled_map(truth, found, set(), drawn[:, k], "lpirc") for k in range(RESAMPLES)]
    assert whole == pytest.approx(expected, abs=EXACT)
    monkeypatch.setattr(bootstrap_module, "_CELLS_AT_ONCE", 100)
    assert bootstrap_samples(truth, found, resamples=RESAMPLES).tolist() == whole.tolist()


def test_a_category_has_its_samples_alone_as_with_the_others() -> None:
    truth, found = some_contest()
    whole = category_samples(truth, found, "lpirc", RESAMPLES, seed=4)
    assert whole.shape == (3, RESAMPLES)
    assert (
        mean_of_categories(whole).tolist() == bootstrap_samples(truth, found, "lpirc", RESAMPLES, 4).tolist()
    )
    alone = replace(
        truth.of_objects(truth.category == 2), category_ids=np.array([2]), category_names=("two",)
    )
    of_two = Detections(*(column[found.category == 2] for column in list(vars(found).values())[:4]))
    assert category_samples(alone, of_two, "lpirc", RESAMPLES, seed=4).tolist() == whole[1:2].tolist()
    without = category_samples(truth.of_objects(truth.category != 2), found, "lpirc", RESAMPLES, seed=4)
    assert np.isnan(without[1]).all()
    assert without[[0, 2]].tolist() == whole[[0, 2]].tolist()


def moved(images: int = 40, resamples: int = 200) -> tuple[float, NDArray[np.float64]]:
    """The mAP of a contest, and its resamples moved to it."""
    truth, found = some_contest(images)
    value = evaluate(truth, found).map
    return value, centred(bootstrap_samples(truth, found, resamples=resamples), value)


def test_the_seed_decides() -> None:
    truth, found = some_contest()
    one, same, other = (bootstrap_samples(truth, found, resamples=50, seed=seed) for seed in (1, 1, 2))
    assert one.tolist() == same.tolist()
    assert one.tolist() != other.tolist()


def test_the_interval_lies_around_the_map() -> None:
    value, samples = moved()
    (low, high), (narrow_low, narrow_high) = (middle(samples, level) for level in (0.95, 0.5))
    assert 0 <= low < narrow_low < value < narrow_high < high <= 1
    assert samples.mean() == pytest.approx(value)


def test_more_images_make_it_narrower() -> None:
    (few_low, few_high), (many_low, many_high) = (middle(moved(images)[1], 0.95) for images in (40, 640))
    assert (many_high - many_low) < (few_high - few_low) / 2.5


def test_samples_stay_between_nought_and_one() -> None:
    assert centred(np.array([0.0, 0.5, 1.0]), 0.9).tolist() == [0.4, 0.9, 1.0]


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
def test_where_no_choice_of_images_matters_there_is_no_width(
    truth: GroundTruth, rows: list[oracle.DetectionRow], value: float
) -> None:
    assert set(bootstrap_samples(truth, oracle.detections(rows), resamples=30).tolist()) == {value}


def test_every_resample_draws_as_many_images_as_there_are() -> None:
    drawn = multiplicities(70000, 3, 5)
    assert drawn.dtype == np.uint8
    assert drawn.sum(axis=0).tolist() == [70000] * 3
    assert multiplicities(0, 3, 5).shape == (0, 3)


@pytest.mark.parametrize("metric", ["voc-11", "coco"])
def test_a_metric_without_bootstrap_is_refused(metric: str) -> None:
    with pytest.raises(RefereeError) as failure:
        bootstrap_samples(*some_contest(), metric)
    assert failure.value.code == "metric-without-bootstrap"
