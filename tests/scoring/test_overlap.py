from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_score.metrics.ilsvrc_det import object_thresholds
from lpirc_score.metrics.overlap import Edges, overlaps, shared_over_union

coordinate = st.floats(-1e4, 1e4)
side = st.floats(0, 1e4)
boxes = st.builds(
    lambda x, y, w, h: (x, y, x + w, y + h),
    coordinate,
    coordinate,
    side,
    side,
)


def iou(
    a: tuple[float, ...],
    b: tuple[float, ...],
) -> float:
    return float(overlaps(np.array([a], float), np.array([b], float))[0])


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((0, 0, 9, 9), (0, 0, 9, 9), 1.0),
        ((0, 0, 9, 9), (0, 0, 9, 4), 0.5),
        (
            (0, 0, 9, 9),
            (9, 9, 18, 18),
            1 / 199,
        ),  # corners are inside: one pixel is shared
        ((0, 0, 9, 9), (10, 0, 19, 9), 0.0),
        ((0, 0, 0, 0), (0, 0, 0, 0), 1.0),
        ((-5, -5, -1, -1), (-5, -5, -1, -1), 1.0),
        (
            (0, 0, 9, 9),
            (20, 20, 29, 29),
            0.0,
        ),  # both sides negative: their product is not an overlap
    ],
)
def test_pixels_are_inclusive(
    a: tuple[float, ...],
    b: tuple[float, ...],
    expected: float,
) -> None:
    assert iou(a, b) == expected


@given(boxes, boxes)
def test_overlap_is_symmetric_and_between_none_and_all(
    a: tuple[float, ...],
    b: tuple[float, ...],
) -> None:
    assert 0.0 <= iou(a, b) <= 1.0 + 1e-12
    assert iou(a, b) == pytest.approx(iou(b, a), abs=1e-12)


@given(boxes)
def test_a_box_overlaps_itself_wholly(
    box: tuple[float, ...],
) -> None:
    assert iou(box, box) == pytest.approx(1.0)


@given(boxes, boxes)
def test_overlap_shrinks_when_a_box_grows_around_another(
    a: tuple[float, ...],
    b: tuple[float, ...],
) -> None:
    hull = (
        min(a[0], b[0]),
        min(a[1], b[1]),
        max(a[2], b[2]),
        max(a[3], b[3]),
    )
    size, whole = Edges.of_corners(np.array([a, hull], float)).area
    assert iou(a, hull) == pytest.approx(size / whole)


def test_corners_at_the_end_of_the_numbers_overlap_nothing() -> None:
    huge = (-1e308, -1e308, 1e308, 1e308)
    assert not iou(huge, huge) >= 0.5
    assert math.isnan(iou(huge, huge)) or iou(huge, huge) == 0


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [
        (10, 10, 0.25),
        (1, 1, 1 / 121),
        (100, 100, 0.5),
        (20, 30, 0.5),
    ],
)
def test_small_objects_ask_for_less(
    width: int,
    height: int,
    expected: float,
) -> None:
    box = np.array([[0, 0, width - 1, height - 1]], float)
    assert object_thresholds(box, 0.5)[0] == min(0.5, expected)


def test_a_lower_threshold_stays_what_it_is() -> None:
    assert object_thresholds(np.array([[0, 0, 99, 99]], float), 0.3)[0] == 0.3


@given(boxes, boxes, st.booleans())
def test_no_shared_side_of_an_overlap_is_below_the_least(
    a: tuple[float, ...],
    b: tuple[float, ...],
    as_coco: bool,
) -> None:
    edges = Edges.of_coco if as_coco else Edges.of_corners
    one = edges(np.array([a], float))
    other = edges(np.array([b], float))
    width, height = (
        np.minimum(one.far[axis], other.far[axis])
        - np.maximum(one.near[axis], other.near[axis])
        + one.extra
        for axis in (0, 1)
    )
    if width[0] > 0 and height[0] > 0:
        overlap = shared_over_union(width, height, one.area, other.area)
        for iou in (overlap, overlap / 3):
            least = other.least_sides(iou)
            assert (0 < least[0] <= width) & (0 < least[1] <= height)
