"""A task of its own: how many objects an image has.

A body is JSON, `[{"image": 1, "count": 3}]`. The accuracy is one minus the mean relative error of
the counts, at most 1 for an image; an image without an answer has the error 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lpirc_score.tasks.task_bodies import AnswerProblems, image_problem, json_array
from lpirc_score.tasks.task_kinds import (
    Answer,
    Figures,
    Floats,
    Question,
    Shown,
    SummedTask,
    Truth,
)
from lpirc_testsets import Category, TestSet, read_ground_truth

KEYS = {"image", "count"}
MOST = 10_000


def read(body: bytes, _content_type: str, question: Question) -> Sequence[Answer]:
    """Read the counts of a body, and name every problem of it."""
    answers = []
    problems = AnswerProblems()
    form = "an array of {image, count}"
    for place, item in enumerate(json_array(body, form), start=1):
        if not isinstance(item, dict) or item.keys() != KEYS:
            problems.add(place, None, f"{item!r:.40} is not {{image, count}}")
            continue
        image = item["image"]
        count = item["count"]
        problem = image_problem(image, question)
        if not problem and (type(count) is not int or not 0 <= count <= MOST):
            problem = f"the count {count!r:.40} is not a whole number in 0..{MOST}"
        if problem:
            problems.add(place, image, problem)
        else:
            answers.append(Answer(image, count))
    problems.raise_if_any()
    return answers


def read_truth(test_set: TestSet) -> Truth:
    """Count the objects of each image in a set with boxes."""
    found = read_ground_truth(test_set.ground_truth_path)
    counts = {
        image: int(np.count_nonzero(found.image == image))
        for image in found.image_ids.tolist()
    }
    return Truth(test_set.categories, counts)


def statistics(
    wanted: int,
    count: int | None,
    _categories: Sequence[Category],
) -> Floats:
    """Return (one minus the error of an image, whether it is right, 1)."""
    if count is None:
        return np.array([0.0, 0.0, 1.0])
    error = min(1.0, abs(count - wanted) / max(wanted, 1))
    return np.array([1.0 - error, count == wanted, 1.0])


def figures(total: Floats, _categories: Sequence[Category]) -> Figures:
    """Return the mean over the images, and the share of exact counts."""
    near, exact, images = total.tolist()
    return Figures(near / images, others={"exact": exact / images})


def show(wanted: int, count: int | None) -> Shown:
    """Say both counts."""
    said = "no answer" if count is None else f"{count} counted"
    return Shown(f"{said}, {wanted} objects")


COUNTING = SummedTask(
    name="counting",
    title="Counting objects",
    accuracy="closeness",
    answer="count",
    answers="counts",
    content_types=("application/json",),
    read=read,
    read_truth=read_truth,
    show=show,
    statistics=statistics,
    figures=figures,
)
