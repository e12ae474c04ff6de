"""Label maps are drawn from the runs of all regions at once: the same map, and the same overlaps refused."""

from __future__ import annotations

import numpy as np
import pytest

from lpirc_testsets.errors import TestSetError
from lpirc_testsets.run_lengths import encode
from lpirc_testsets.task_truth import VOID, LabelMaps
from lpirc_testsets.truth_marks import Mark, Marks


def maps_of(masks: list[np.ndarray], polygons: bool = False) -> LabelMaps:
    """Of one image; the region of the k-th mask has the category k."""
    height, width = masks[0].shape if masks else (4, 6)
    marks = []
    for category, mask in enumerate(masks):
        segmentation: object = {"size": [height, width], "counts": encode(mask)}
        if polygons:
            left = 2 * category
            segmentation = [[left, 0, left + 1, 0, left + 1, 4, left, 4]]
        marks.append(Mark("here", 1, category, False, segmentation, {}))
    every = Marks((), tuple(marks), frozenset(), {})
    return LabelMaps(every, {1: (width, height)})


@pytest.mark.parametrize("part", range(4))
def test_a_map_has_each_region_and_is_void_elsewhere(part: int) -> None:
    for seed in range(50 * part, 50 * part + 50):
        chance = np.random.default_rng(seed)
        labels = chance.integers(VOID, 4, chance.integers(1, 12, 2))
        masks = [labels == category for category in range(4)]
        drawn = maps_of(masks)[1]
        assert drawn.dtype == np.int32
        assert np.array_equal(drawn, labels)


@pytest.mark.parametrize("seed", range(30))
def test_one_shared_pixel_is_an_overlap(seed: int) -> None:
    chance = np.random.default_rng(seed)
    labels = chance.integers(0, 3, (5, 7))
    masks = [labels == category for category in range(3)]
    y = chance.integers(0, 5)
    x = chance.integers(0, 7)
    masks[(labels[y, x] + 1) % 3][y, x] = True
    with pytest.raises(TestSetError, match="1 pixels of image 1 have category"):
        maps_of(masks)[1]


def test_polygons_are_drawn_like_run_lengths() -> None:
    masks = [np.zeros((4, 6), np.bool_)] * 3
    drawn = maps_of(masks, polygons=True)[1]
    assert drawn.tolist() == [[0, VOID, 1, VOID, 2, VOID]] * 4


def test_an_image_without_regions_is_void() -> None:
    assert (maps_of([])[1] == VOID).all()
