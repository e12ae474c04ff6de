"""The accuracy of a `WholeTask` on each image alone, by which the worst images are ordered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lpirc_score.tasks.offered import task_named
from lpirc_score.tasks.task_kinds import Answer, Figures, Ints, Truth, WholeTask
from lpirc_score.tasks.task_scores import accuracy_of_each
from lpirc_testsets import Category


def evaluate(truth: Truth, answers: Sequence[Answer], images: Ints) -> Figures:
    """The share of the answers that are right; an image whose truth is None has no object."""
    wanted = [truth.by_image[image] for image in images.tolist()]
    if wanted == [None]:
        return Figures(0.0, {1: None})
    right = [truth.by_image[image] == value for image, value in answers]
    share = sum(right) / len(right) if right else 0.0
    return Figures(share, {1: share})


def test_each_image_is_evaluated_with_its_own_answers() -> None:
    sample = task_named("instances")
    assert isinstance(sample, WholeTask)
    task = WholeTask(
        **{name: getattr(sample, name) for name in ("name", "title", "accuracy")},
        answer="mark",
        answers="marks",
        content_types=("application/json",),
        read=sample.read,
        read_truth=sample.read_truth,
        is_once=False,
        evaluate=evaluate,
    )
    truth = Truth((Category(1, "cat"),), {1: "a", 2: "b", 3: None, 4: "d"})
    answers = [Answer(1, "a"), Answer(2, "b"), Answer(2, "a"), Answer(9, "a")]
    images = np.arange(1, 5)
    assert accuracy_of_each(task, truth, answers, images) == [1.0, 0.5, None, 0.0]
