"""The sample detector's masks, on synthetic sets whose true masks are known."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from lpirc_client.sample_detector.sample_masks import instances, segment
from lpirc_client.wire import Category
from lpirc_score.tasks.offered import task_named
from lpirc_score.tasks.task_bodies import read_answers
from lpirc_score.tasks.task_kinds import Figures, Question
from lpirc_score.tasks.task_scores import figures_of
from lpirc_testsets import TestSet, synthesize

IMAGES = 12


def judged(test_set: TestSet, rows: list[object]) -> Figures:
    task = task_named(test_set.folder.name)
    sizes = [(image.width, image.height) for image in test_set.images]
    ids = [category.id for category in test_set.categories]
    question = Question(np.array(sizes), np.array(ids))
    body = json.dumps(rows).encode()
    answers = read_answers(
        task,
        body,
        "application/json",
        question,
    )
    return figures_of(
        task,
        task.read_truth(test_set),
        answers,
        np.arange(1, IMAGES + 1),
    )


def photographs(test_set: TestSet) -> list[bytes]:
    return [test_set.image_path(image.number).read_bytes() for image in test_set.images]


def categories_of(test_set: TestSet) -> list[Category]:
    return [Category(one.id, one.name) for one in test_set.categories]


def test_label_maps_are_good_but_not_perfect(tmp_path: Path) -> None:
    made = synthesize(tmp_path / "segmentation", IMAGES, task="segmentation")
    categories = categories_of(made)
    rows: list[object] = []
    for number, jpeg in enumerate(photographs(made), start=1):
        png = base64.b64encode(segment(jpeg, categories))
        rows.append({"image": number, "png": png.decode()})
    assert 0.6 < judged(made, rows).accuracy < 0.99


def test_instances_are_good_but_not_perfect(tmp_path: Path) -> None:
    made = synthesize(tmp_path / "instances", IMAGES, task="instances")
    categories = categories_of(made)
    rows: list[object] = []
    for number, jpeg in enumerate(photographs(made), start=1):
        found = instances(jpeg, categories)
        rows += [{"image_id": number, **one} for one in found]
    assert 0.5 < judged(made, rows).accuracy < 0.99


@pytest.mark.parametrize(("largest", "depth"), [(255, 8), (256, 16)])
def test_a_label_map_is_as_deep_as_the_ids_need(
    largest: int,
    depth: int,
    tmp_path: Path,
) -> None:
    made = synthesize(tmp_path / "set", 1)
    png = segment(photographs(made)[0], [Category(largest, "no shape at all")])
    assert png[24] == depth
