"""Classification: its bodies, each problem of one, and its figures beside the flat error of ILSVRC."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence

import numpy as np
import pytest

from lpirc_score.errors import CodedError
from lpirc_score.tasks.offered import task_named
from lpirc_score.tasks.task_bodies import MOST_LISTED, read_answers
from lpirc_score.tasks.task_kinds import Answer, Question, Truth
from lpirc_score.tasks.task_scores import figures_of, halves_accuracy
from lpirc_testsets import Category

TASK = task_named("classification")
QUESTION = Question(np.full((9, 2), 32), np.array([3, 5, 8, 13, 21, 34]))
JSON = "application/json"
PACKED = "application/octet-stream"


def taken(body: object, kind: str = JSON) -> list[tuple[int, tuple[int, ...]]]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return [tuple(one) for one in read_answers(TASK, raw, kind, QUESTION)]  # type: ignore[misc]


def refused(body: object, kind: str = JSON) -> CodedError:
    with pytest.raises(CodedError) as caught:
        taken(body, kind)
    return caught.value


def packed(*rows: Sequence[int]) -> bytes:
    return b"".join(struct.pack("<6I", *row) for row in rows)


def test_each_form_says_the_same() -> None:
    found = [(2, (5, 3)), (1, (8,))]
    assert taken([[2, [5, 3]], [1, 8]]) == found
    assert (
        taken([{"image": 2, "classes": [5, 3]}, {"classes": [8], "image": 1}]) == found
    )
    assert taken(b"2,5,3\n1,8\n", "text/csv") == found
    assert taken(b"image,class1,class2\r\n2, 5 ,3\n\n1,8", "text/plain") == found
    assert (
        taken(packed([2, 5, 3, 0, 0, 0], [1, 8, 0, 0, 0, 0]), f"{PACKED}; x=1") == found
    )


@pytest.mark.parametrize("kind", TASK.content_types)
def test_an_empty_body_has_no_answers(kind: str) -> None:
    assert taken(b"", kind) == []


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ([[0, 5]], "image 0: the image 0 is not a whole number in 1..9"),
        ([[10, 5]], "the image 10 is not a whole number in 1..9"),
        ([[True, 5]], "the image True is not a whole number in 1..9"),
        ([[1.0, 5]], "the image 1.0 is not a whole number in 1..9"),
        (
            [[1, 4]],
            "image 1: the class 4 is not the id of a category of the set; nothing was taken",
        ),
        ([[1, True]], "the class True is not the id of a category"),
        ([[1, "5"]], "the class '5' is not the id of a category"),
        ([[1, [[5]]]], "the class [5] is not the id of a category"),
        ([[1, []]], "it names 0 classes; send 1 to 5, the best first"),
        ([[1, [3, 5, 8, 13, 21, 34]]], "it names 6 classes"),
        ([[1, [3, 5, 3]]], "the classes [3, 5, 3] name one twice"),
        ([[1]], "Answer 1: [1] is not of the form"),
        ([7], "Answer 1: 7 is not of the form"),
        ([{"image": 1}], "is not of the form"),
        (
            [[4, 5], [4, 5]],
            "Answer 2, image 4: answer 1 of this body is for the same image",
        ),
    ],
)
def test_a_problem_is_named_with_place_image_and_value(
    body: object,
    sentence: str,
) -> None:
    error = refused(body)
    assert error.code == "bad-answers"
    assert sentence in error.sentence


@pytest.mark.parametrize(
    ("body", "kind", "sentence"),
    [
        (b"4", "text/csv", "is not image,class"),
        (b"4,five", "text/csv", "Answer 1, image 4: the class 'five'"),
        (b"\xff,5", "text/csv", "is not a whole number in 1..9"),
        (b"1,5\nimage,5", "text/csv", "Answer 2, image 'image'"),
        (b"1,5,,3", "text/csv", "the class '' is not"),
        (packed([1, 5, 0, 3, 0, 0]), PACKED, "the class 0 is not"),
        (packed([1, 0, 0, 0, 0, 0]), PACKED, "it names 0 classes"),
        (packed([1, 5, 0, 0, 0, 0]) + b"\x02", PACKED, "the last one has 1"),
    ],
)
def test_a_problem_of_text_and_packed_rows_is_named(
    body: bytes,
    kind: str,
    sentence: str,
) -> None:
    error = refused(body, kind)
    assert error.code == "bad-answers"
    assert sentence in error.sentence


def test_all_problems_are_counted_and_the_first_listed() -> None:
    error = refused([[image, 4] for image in range(1, 10)] * 5)
    assert error.facts["total"] == 45
    listed = error.facts["problems"]
    assert isinstance(listed, list)
    assert len(listed) == MOST_LISTED
    assert listed[0]["line"] == 1
    assert listed[0]["image"] == 1


def test_a_number_of_thousands_of_digits_is_shortened() -> None:
    error = refused(f"[[{'9' * 4000}, 5]]".encode())
    assert len(error.sentence) < 250
    assert len(str(error.facts["problems"])) < 250


def test_other_bodies_are_refused_by_name() -> None:
    assert refused(b"x", "image/png").code == "unsupported-media-type"
    for body in (b"[", b"{}", b"\xff", b"[" * 10_000, b"[" + b"9" * 10_000 + b"]"):
        assert refused(body).code in ("bad-json", "bad-answers")


def flat_error(
    predicted: dict[int, list[int]], labels: dict[int, int], most: int
) -> float:
    """The error of eval_clsloc.m: of an image, the least of d(prediction, label) over its first `most` predictions."""
    errors = []
    for image, label in labels.items():
        d = [int(one != label) for one in predicted.get(image, [])[:most]]
        errors.append(min(d, default=1))
    return sum(errors) / len(errors)


def test_figures_equal_the_flat_error_on_a_thousand_random_sets() -> None:
    drawn = np.random.default_rng(20)
    for _ in range(1000):
        classes = [*range(1, int(drawn.integers(2, 13)))]
        images = [*range(1, int(drawn.integers(2, 31)))]
        labels = {image: int(drawn.choice(classes)) for image in images}
        named = {
            image: drawn.permutation(classes)[: drawn.integers(1, 6)].tolist()
            for image in images
            if drawn.random() < 0.9
        }
        truth = Truth(tuple(Category(one, str(one)) for one in classes), labels)
        order = drawn.permutation([*named]).tolist()
        answers = [Answer(image, tuple(named[image])) for image in order]
        found = figures_of(TASK, truth, answers, np.array(images))
        assert found.accuracy == pytest.approx(
            1 - flat_error(named, labels, 1), abs=1e-12
        )
        assert found.others["top-5"] == pytest.approx(
            1 - flat_error(named, labels, 5), abs=1e-12
        )


def test_the_first_answer_for_an_image_counts() -> None:
    truth = Truth((Category(1, "a"), Category(2, "b")), {1: 1})
    answers = [Answer(1, (2,)), Answer(1, (1,))]
    assert figures_of(TASK, truth, answers, np.array([1])).accuracy == 0


def test_halves_have_the_accuracy_of_their_images() -> None:
    drawn = np.random.default_rng(7)
    labels = dict(enumerate(drawn.integers(1, 4, 40).tolist(), start=1))
    truth = Truth(tuple(Category(one, "") for one in (1, 2, 3)), labels)
    answers = [Answer(image, (int(drawn.integers(1, 4)),)) for image in labels]
    images = np.array([*labels])
    accuracy = figures_of(TASK, truth, answers, images).accuracy
    halves = halves_accuracy(TASK, truth, answers, images)
    assert len(halves) == 300
    assert (halves[::2] + halves[1::2]) / 2 == pytest.approx(accuracy)
    assert halves.std() > 0
