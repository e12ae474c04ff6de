"""Every rule of the validator, each by a model that breaks it and no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lpirc_client.errors import ModelError
from lpirc_client.harness.model import Signature, Tensor
from lpirc_client.harness.model_process import ModelProcess
from lpirc_client.harness.model_settings import Settings
from lpirc_client.harness.validator import examine, problems
from tests.client.harness.pictures import model_file
from tests.tflite_models import (
    classifier,
    constant_answers,
    detection_answers,
    detector,
)
from tests.timeouts import TIMEOUT_S

BOXES = np.zeros((1, 100, 4))
PLANE = np.zeros((1, 100))
SCORES = [("scores", np.zeros((1, 1001), np.float32))]


def refusals(
    process: ModelProcess,
    data: bytes,
    task: str,
) -> list[ModelError]:
    return examine(
        process,
        model_file(data),
        Settings(task, "resize", timeout_s=TIMEOUT_S),
    )[1]


def labels_of(
    shape: tuple[int, ...],
    dtype: str = "uint8",
    inputs: int = 1,
) -> bytes:
    return constant_answers(shape, dtype, SCORES, inputs=inputs)


def boxes_of(dtype: str) -> bytes:
    return detection_answers(BOXES, PLANE, PLANE, dtype=dtype)


def scores_of(*shape: int, dtype: Any = np.float32) -> bytes:
    return constant_answers((1, 8, 8, 3), answers=[("scores", np.zeros(shape, dtype))])


@pytest.mark.parametrize("quantized", [False, True])
def test_sound_models_pass(process: ModelProcess, quantized: bool) -> None:
    assert refusals(process, classifier(quantized=quantized), "classification") == []
    assert refusals(process, detector(quantized=quantized), "detection") == []


@pytest.mark.parametrize(
    "sides",
    [
        (1, 1),
        (1000, 1),
        (1, 1000),
        (1000, 1000),
        (224, 300),
    ],
)
def test_sides_of_1_to_1000_pass(process: ModelProcess, sides: tuple[int, int]) -> None:
    assert refusals(process, classifier(*sides), "classification") == []


WRONG_CLASSIFIERS = [
    (
        labels_of((1, 8, 8, 3), "float32"),
        "wrong-input-type",
        "input is float32; it must be uint8",
    ),
    (
        labels_of((1, 8, 8, 3), "int8"),
        "wrong-input-type",
        "input is int8; it must be uint8",
    ),
    (labels_of((8, 8, 3)), "wrong-rank", "[8, 8, 3] has 3 dimensions"),
    (labels_of((1, 1, 8, 8, 3)), "wrong-rank", "[1, 1, 8, 8, 3] has 5 dimensions"),
    (labels_of((2, 8, 8, 3)), "wrong-batch", "[2, 8, 8, 3] takes 2 images"),
    (labels_of((1, 8, 8, 4)), "wrong-channels", "[1, 8, 8, 4] has 4 channels"),
    (labels_of((1, 8, 8, 1)), "wrong-channels", "[1, 8, 8, 1] has 1 channels"),
    (labels_of((1, 1001, 8, 3)), "wrong-side", "is 1001 by 8 pixels"),
    (labels_of((1, 8, 1001, 3)), "wrong-side", "is 8 by 1001 pixels"),
    (labels_of((1, 0, 8, 3)), "wrong-side", "is 0 by 8 pixels"),
    (labels_of((1, 8, 8, 3), inputs=2), "wrong-inputs", "its number of inputs is 2"),
    (
        classifier(outputs=1000),
        "wrong-output-shape",
        "(scores) is [1, 1000]; it must be [1, 1001]",
    ),
    (scores_of(1, 1, 1, 1001), "wrong-output-shape", "(scores) is [1, 1, 1, 1001]"),
    (scores_of(1, 1001, dtype=np.int32), "wrong-output-type", "(scores) is int32"),
    (
        detector(),
        "wrong-outputs",
        "its number of outputs is 4; classification has 1: scores",
    ),
]
WRONG_DETECTORS = [
    (boxes_of("float32"), "wrong-input-type", "input is float32; it must be uint8"),
    (boxes_of("int8"), "wrong-input-type", "input is int8; it must be uint8"),
    (detector(channels=4), "wrong-channels", "[1, 20, 20, 4] has 4 channels"),
    (
        classifier(),
        "wrong-outputs",
        "its number of outputs is 1; detection has 4: boxes, classes",
    ),
    (
        detection_answers(np.zeros((1, 100, 5)), PLANE, PLANE),
        "wrong-output-shape",
        "output 0 (boxes) is [1, 100, 5]; it must be [1, 100, 4]",
    ),
    (
        detection_answers(BOXES, PLANE[:, :99], PLANE),
        "wrong-output-shape",
        "output 1 (classes) is [1, 99]",
    ),
    (
        detection_answers(BOXES, PLANE, PLANE[0]),
        "wrong-output-shape",
        "output 2 (scores) is [100]; it must",
    ),
    (
        detection_answers(BOXES, PLANE, PLANE, count=99),
        "wrong-count",
        "it returns 99 detections of a pict",
    ),
    (
        detector(score_threshold=2.0),
        "wrong-count",
        "it returns 0 detections of a picture of noise",
    ),
]
WRONG = [
    *(("classification", *one) for one in WRONG_CLASSIFIERS),
    *(("detection", *one) for one in WRONG_DETECTORS),
]


@pytest.mark.parametrize(("task", "data", "code", "said"), WRONG)
def test_a_model_that_breaks_one_rule_is_refused_for_that_one(
    process: ModelProcess,
    task: str,
    data: bytes,
    code: str,
    said: str,
) -> None:
    (problem,) = refusals(process, data, task)
    assert problem.code == code
    assert problem.sentence.startswith("m.tflite: ")
    assert said in problem.sentence


def test_ten_boxes_instead_of_a_hundred_are_reported_output_by_output(
    process: ModelProcess,
) -> None:
    found = refusals(process, detector(kept=10), "detection")
    assert [(problem.code, problem.facts["output"]) for problem in found] == [
        ("wrong-output-shape", 0),
        ("wrong-output-shape", 1),
        ("wrong-output-shape", 2),
    ]


def test_everything_wrong_with_a_model_is_reported_at_once() -> None:
    image = Tensor("image", (2, 1001, 8, 4), "int8", 0.1, 0)
    scores = Tensor("scores", (1, 10), "uint8", 0.0, 0)
    found = problems("m", Signature((image,), (scores,), "none", ""), "classification")
    assert [problem.code for problem in found] == [
        "wrong-input-type",
        "wrong-batch",
        "wrong-channels",
        "wrong-side",
        "wrong-output-shape",
        "wrong-output-type",
    ]


def test_a_model_with_wrong_tensors_is_not_run(process: ModelProcess) -> None:
    # It would be given the wrong number of bytes; that it is refused by its tensors shows that it was not.
    data = constant_answers(
        (1, 8, 8, 4),
        answers=[("scores", np.zeros((1, 7), np.float32))],
    )
    found = refusals(process, data, "classification")
    assert [problem.code for problem in found] == [
        "wrong-channels",
        "wrong-output-shape",
    ]
