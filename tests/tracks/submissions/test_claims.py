"""When a device's answers count as the referee's own, and which images it is asked about."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lpirc_tracks.submissions.claims import IMAGES, difference, drawn_images
from lpirc_tracks.submissions.result_document import ResultDocument
from referee.store.model_records import Submission

MADE = Submission(
    7,
    "",
    "phones",
    "alpha",
    "public",
    "b",
    "m.tflite",
    "5a" * 32,
    "",
    counts=True,
)
BOX = (10.0, 10.0, 109.0, 59.0)


def labels(answers: dict[int, int]) -> ResultDocument:
    return ResultDocument(
        {"task": "classification"},
        np.empty((0, 7)),
        tuple(answers.items()),
    )


def rows(*found: tuple[float, ...]) -> ResultDocument:
    return ResultDocument(
        {"task": "detection"},
        np.array(found, float).reshape(-1, 7),
        (),
    )


def test_the_images_are_twenty_that_only_the_secret_tells() -> None:
    drawn = drawn_images(b"secret", MADE, 1000)
    assert len(set(drawn)) == IMAGES
    assert drawn == sorted(drawn) == drawn_images(b"secret", MADE, 1000)
    assert set(drawn) <= set(range(1, 1001))
    others = (
        drawn_images(b"another", MADE, 1000),
        drawn_images(b"secret", replace(MADE, id=8), 1000),
    )
    assert drawn not in others
    assert drawn_images(b"secret", MADE, 4) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("wrong", "is_equal"),
    [
        (0, True),
        (1, True),
        (2, False),
        (20, False),
    ],
)
def test_one_label_of_twenty_may_differ(wrong: int, is_equal: bool) -> None:
    numbers = list(range(101, 121))
    own = labels(dict.fromkeys(range(1, 21), 7))
    theirs = labels(
        {number: 7 if place >= wrong else 8 for place, number in enumerate(numbers)}
    )
    told = difference(theirs, own, numbers)
    assert (told is None) is is_equal
    if told is not None:
        assert f"on {wrong} of 20 images (101, 102" in told


@pytest.mark.parametrize(
    ("theirs", "is_equal"),
    [
        ((3, 1, 0.50, *BOX), True),
        ((3, 1, 0.53, 11, 10, 108, 60), True),  # as another runtime rounds
        ((3, 1, 0.70, *BOX), False),  # surer
        ((3, 2, 0.50, *BOX), False),  # another category
        ((3, 1, 0.50, 60, 10, 159, 59), False),  # elsewhere
        ((4, 1, 0.50, *BOX), False),  # of another image: nothing is found here
    ],
)
def test_boxes_have_partners_of_the_same_category_place_and_confidence(
    theirs: tuple[float, ...],
    is_equal: bool,
) -> None:
    own = rows((1, 1, 0.50, *BOX))
    assert (difference(rows(theirs), own, [3]) is None) is is_equal


def test_nothing_found_by_both_is_equal_and_invented_boxes_are_not() -> None:
    assert difference(rows(), rows(), [3]) is None
    assert difference(rows((3, 1, 0.9, *BOX)), rows(), [3]) is not None
