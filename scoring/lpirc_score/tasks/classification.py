"""Image classification: at most five classes for each image, the best first; top-1 and top-5 as in ILSVRC.

An image counts as right at 5 if any of the classes is its label, and at 1 if the first one is: one minus the flat
error of ILSVRC's development kit (`eval_clsloc`). An image without an answer counts as wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import numpy as np

from lpirc_score.tasks.class_bodies import (
    MOST_CLASSES,
    PACKED,
    read_classes,
)
from lpirc_score.tasks.task_kinds import (
    Answer,
    Figures,
    Floats,
    Question,
    Shown,
    SummedTask,
    Truth,
)
from lpirc_testsets import Category, TestSet

TOP_5 = "top-5"
Classes = tuple[int, ...]


def read(
    body: bytes,
    content_type: str,
    question: Question,
) -> Sequence[Answer]:
    """Read the classes of a body; docs/http.md has the forms. Raises `CodedError` `bad-answers`, `bad-json`."""
    return read_classes(body, content_type, question)


def read_truth(test_set: TestSet) -> Truth:
    """Return the category id of each image. Raises TestSetError if the set has no classes."""
    return Truth(*import_module("lpirc_testsets.task_truth").read_class_truth(test_set))


def statistics(
    label: int,
    classes: Classes | None,
    _categories: Sequence[Category],
) -> Floats:
    """Return (right at 1, right at 5, images) of one image."""
    named = classes or ()
    return np.array([label in named[:1], label in named[:MOST_CLASSES], 1], np.float64)


def figures(
    total: Floats,
    _categories: Sequence[Category],
) -> Figures:
    """Return the shares of right images from the sum of the statistics."""
    first, five, images = total.tolist()
    if not images:
        return Figures(0.0, others={TOP_5: 0.0})
    return Figures(first / images, others={TOP_5: five / images})


def of_image(one: Floats) -> float:
    """Return how well one image is classified: 1 at once, 0.5 among the five, 0 otherwise."""
    return float(one[0] + one[1]) / 2


def show(
    label: int,
    classes: Classes | None,
) -> Shown:
    """Show the classes beside the label, by their ids."""
    if classes is None:
        return Shown(f"No answer came; the class is {label}.")
    named = ", ".join(map(str, classes))
    return Shown(f"Answered {named}; the class is {label}.")


TASK = SummedTask(
    name="classification",
    title="Image classification",
    accuracy="top-1",
    answer="classification",
    answers="classifications",
    content_types=("application/json", "text/csv", "text/plain", PACKED),
    read=read,
    read_truth=read_truth,
    show=show,
    source="ILSVRC, flat error of the development kit's eval_clsloc",
    statistics=statistics,
    figures=figures,
    of_image=of_image,
)
