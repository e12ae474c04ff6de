"""Ground truth from a program's own rows: sorted by id, and refused where it is none."""

from __future__ import annotations

from typing import Any

import pytest

from lpirc_testsets import GroundTruth, TestSetError

ROW = (1, 1, 0, 0, 9, 9, False)


def test_ids_in_any_order_are_sorted_with_their_names() -> None:
    rows = [(5, 9, 0, 0, 9, 9, False), (2, 3, 0, 0, 9, 9, False)]
    truth = GroundTruth.of_corners({5: "e", 2: "b"}, {9: "y", 3: "x"}, rows)
    assert (truth.image_ids.tolist(), truth.image_names) == ([2, 5], ("b", "e"))
    assert (truth.category_ids.tolist(), truth.category_names) == ([3, 9], ("x", "y"))
    assert truth.image.tolist() == [5, 2]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ((1, 1, 0, 0, float("nan"), 9, False), "a number is not finite"),
        ((1, 1, 0, 0, float("inf"), 9, False), "a number is not finite"),
        ((1, 1, 9, 0, 0, 9, False), "its box is inverted"),
        ((1, 1, 0, 9, 9, 0, False), "its box is inverted"),
        ((2, 1, 0, 0, 9, 9, False), "its image is not among the images"),
        ((1.5, 1, 0, 0, 9, 9, False), "its image is not among the images"),
        ((1, 2, 0, 0, 9, 9, False), "its category is not among the categories"),
    ],
)
def test_a_row_that_is_no_object_is_named(row: Any, problem: str) -> None:
    with pytest.raises(TestSetError, match=rf"rows\[1\] \(.*\): {problem}") as refused:
        GroundTruth.of_corners({1: "a"}, {1: "x"}, [ROW, row])
    assert refused.value.code == "bad-rows"


@pytest.mark.parametrize("rows", [5, None, "rows", [ROW[:6]], [ROW, ROW[:3]]])
def test_rows_of_another_form_are_refused(rows: Any) -> None:
    with pytest.raises(TestSetError, match=r"image, category, xmin, ymin, xmax, ymax"):
        GroundTruth.of_corners({1: "a"}, {1: "x"}, rows)


@pytest.mark.parametrize("images", [["a"], {"1": "a"}, {1.5: "a"}, {True: "a"}, {1: 1}])
def test_names_by_something_else_than_ids_are_refused(images: Any) -> None:
    with pytest.raises(TestSetError, match="the images"):
        GroundTruth.of_corners(images, {1: "x"}, [])


def test_a_box_may_have_no_area() -> None:
    truth = GroundTruth.of_corners({1: "a"}, {1: "x"}, [(1, 1, 5, 5, 4, 4, False)])
    assert truth.area.tolist() == [0.0]
