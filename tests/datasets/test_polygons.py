"""Polygons beside COCO's own program."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from pycocotools import mask as official

from lpirc_testsets import run_lengths, segmentations
from lpirc_testsets.polygons import filled
from lpirc_testsets.segmentations import counts_of, own_counts

pytestmark = pytest.mark.filterwarnings(
    "ignore:__array__ implementation doesn't accept:DeprecationWarning"  # theirs
)


def theirs(polygons: list[list[float]], height: int, width: int) -> NDArray[np.bool_]:
    united = official.merge(official.frPyObjects(polygons, height, width))
    return np.asarray(official.decode(united), np.bool_)


def random_polygons(
    rng: np.random.Generator,
    height: int,
    width: int,
    reach: tuple[float, float] = (-0.3, 1.3),
) -> list[list[float]]:
    """Vertices anywhere, also twice in a row; every third object has whole or half pixels only."""
    polygons = []
    for _ in range(rng.integers(1, 4)):
        corners = rng.uniform(*reach, (rng.integers(3, 12), 2))
        points = corners * (width, height)
        if rng.random() < 0.3:
            points = np.round(points * 2) / 2
        if rng.random() < 0.3:
            points = np.repeat(points, 2, axis=0)
        polygons.append(points.ravel().tolist())
    return polygons


def test_two_thousand_objects_are_filled_as_cocos_program_fills_them() -> None:
    for seed in range(2000):
        rng = np.random.default_rng(seed)
        height, width = rng.integers(1, 90, 2).tolist()
        polygons = random_polygons(rng, height, width)
        ours = filled(polygons, height, width)
        assert ours.shape == (height, width)
        assert np.array_equal(ours, theirs(polygons, height, width)), seed


def test_the_counts_of_two_thousand_objects_are_cocos_text() -> None:
    for seed in range(2000):
        rng = np.random.default_rng(seed)
        height, width = rng.integers(2, 90, 2).tolist()
        reach = (0, 1) if seed % 2 else (-1, 2)
        polygons = random_polygons(rng, height, width, reach)
        united = official.merge(official.frPyObjects(polygons, height, width))
        text = counts_of(polygons, (width, height))
        mask = filled(polygons, height, width)
        assert text == run_lengths.encode(mask), seed
        assert own_counts(polygons, (width, height)) == text, seed
        assert np.array_equal(mask, theirs(polygons, height, width)), seed
        assert run_lengths.area(text, height, width) == official.area(united)


@pytest.mark.parametrize(
    "polygon",
    [
        [3.0, 3.0, 3.0, 3.0, 3.0, 3.0],
        [0.0, 0.0, 10.0, 0.0, 5.0, 0.0],
        [2.0, 0.0, 2.0, 8.0, 2.0, 4.0],
        [0.0, 0.0, 10.0, 0.0, 10.0, 8.0, 0.0, 8.0],
        [-5.0, -5.0, 15.0, -5.0, 15.0, 13.0, -5.0, 13.0],
        [1.0, 1.0, 9.0, 7.0, 9.0, 1.0, 1.0, 7.0],
    ],
)
def test_a_point_a_line_the_whole_image_and_a_bow_are_filled_the_same(
    polygon: list[float],
) -> None:
    assert np.array_equal(filled([polygon], 8, 10), theirs([polygon], 8, 10))


def test_a_vertex_that_rounding_puts_outside_is_cut_off_as_coco_does() -> None:
    box = [-1e-6, 0.0, 10.000001, 0.0, 10.000001, 8.0000005, 0.0, 8.0]
    text = counts_of([box], (10, 8))
    assert run_lengths.area(text, 8, 10) == 80
    assert np.array_equal(run_lengths.decode(text, 8, 10), theirs([box], 8, 10))


def test_without_cocos_program_the_counts_are_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    polygons = [[1.0, 1.0, 9.0, 7.0, 9.0, 1.0], [0.0, 0.0, 5.0, 0.0, 2.0, 8.0]]
    expected = counts_of(polygons, (10, 8))
    monkeypatch.setattr(segmentations, "_official", lambda: None)
    assert counts_of(polygons, (10, 8)) == expected == own_counts(polygons, (10, 8))
