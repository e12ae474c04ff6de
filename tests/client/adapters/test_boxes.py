"""Placing an image in an input and back, and non-maximum suppression against the rule written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from lpirc_client.adapters import boxes

SIDES = st.integers(1, 2000)


@settings(max_examples=50, deadline=None)
@given(
    SIDES,
    SIDES,
    st.integers(32, 640),
    st.integers(32, 640),
    st.sampled_from(["letterbox", "stretch"]),
)
def test_there_and_back_is_within_half_a_pixel(
    w: int,
    h: int,
    width: int,
    height: int,
    resize: str,
) -> None:
    inner, corner = boxes.placement((w, h), [height, width], resize)
    assert all(
        low >= 0 and low + side <= whole
        for low, side, whole in zip(corner, inner, (width, height), strict=True)
    )
    there = np.array([[0, 0, w, h]]) * (np.array(inner * 2) / ((w, h) * 2)) + corner * 2
    stated = {
        "size": [height, width],
        "order": "xyxy",
        "boxes": "pixels",
        "resize": resize,
    }
    np.testing.assert_allclose(
        boxes.in_image(there, stated, (w, h)),
        [[0, 0, w, h]],
        atol=0.5,
    )


@pytest.mark.parametrize(
    ("size", "box"),
    [
        ((200, 100), (40, 20, 120, 60)),
        ((50, 100), (10, 20, 30, 80)),
    ],
)
def test_pixels_lie_where_boxes_are_taken_from(
    size: tuple[int, int],
    box: tuple[int, ...],
) -> None:
    """Half the input's resolution is half a pixel of it: found where the level is above the middle."""
    image = Image.new("RGB", size)
    image.paste((255, 255, 255), box)
    stated: dict[str, Any] = {
        "size": [100, 160],
        "resize": "letterbox",
        "colour": "rgb",
        "layout": "NHWC",
    }
    stated.update(
        scale=1 / 255,
        mean=0.0,
        std=1.0,
        order="xyxy",
        boxes="pixels",
    )
    values = boxes.model_input(image, stated)
    (left, top), (width, height) = (
        pair for pair in reversed(boxes.placement(size, [100, 160], "letterbox"))
    )
    inside = values[top : top + height, left : left + width, 0] > 0.5
    rows = np.flatnonzero(inside.any(axis=1)) + top
    columns = np.flatnonzero(inside.any(axis=0)) + left
    found = np.array([[columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]])
    pixel = size[0] / width / 2
    np.testing.assert_allclose(
        boxes.in_image(found, stated, size),
        [box],
        atol=max(pixel, 0.5),
    )
    margin = values.copy()
    margin[top : top + height, left : left + width] = 114 / 255
    np.testing.assert_allclose(margin, 114 / 255, atol=1e-6)


def test_values_are_normalized_by_colour_before_the_order_of_colours_changes() -> None:
    image = Image.new("RGB", (4, 2), (255, 51, 0))
    stated: dict[str, Any] = {
        "size": [2, 4],
        "resize": "stretch",
        "colour": "bgr",
        "layout": "NCHW",
    }
    stated.update(
        scale=1 / 255,
        mean=[0.5, 0.1, 0.0],
        std=[0.5, 0.1, 2.0],
    )
    values = boxes.model_input(image, stated)
    assert values.shape == (3, 2, 4)
    np.testing.assert_allclose(values[:, 0, 0], [0, 1, 1], atol=1e-6)


def overlap(a: Any, b: Any) -> float:
    shared = max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(
        0.0,
        min(a[3], b[3]) - max(a[1], b[1]),
    )
    both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    return shared / (both - shared) if shared else 0.0


# Whole numbers and quarters, so that an IoU of exactly a half is met often and equal scores too.
BOX = st.tuples(
    *[st.integers(0, 8)] * 2,
    *[st.integers(1, 4)] * 2,
    st.integers(0, 2),
    st.integers(0, 4),
)


