"""Boxes: both forms, and which leave their image."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lpirc_testsets.box_corners import coco_from_corners, corners_from_coco, outside

whole = st.integers(-(10**6), 10**6).map(float)
fraction = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.lists(st.tuples(whole, whole, whole, whole)))
def test_whole_pixels_go_to_corners_and_back_unchanged(
    boxes: list[tuple[float, ...]],
) -> None:
    coco = np.array(boxes, dtype=np.float64).reshape(-1, 4)
    assert np.array_equal(coco_from_corners(corners_from_coco(coco)), coco)
    assert np.array_equal(corners_from_coco(coco_from_corners(coco)), coco)


@given(st.tuples(fraction, fraction, fraction, fraction))
def test_fractions_go_there_and_back_but_for_rounding(box: tuple[float, ...]) -> None:
    coco = np.array([box])
    np.testing.assert_allclose(
        coco_from_corners(corners_from_coco(coco)),
        coco,
        rtol=0,
        atol=1e-9,
    )


def test_corners_are_inclusive() -> None:
    assert corners_from_coco(np.array([[10.0, 20.0, 1.0, 5.0]])).tolist() == [
        [10, 20, 10, 24]
    ]


def test_converting_leaves_the_argument_alone() -> None:
    coco = np.array([[1.0, 2.0, 3.0, 4.0]])
    corners_from_coco(coco)
    coco_from_corners(coco)
    assert coco.tolist() == [[1, 2, 3, 4]]


def test_pixels_may_be_counted_from_zero_or_one_but_not_beyond() -> None:
    boxes = np.array(
        [
            [0, 0, 39, 29],
            [1, 1, 40, 30],
            [-1, 0, 5, 5],
            [0, 0, 41, 5],
            [0, 0, 5, 31],
        ],
        dtype=np.float64,
    )
    sizes = np.tile(np.array([40.0, 30.0]), (5, 1))
    assert outside(boxes, sizes).tolist() == [False, False, True, True, True]
