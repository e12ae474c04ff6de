"""From outputs to predictions, which the COCO metric scores like the boxes themselves."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from lpirc_client.errors import ModelError
from lpirc_client.harness.model import Signature, Tensor
from lpirc_client.harness.outputs import Answers, check_counts, detections, labels
from lpirc_score import Detections, evaluate
from lpirc_testsets.box_corners import corners_from_coco
from lpirc_testsets.ground_truth import GroundTruth


def answers(*outputs: Any) -> Answers:
    arrays = tuple(np.asarray(output, np.float64) for output in outputs)
    return Answers(np.ones(len(arrays[0]), np.int64), arrays, 0.0, 1.0, 1.0)


def found(boxes: Any, classes: Any, scores: Any) -> Answers:
    """Answers of one image, or of several: boxes (N, K, 4), classes and scores (N, K)."""
    boxes, classes, scores = (
        np.asarray(one, np.float64)[:, None] for one in (boxes, classes, scores)
    )
    return answers(boxes, classes, scores, np.full((len(boxes), 1), 100.0))


def test_the_highest_score_wins_and_the_lowest_index_of_equal_ones() -> None:
    result = labels(
        answers([[[0.1, 0.7, 0.2]], [[0.4, 0.2, 0.4]], [[0.0, 0.0, 0.0]]]),
        [5, 6, 9],
    )
    assert result.rows == [(5, 1, 0.7), (6, 0, 0.4), (9, 0, 0.0)]
    assert result.not_finite == []


def test_a_score_that_is_not_finite_never_wins_and_is_counted() -> None:
    nan = np.nan
    inf = np.inf
    result = labels(
        answers(
            [
                [[nan, 0.2, 0.3]],
                [[inf, 0.2, -inf]],
                [[nan, nan, nan]],
                [[0.1, 0.2, 0.0]],
            ]
        ),
        [1, 2, 3, 4],
    )
    assert result.rows == [
        (1, 2, 0.3),
        (2, 1, 0.2),
        (3, 0, 0.0),
        (4, 1, 0.2),
    ]
    assert result.not_finite == [1, 2, 3]


def test_a_box_is_scaled_by_the_original_image_and_its_far_corner_is_inclusive() -> (
    None
):
    # y1, x1, y2, x2 of an image 640 wide and 400 high: x 64 to 320, y 100 to 300
    result = detections(
        found([[[0.25, 0.1, 0.75, 0.5]]], [[16.0]], [[0.75]]),
        [12],
        [(640, 400)],
    )
    assert result.rows == [(12, 17, 0.75, 64.0, 100.0, 319.0, 299.0)]


def test_a_class_is_rounded_and_boxes_may_leave_the_image() -> None:
    boxes = [[[-0.5, -0.25, 1.5, 1.25]]] * 2
    result = detections(
        found(boxes, [[1.5], [0.4]], [[0.5], [0.5]]),
        [1, 2],
        [(100, 10), (10, 100)],
    )
    assert result.rows == [
        (1, 3, 0.5, -25.0, -5.0, 124.0, 14.0),
        (2, 1, 0.5, -2.5, -50.0, 11.5, 149.0),
    ]


def test_rows_that_cannot_be_scored_are_dropped_and_counted() -> None:
    good = [0.1, 0.1, 0.2, 0.2]
    inverted = [0.1, 0.2, 0.2, 0.1]
    boxes = [
        [good, [np.nan, 0, 1, 1], inverted],
        [good, good, [0, 0, 1, np.inf]],
        [good, good, good],
    ]
    scores = [
        [0.5, 0.5, 0.5],
        [np.nan, 0.5, 0.5],
        [0.5, 0.5, 0.5],
    ]
    result = detections(
        found(boxes, np.zeros((3, 3)), scores),
        [1, 2, 3],
        [(10, 10)] * 3,
    )
    assert [row[0] for row in result.rows] == [1, 2, 3, 3, 3]
    assert result.not_finite == [1, 2]
    assert result.inverted == 1


def test_numbers_out_of_range_and_classes_below_0_are_dropped_and_counted() -> None:
    good = [0.1, 0.1, 0.2, 0.2]
    boxes = [[good, good, good, good, [-3e38, 0, 1, 1]]]
    result = detections(
        found(boxes, [[0.0, -1.0, 3e38, 0.0, 0.0]], [[0.5, 0.5, 0.5, 3e38, 0.5]]),
        [1],
        [(640, 480)],
    )
    assert [row[1:3] for row in result.rows] == [(1, 0.5)]
    assert result.not_finite == []
    assert result.inverted == 0
    assert result.out_of_range == 4
    assert labels(answers([[[0.0, 3e38]]]), [1]).rows == [(1, 1, 1e9)]


def test_a_box_without_width_is_kept() -> None:
    result = detections(
        found([[[0.5, 0.5, 0.5, 0.5]]], [[0.0]], [[0.5]]),
        [1],
        [(10, 10)],
    )
    assert result.rows == [(1, 1, 0.5, 5.0, 5.0, 4.0, 4.0)]
    assert result.inverted == 0


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (99.0, "99"),
        (0.0, "0"),
        (np.nan, "nan"),
        (100.5, "100.5"),
    ],
)
def test_a_count_other_than_100_names_the_first_image(count: float, said: str) -> None:
    two = answers(
        np.zeros((2, 1, 100, 4)),
        np.zeros((2, 1, 100)),
        np.zeros((2, 1, 100)),
        [[100.0], [count]],
    )
    (problem,) = check_counts("m.tflite", two, ["image 4", "image 8"])
    assert problem.code == "wrong-count"
    assert problem.sentence.startswith(
        f"m.tflite: it returns {said} detections of image 8; "
    )


QUANTIZED = Signature((), (Tensor("scores", (1, 3), "uint8", 0.5, 10),), "none", "")
HEAD = {
    "done": 2,
    "start_monotonic_s": 1.0,
    "end_monotonic_s": 2.0,
    "processor_s": 1.0,
}


def body(times_ns: NDArray[np.int64], *outputs: NDArray[Any]) -> memoryview:
    return memoryview(
        b"".join([times_ns.tobytes(), *(output.tobytes() for output in outputs)])
    )


def test_quantized_outputs_become_their_values() -> None:
    content = body(np.array([7, 8]), np.array([[10, 12, 9], [0, 255, 11]], np.uint8))
    parsed = Answers.parse("m", HEAD, content, QUANTIZED)
    assert parsed.outputs[0].tolist() == [[[0.0, 1.0, -0.5]], [[-5.0, 122.5, 0.5]]]
    assert parsed.times_ns.tolist() == [7, 8]


@pytest.mark.parametrize(
    ("head", "content"),
    [
        (HEAD, body(np.array([7, 8]))),
        (HEAD, body(np.array([7, 8]), np.zeros(7, np.uint8))),
        (HEAD, body(np.array([7, -8]), np.zeros(6, np.uint8))),
        ({**HEAD, "done": 0}, memoryview(b"")),
        ({**HEAD, "done": 1e999}, memoryview(b"")),
        (
            {**HEAD, "end_monotonic_s": 0.5},
            body(np.array([7, 8]), np.zeros(6, np.uint8)),
        ),
        ({}, memoryview(b"")),
    ],
)
def test_what_a_broken_process_answers_is_refused(
    head: dict[str, Any],
    content: memoryview,
) -> None:
    with pytest.raises(ModelError, match="m: the model broke its process") as caught:
        Answers.parse("m", head, content, QUANTIZED)
    assert caught.value.code == "model-crashed"


SIZES = [
    (640, 480),
    (333, 500),
    (17, 23),
    (500, 375),
]
CATEGORIES = (1, 2, 90)


def objects_and_answers(seed: int) -> tuple[NDArray[np.float64], Answers]:
    """Objects (M, 6): image from 1, category, x, y, w, h, none of them whole; and a model's answers near them."""
    chance = np.random.default_rng(seed)
    near = chance.uniform(0, 0.7, (len(SIZES), 100, 2))
    boxes = np.concatenate(
        [near, near + chance.uniform(0.01, 0.3, near.shape)],
        axis=2,
    ).astype(np.float32)
    classes = np.array(CATEGORIES)[chance.integers(0, 3, (len(SIZES), 100))] - 1
    objects = []
    for image, (width, height) in enumerate(SIZES):
        for place in range(30):
            moved = boxes[image, place] + chance.normal(0, 0.01, 4)
            x, y, far_x, far_y = moved[[1, 0, 3, 2]] * [width, height, width, height]
            objects.append(
                [
                    image + 1,
                    classes[image, place] + 1,
                    x,
                    y,
                    abs(far_x - x),
                    abs(far_y - y),
                ]
            )
    return np.array(objects), found(
        boxes,
        classes,
        chance.random((len(SIZES), 100)).astype(np.float32),
    )


