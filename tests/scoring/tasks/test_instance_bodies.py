"""Bodies of instances: COCO's results, every problem named with its place and image."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import numpy as np
import pytest
from pycocotools import mask as masks

from lpirc_score.errors import CodedError
from lpirc_score.tasks import instance_bodies
from lpirc_score.tasks.instances import TASK
from lpirc_score.tasks.task_bodies import read_answers
from lpirc_score.tasks.task_kinds import Answer, Question
from lpirc_testsets.run_lengths import decode, encode

QUESTION = Question(np.array([[6, 4], [60, 40]]), np.array([1, 2, 7]))
JSON = "application/json"
TRIANGLE = [1.0, 1.0, 5.0, 1.0, 3.0, 4.0]


def row(
    segmentation: object,
    **others: object,
) -> dict[str, object]:
    usual = {"image_id": 1, "category_id": 2, "score": 0.5}
    return {**usual, "segmentation": segmentation, **others}


def read(*rows: object) -> list[Answer]:
    return read_answers(
        TASK,
        json.dumps(rows).encode(),
        JSON,
        QUESTION,
    )


def problems_of(*rows: object) -> list[tuple[object, object, str]]:
    with pytest.raises(CodedError) as failure:
        read(*rows)
    assert failure.value.code == "bad-answers"
    problems: Any = failure.value.facts["problems"]
    return [(one["line"], one["image"], one["problem"]) for one in problems]


def test_run_lengths_in_both_forms_are_the_same_mask() -> None:
    text, listed = read(
        row(
            {
                "size": [4, 6],
                "counts": encode(
                    np.eye(
                        4,
                        6,
                        dtype=bool,
                    )
                ),
            }
        ),
        row({"size": [4, 6], "counts": [0, 1, 4, 1, 4, 1, 4, 1, 8]}),
    )
    assert text == listed
    counts = text.value.mask.counts.decode()
    assert (
        decode(
            counts,
            4,
            6,
        ).tolist()
        == np.eye(
            4,
            6,
            dtype=bool,
        ).tolist()
    )


def test_polygons_are_filled_as_pycocotools_fills_them() -> None:
    chance = np.random.default_rng(0)
    for _ in range(50):
        polygons = [
            (chance.random((int(chance.integers(3, 9)), 2)) * (60, 40)).ravel().tolist()
            for _ in range(int(chance.integers(1, 4)))
        ]
        [answer] = read(row(polygons, image_id=2))
        expected = masks.merge(
            masks.frPyObjects(
                polygons,
                40,
                60,
            )
        )
        assert answer.value.mask.coco == expected


def test_bbox_and_other_keys_are_ignored_and_many_answers_for_an_image_kept() -> None:
    answers = read(
        row(
            [TRIANGLE],
            bbox=[0, 0, 1, 1],
            area=3,
        ),
        row([TRIANGLE], score=1),
    )
    assert [answer.image for answer in answers] == [1, 1]
    assert [answer.value.score for answer in answers] == [0.5, 1.0]


REFUSED: list[tuple[object, str]] = [
    (
        {"size": [6, 4], "counts": "o0"},
        "size is [6, 4], but the image has [height, width] [4, 6]",
    ),
    (
        {"size": [4, 6], "counts": [10, 10]},
        "the counts add up to 20, but 4 x 6 pixels are 24",
    ),
    (
        {"size": [4, 6], "counts": [30, -6]},
        "count 1 is 30, not a whole number from 0 to 24",
    ),
    ({"size": [4, 6], "counts": [20, -6, 10]}, "count 2 is -6, below 0"),
    ({"size": [4, 6], "counts": [2**70]}, "count 1 is"),
    ({"size": [4, 6], "counts": [1.5]}, "count 1 is 1.5, not a whole number"),
    ({"size": [4, 6], "counts": [True, 23]}, "count 1 is True, not a whole number"),
    ({"size": [4, 6], "counts": "ooooooooooooooooo0"}, "has more than"),
    ({"size": [4, 6], "counts": "o"}, "breaks off within its last count"),
    ({"size": [4, 6], "counts": "!"}, "character 1 is '!', which no count has"),
    ({"size": [4, 6], "counts": None}, "the counts None are neither text nor a list"),
    ({"size": [4, 6]}, "the counts None are neither"),
    ({}, "size is None"),
    ([], "is neither polygons nor run lengths"),
    ("abc", "is neither polygons nor run lengths"),
    (
        [TRIANGLE, [1, 2, 3, 4]],
        "polygon 2 has 4 numbers, not two for each of at least three",
    ),
    ([[1, 2, 3, 4, 5, 6, 7]], "polygon 1 has 7 numbers"),
    ([[1, 2, 3, 4, 5, "6"]], "polygon 1 [1, 2, 3, 4, 5, '6'] is not a list of numbers"),
    ([[1, 2, 3, 4, 5, True]], "is not a list of numbers"),
    (
        [[1, 2, 3, 4, 5, math.nan]],
        "vertex [5.0, nan] of polygon 1 is neither in nor near the image",
    ),
    (
        [[1, 2, 3, 4, 5, math.inf]],
        "vertex [5.0, inf] of polygon 1 is neither in nor near the image",
    ),
    (
        [[1, 2, 3, 4, 12.5, 1]],
        "vertex [12.5, 1.0] of polygon 1 is neither in nor near the image of 6 x 4 pixels",
    ),
    (
        [[1, 2, 3, 4, -7, 1]],
        "vertex [-7.0, 1.0] of polygon 1 is neither in nor near the image",
    ),
    ([1, 2, 3, 4, 5, 6], "polygon 1 1 is not a list of numbers"),
]


@pytest.mark.parametrize(("segmentation", "words"), REFUSED)
def test_a_segmentation_that_lies_is_named(
    segmentation: object,
    words: str,
) -> None:
    [(place, image, problem)] = problems_of(row([TRIANGLE]), row(segmentation))
    assert (place, image) == (2, 1)
    assert words in problem


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"image_id": 3}, "the image 3 is not a whole number in 1..2"),
        ({"image_id": "1"}, "the image '1' is not a whole number in 1..2"),
        ({"image_id": [1]}, "the image [1] is not a whole number in 1..2"),
        (
            {"category_id": 3},
            "the category_id 3 is not the id of a category of the set",
        ),
        ({"category_id": {}}, "the category_id {} is not the id of a category"),
        ({"category_id": True}, "the category_id True is not the id of a category"),
        ({"score": math.nan}, "the score nan is not a finite number"),
        ({"score": math.inf}, "the score inf is not a finite number"),
        ({"score": "0.5"}, "the score '0.5' is not a finite number"),
        ({"score": 10**400}, "the score 1000"),
        ({"score": False}, "the score False is not a finite number"),
    ],
)
def test_other_values_are_named(
    others: dict[str, object],
    words: str,
) -> None:
    [(_, _, problem)] = problems_of(row([TRIANGLE], **others))
    assert problem.startswith(words)


def test_all_problems_of_a_body_are_named() -> None:
    found = problems_of(
        7,
        row([]),
        row([TRIANGLE]),
        {"image_id": 1},
        row("x"),
    )
    assert [place for place, _, _ in found] == [1, 2, 4, 5]
    assert found[0][2].startswith("7 is not of the form")


def test_a_polygon_of_little_text_and_much_work_is_refused_before_it_is_filled() -> (
    None
):
    zigzag = [0.0, 0.0, 60.0, 40.0] * 60_000
    started_s = time.process_time()
    [(_, _, problem)] = problems_of(row([zigzag], image_id=2))
    assert problem == (
        "its outlines are 7,320,000 pixels long, and 524,288 is the most; send run lengths"
    )
    assert time.process_time() - started_s < 5


def test_the_outlines_of_a_body_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        instance_bodies,
        "LONGEST_OUTLINES_PX",
        30,
    )
    assert read(row([TRIANGLE]))
    [(place, _, problem)] = problems_of(*[row([TRIANGLE])] * 9)
    assert place == 3
    assert problem == (
        "with it the outlines of all polygons are 39 pixels long, and 30 is the most; send run lengths"
    )
