"""Bodies of label maps: JSON and packed, every problem named with its place and image."""

from __future__ import annotations

import base64
import json
import struct

import numpy as np
import pytest

from lpirc_score.errors import CodedError
from lpirc_score.tasks import label_bodies
from lpirc_score.tasks.label_bodies import PACKED, read_label_maps
from lpirc_score.tasks.segmentation import TASK
from lpirc_score.tasks.task_bodies import read_answers
from lpirc_score.tasks.task_kinds import Answer, Question
from tests.scoring.tasks.label_map_sets import png_of

QUESTION = Question(np.array([[4, 3], [4, 3], [6, 2]]), np.array([1, 2, 7]))
GOOD = png_of(np.array([[0, 1, 2, 7]] * 3, np.uint8))
JSON = "application/json"


def as_json(
    *answers: tuple[object, bytes],
) -> bytes:
    return json.dumps(
        [
            {"image": image, "png": base64.b64encode(png).decode()}
            for image, png in answers
        ]
    ).encode()


def packed(
    *answers: tuple[int, bytes],
) -> bytes:
    return b"".join(
        struct.pack(
            "<II",
            image,
            len(png),
        )
        + png
        for image, png in answers
    )


def read(
    body: bytes,
    kind: str = JSON,
) -> list[Answer]:
    return read_answers(
        TASK,
        body,
        kind,
        QUESTION,
    )


def problems_of(
    body: bytes,
    kind: str = JSON,
) -> list[tuple[object, object, str]]:
    with pytest.raises(CodedError) as failure:
        read(body, kind)
    assert failure.value.code == "bad-answers"
    problems = failure.value.facts["problems"]
    assert isinstance(problems, list)
    return [(one["line"], one["image"], one["problem"]) for one in problems]


def test_both_forms_mean_the_same() -> None:
    wide = png_of(np.ones((2, 6), np.uint16))
    of_json = read(as_json((2, GOOD), (3, wide)))
    assert of_json == read(packed((2, GOOD), (3, wide)), PACKED)
    assert [answer.image for answer in of_json] == [2, 3]
    assert of_json[0].value.labels().tolist() == [[0, 1, 2, 7]] * 3


def test_a_body_without_answers_has_none() -> None:
    assert read(b"[]") == read(b"") == read(b"", PACKED) == []


def test_every_problem_is_named_with_place_and_image() -> None:
    wrong = png_of(np.array([[0, 1, 5, 5], [9, 1, 1, 1], [0, 0, 0, 0]], np.uint8))
    body = as_json(
        (1, wrong),
        (9, GOOD),
        (True, GOOD),
        (3, GOOD),
        (2, b"\xff\xd8\xff"),
    )
    assert problems_of(body) == [
        (
            1,
            1,
            "2 pixels have the value 5 (the first at x 2, y 0), which is no category id; nor are 9",
        ),
        (2, 9, "the image 9 is not a whole number in 1..3"),
        (3, True, "the image True is not a whole number in 1..3"),
        (4, 3, "the label map is 4 x 3 pixels, the image 6 x 2"),
        (5, 2, "it is a JPEG, which changes values; send a PNG"),
    ]


def test_a_second_answer_for_an_image_is_named_and_not_unpacked() -> None:
    assert problems_of(packed((2, GOOD), (2, b"not even a PNG")), PACKED) == [
        (
            2,
            2,
            "answer 1 of this body is for the same image; send one label map for each image",
        )
    ]


def test_zero_is_no_class_and_a_void_value_is_none() -> None:
    nothing = png_of(np.zeros((3, 4), np.uint8))
    assert read(as_json((1, nothing)))
    void = png_of(
        np.full(
            (3, 4),
            255,
            np.uint8,
        )
    )
    [(_, _, problem)] = problems_of(as_json((1, void)))
    assert problem == (
        "12 pixels have the value 255 (the first at x 0, y 0), which is no category id"
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'[{"image": 1}]', "is not of the form"),
        (b'[{"image": 1, "png": "", "score": 1}]', "is not of the form"),
        (b"[7]", "7 is not of the form"),
        (b'[{"image": 1, "png": "%%%"}]', "its png, '%%%', is not base64"),
        (b'[{"image": 1, "png": 5}]', "its png, 5, is not base64"),
        ('[{"image": 1, "png": "\u00e4"}]'.encode(), "is not base64"),
        (b'[{"image": 1, "png": ""}]', "its PNG is empty"),
    ],
)
def test_json_that_is_no_answer_is_named(
    body: bytes,
    words: str,
) -> None:
    [(place, _, problem)] = problems_of(body)
    assert place == 1
    assert words in problem


def test_json_that_is_no_array_is_refused() -> None:
    for body in (b"{}", b"[", b"\xff", b"[" * 100_000):
        with pytest.raises(CodedError) as failure:
            read(body)
        assert failure.value.code == "bad-json"


@pytest.mark.parametrize(
    ("tail", "image", "problem"),
    [
        (
            b"abc",
            None,
            "it has 3 bytes, less than image and length need (8)",
        ),
        (
            struct.pack(
                "<II",
                2,
                2**32 - 1,
            )
            + b"abc",
            2,
            "its PNG should have 4,294,967,295 bytes, but 3 are left",
        ),
    ],
)
def test_a_packed_body_that_breaks_off_is_named(
    tail: bytes,
    image: int | None,
    problem: str,
) -> None:
    body = packed((1, GOOD)) + tail
    assert problems_of(body, PACKED) == [(2, image, problem)]


def test_the_pixels_of_one_body_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        label_bodies,
        "MOST_PIXELS",
        20,
    )
    assert read(as_json((1, GOOD)))
    assert problems_of(
        as_json(
            (1, GOOD),
            (2, GOOD),
            (3, GOOD),
        )
    ) == [(2, 2, "with it the body has 24 pixels; send at most 20 at once")]
    monkeypatch.setattr(
        label_bodies,
        "MOST_PIXELS",
        1,
    )
    assert read(as_json((1, GOOD)))


def test_a_type_that_the_task_does_not_read_is_refused() -> None:
    with pytest.raises(CodedError) as failure:
        read(GOOD, "image/png")
    assert failure.value.code == "unsupported-media-type"
    assert "Label maps of type 'image/png'" in failure.value.sentence


def test_the_limits_are_those_of_the_task() -> None:
    assert TASK.largest_body_bytes == 16 * 2**20
    assert TASK.read is read_label_maps