@settings(max_examples=60, deadline=None)
@example(
    [
        (0, 0, 4, 4, 0, 4),
        (0, 0, 4, 4, 1, 3),
    ],
    0.5,
    True,
    9,
)
@example(
    [
        (0, 0, 4, 4, 0, 4),
        (0, 0, 4, 4, 1, 3),
    ],
    0.5,
    False,
    9,
)
@given(
    st.lists(BOX, max_size=12),
    st.sampled_from([0.25, 0.5, 1.0]),
    st.booleans(),
    st.integers(1, 9),
)
def test_suppression_is_torchvisions_rule(
    drawn: list[tuple[int, ...]],
    iou: float,
    per_class: bool,
    most: int,
) -> None:
    """An IoU *greater* than the threshold with a kept box of a higher score; only of its class, as batched_nms."""
    sides = np.array(
        [[x, y, x + w, y + h] for x, y, w, h, _, _ in drawn],
        float,
    ).reshape(-1, 4)
    classes = np.array([one[4] for one in drawn], int)
    scores = np.array([one[5] / 4 for one in drawn], float)
    stated = {"iou": iou, "per_class": per_class, "max": most}
    naive: list[int] = []
    for one in sorted(range(len(drawn)), key=lambda place: -scores[place]):
        rivals = [
            other for other in naive if not per_class or classes[other] == classes[one]
        ]
        if all(overlap(sides[one], sides[other]) <= iou for other in rivals):
            naive.append(one)
    assert boxes.kept(sides, scores, classes, stated).tolist() == naive[:most]


def shaped(
    *shapes: tuple[int, ...],
    dtype: Any = np.float32,
) -> list[np.ndarray[Any, Any]]:
    return [np.zeros(shape, dtype) for shape in shapes]


@pytest.mark.parametrize(
    ("names", "shapes", "head"),
    [
        (["output"], [(1, 25200, 85)], "yolov5"),
        (["output"], [(1, 25200, 6)], "yolov5"),
        (["output0"], [(1, 84, 8400)], "yolov8"),
        (["output0"], [(1, 300, 6)], "yolov10"),
        (["yolox"], [(1, 8400, 85)], ""),
        (["two classes, turned"], [(1, 8400, 6)], ""),
        (["logits"], [(1, 1000)], ""),
        (["boxes", "logits"], [(1, 300, 4), (1, 300, 91)], ""),
        (["dets", "scores", "labels"], [(1, 100, 4), (1, 100), (1, 100)], ""),
    ],
)
def test_a_head_is_recognized_only_without_doubt(
    names: list[str],
    shapes: list[tuple[int, ...]],
    head: str,
) -> None:
    assert boxes.recognized("onnx", names, shaped(*shapes), [640, 640]) == head


@pytest.mark.parametrize(
    "order",
    [
        ("boxes", "classes", "scores", "count"),
        ("scores", "boxes", "count", "classes"),
    ],
)
def test_both_exporters_orders_of_tflite_outputs_are_known(
    order: tuple[str, ...],
) -> None:
    values = {
        "boxes": np.arange(8.0).reshape(1, 2, 4),
        "classes": np.array([[3.0, 4.0]]),
        "scores": np.array([[0.5, 0.25]]),
        "count": np.array([1.0]),
    }
    arrays = [values[one] for one in order]
    names = [f"StatefulPartitionedCall:{n}" for n in range(4)]
    assert boxes.recognized("litert", names, arrays, [320, 320]) == "tflite-ssd"
    found = boxes.decoded("tflite-ssd", names, arrays)
    assert [one.tolist() for one in found] == [[[0, 1, 2, 3]], [0.5], [3]]


def test_the_raw_outputs_of_a_tensorflow_model_are_not_taken_for_its_detections() -> (
    None
):
    shapes = {
        "detection_boxes": (1, 3, 4),
        "detection_classes": (1, 3),
        "detection_multiclass_scores": (1, 3, 91),
        "detection_scores": (1, 3),
        "num_detections": (1,),
        "raw_detection_boxes": (1, 9, 4),
        "raw_detection_scores": (1, 9, 91),
    }
    arrays = [
        np.full(shape, 2 if name == "num_detections" else 0.5)
        for name, shape in shapes.items()
    ]
    assert boxes.recognized("onnx", [*shapes], arrays, [320, 320]) == "tf-ssd"
    assert [one.shape for one in boxes.decoded("tf-ssd", [*shapes], arrays)] == [
        (2, 4),
        (2,),
        (2,),
    ]