def official_ap(objects: NDArray[np.float64], result: Answers) -> float:
    """Return the AP by pycocotools of the model's own boxes: [x, y, w, h] = [x1 W, y1 H, (x2 - x1) W, …]."""
    truth = [
        {
            "id": i,
            "image_id": int(o[0]),
            "category_id": int(o[1]),
            "bbox": o[2:].tolist(),
            "area": o[4] * o[5],
        }
        for i, o in enumerate(objects, 1)
    ]
    results = [
        {
            "image_id": image + 1,
            "category_id": int(result.outputs[1][image, 0, place]) + 1,
            "score": result.outputs[2][image, 0, place],
            "bbox": [x1 * width, y1 * height, (x2 - x1) * width, (y2 - y1) * height],
        }
        for image, (width, height) in enumerate(SIZES)
        for place, (y1, x1, y2, x2) in enumerate(result.outputs[0][image, 0])
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = {
            "images": [{"id": image + 1} for image in range(len(SIZES))],
            "categories": [{"id": id_} for id_ in CATEGORIES],
            "annotations": [{**one, "iscrowd": 0} for one in truth],
        }
        coco.createIndex()
        evaluator = COCOeval(coco, coco.loadRes(results), "bbox")
        evaluator.evaluate()
        evaluator.accumulate()
        evaluator.summarize()
    return float(evaluator.stats[0])


@pytest.mark.parametrize("seed", range(3))
def test_the_rows_score_as_the_official_evaluation_scores_the_boxes(seed: int) -> None:
    objects, result = objects_and_answers(seed)
    rows = np.array(detections(result, [1, 2, 3, 4], SIZES).rows)
    count = len(objects)
    nothing = np.zeros(len(objects), np.bool_)
    truth = GroundTruth(
        image_ids=np.arange(1, 5),
        image_names=("",) * 4,
        category_ids=np.array(CATEGORIES),
        category_names=("a", "b", "c"),
        image=objects[:, 0].astype(np.int64),
        category=objects[:, 1].astype(np.int64),
        boxes=corners_from_coco(objects[:, 2:]),
        difficult=nothing,
        crowd=nothing,
        area=objects[:, 4] * objects[:, 5],
        coco_boxes=objects[:, 2:],
    )
    ours = evaluate(truth, Detections.from_rows(rows), "coco").map
    assert count == 120
    assert 0.05 < ours < 0.95
    assert ours == pytest.approx(official_ap(objects, result), abs=1e-12)
