"""Mean IoU and Dice: beside cityscapesScripts, and beside a confusion matrix that is counted pixel by pixel."""

from __future__ import annotations

import io
import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lpirc_score.tasks.label_maps import places_of
from lpirc_score.tasks.offered import task_named
from lpirc_score.tasks.segmentation import TASK, figures, statistics
from lpirc_score.tasks.task_kinds import Answer, Figures, Truth
from lpirc_score.tasks.task_scores import figures_of, halves_accuracy
from lpirc_testsets import Category, TestSetError, synthesize
from lpirc_testsets.task_truth import VOID
from tests.scoring.tasks.label_map_sets import (
    map_of,
    random_maps,
    slow_figures,
    truth_of,
)

VECTORS = Path(__file__).with_name("cityscapes_vectors.json")
near = partial(pytest.approx, abs=1e-12)


def categories_of(*ids: int) -> tuple[Category, ...]:
    return tuple(Category(id_, f"category {id_}") for id_ in ids)


def labels(rows: str) -> np.ndarray:
    """Labels of one digit; a dot is void."""
    found = np.array([[*row] for row in rows.split()])
    found[found == "."] = "9"
    values = found.astype(np.int32)
    values[values == 9] = VOID
    return values


def answered(rows: str) -> np.ndarray:
    return labels(rows).astype(np.uint8)


Posed = tuple[Truth, list[Answer], np.ndarray]


def posed(
    images: list[Any],
    categories: tuple[Category, ...],
) -> Posed:
    by_image = {}
    answers = []
    for number, (true, given) in enumerate(images, start=1):
        by_image[number] = true
        if given is not None:
            answer = Answer(number, map_of(given))
            answers.append(answer)
    numbers = np.array([*by_image])
    return Truth(categories, by_image), answers, numbers


def judged(
    images: list[Any],
    categories: tuple[Category, ...],
) -> Figures:
    return figures_of(TASK, *posed(images, categories))


def test_the_figures_are_those_of_cityscapes_scripts() -> None:
    document = json.loads(VECTORS.read_text())
    ids = document["categories"]
    for one in document["sets"]:
        images = []
        for image in one["images"]:
            true = truth_of(np.array(image["true"]), ids)
            images.append((true, np.array(image["predicted"], np.uint8)))
        found = judged(images, categories_of(*ids))
        known = {k: v for k, v in found.by_category.items() if v is not None}
        expected = {int(id_): value for id_, value in one["iou"].items()}
        assert known == near(expected)
        assert found.accuracy == near(one["mean"] or 0.0)


@pytest.mark.parametrize("ids", [(1, 2, 3, 5), (0, 1, 7), (3,), (1, 255, 256, 65535)])
def test_the_figures_are_those_of_a_matrix_counted_pixel_by_pixel(
    ids: tuple[int, ...],
) -> None:
    for seed in range(40):
        images = random_maps(np.random.default_rng(seed), ids)
        found = judged(images, categories_of(*ids))
        mean, dice, accuracy, iou = slow_figures(images, ids)
        assert found.accuracy == near(mean)
        assert found.others["mean Dice"] == near(dice)
        assert found.others["pixel accuracy"] == near(accuracy)
        assert found.by_category == near(iou)


def test_a_category_that_only_an_answer_has_counts_as_zero() -> None:
    images = [(labels("11 11"), answered("11 12"))]
    found = judged(
        images,
        categories_of(
            1,
            2,
            3,
        ),
    )
    assert found.by_category == {1: 0.75, 2: 0.0, 3: None}
    assert found.accuracy == 0.375


def test_what_is_predicted_on_void_pixels_gains_and_costs_nothing() -> None:
    categories = categories_of(1, 2)
    for rows in ("11 00", "11 11", "11 22"):
        images = [(labels("11 .."), answered(rows))]
        assert judged(images, categories).accuracy == 1.0


def test_no_answer_and_an_answer_without_a_category_are_equally_bad() -> None:
    true = labels("11 22")
    right = (true, answered("11 22"))
    categories = categories_of(1, 2)
    missing = judged([right, (true, None)], categories)
    empty = judged([right, (true, answered("00 00"))], categories)
    assert missing == empty
    assert missing.accuracy == 0.5


def test_sixteen_bits_and_eight_give_the_same_statistics() -> None:
    chance = np.random.default_rng(3)
    true = chance.choice([-1, 1, 2, 200], (30, 40)).astype(np.int32)
    given = chance.choice([0, 1, 2, 200], (30, 40)).astype(np.uint8)
    categories = categories_of(
        1,
        2,
        200,
    )
    narrow = statistics(
        true,
        map_of(given),
        categories,
    )
    wide = statistics(
        true,
        map_of(given.astype(np.uint16)),
        categories,
    )
    assert narrow.tolist() == wide.tolist()
    places = places_of(true, [1, 2, 200])
    assert set(places[true == -1].tolist()) == {3}


def test_halves_are_scored_from_the_sums() -> None:
    images = random_maps(np.random.default_rng(1), (1, 2, 3)) * 3
    categories = categories_of(
        1,
        2,
        3,
    )
    halves = halves_accuracy(TASK, *posed(images, categories))
    assert len(halves) == 300
    assert ((halves >= 0) & (halves <= 1)).all()


def test_nothing_to_count_is_zero() -> None:
    assert figures(np.zeros(6), categories_of(1, 2)).accuracy == 0.0
    assert not math.isnan(figures(np.zeros(6), categories_of(1, 2)).others["mean Dice"])


def test_a_synthetic_set_is_read_and_its_own_truth_is_perfect(tmp_path: Path) -> None:
    made = synthesize(
        tmp_path / "set",
        3,
        task="segmentation",
    )
    truth = TASK.read_truth(made)
    answers = []
    for image, labels in truth.by_image.items():
        values = labels.astype(np.uint8)
        answers.append(Answer(image, map_of(values)))
    found = figures_of(
        TASK,
        truth,
        answers,
        np.arange(1, 4),
    )
    assert found.accuracy == 1.0


def test_a_set_of_boxes_has_no_label_maps(tmp_path: Path) -> None:
    made = synthesize(tmp_path / "set", 1)
    with pytest.raises(TestSetError) as failure:
        TASK.read_truth(made)
    assert failure.value.code == "no-truth-for-task"


def test_it_is_found_by_its_name() -> None:
    assert task_named("segmentation") is TASK


def test_an_answer_is_shown_in_colours_and_one_sentence() -> None:
    assert TASK.show is not None
    true = labels("112. 112.")
    given = map_of(answered("1111 1020"))
    shown = TASK.show(true, given)
    assert shown.sentence == (
        "Of 6 pixels 66.7% are right, 16.7% have a wrong category (orange), 16.7% wrongly have 0 (blue); "
        "2 void pixels do not count."
    )
    assert shown.png is not None
    image = Image.open(io.BytesIO(shown.png)).convert("RGBA")
    assert image.size == (4, 2)
    colours = image.getcolors()
    assert sorted(count for count, _ in colours or ()) == [1, 1, 2, 4]
    assert image.getpixel((3, 0)) == (0, 0, 0, 0)
    assert TASK.show(true, None).sentence == (
        "No label map came for 6 pixels; 2 void pixels do not count."
    )
