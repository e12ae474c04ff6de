"""Scores answers of a task: its figures, its accuracy on halves of the images, and the figure of each image.

Answers come in order of arrival, with the image numbers of the test set. For a task whose images are answered once the
first answer counts, for any other the last one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_score.analysis.halves import HALVES, halves_of
from lpirc_score.tasks.offered import running_task, task_failed
from lpirc_score.tasks.task_kinds import (
    Answer,
    Figures,
    Floats,
    Ints,
    SummedTask,
    Task,
    Truth,
    WholeTask,
)

EXACT = 2.0**53
"""Sums of whole numbers below this are exact in any order."""


def figures_of(
    task: Task,
    truth: Truth,
    answers: Sequence[Answer],
    images: Ints,
) -> Figures:
    """Return the figures of the answers on these images (n,), ascending.

    Raises `CodedError` `bad-task` if the task's own code fails or gives figures that are none.
    """
    if isinstance(task, SummedTask):
        table = statistics_of(task, truth, answers, images)
        return figures_of_table(task, truth, table)
    with running_task(task.name):
        found = _whole(task).evaluate(truth, _of_images(answers, images), images)
    return checked(task, found)


def figures_of_table(
    task: SummedTask,
    truth: Truth,
    table: Floats,
) -> Figures:
    """Return the figures from the statistics (n, S) of images."""
    with running_task(task.name):
        found = task.figures(_total(table), truth.categories)
    return checked(task, found)


def halves_accuracy(
    task: Task,
    truth: Truth,
    answers: Sequence[Answer],
    images: Ints,
) -> Floats:
    """Return the accuracy (HALVES,) on each half of the images (n,); `lpirc_score.analysis.halves` draws them."""
    if isinstance(task, SummedTask):
        table = statistics_of(task, truth, answers, images)
        return halves_of_table(task, truth, table)
    drawn = halves_of(len(images)).T
    whole = _whole(task)
    with running_task(task.name):
        if whole.halves is not None:
            given = _of_images(answers, images)
            found_by_task = whole.halves(truth, given, images, drawn)
            return np.asarray(found_by_task, np.float64)
    values = [
        figures_of(task, truth, answers, images[drawn[half]]).accuracy
        for half in range(HALVES)
    ]
    return np.array(values, np.float64)


def halves_of_table(
    task: SummedTask,
    truth: Truth,
    table: Floats,
) -> Floats:
    """Return the accuracy (HALVES,) on each half of the images from their statistics (n, S)."""
    sums = _sums(table, halves_of(len(table)).T)
    with running_task(task.name):
        found = [task.figures(one, truth.categories).accuracy for one in sums]
    return np.array(found, np.float64)


def statistics_of(
    task: SummedTask,
    truth: Truth,
    answers: Sequence[Answer],
    images: Ints,
) -> Floats:
    """Return the statistics (n, S) of these images (n,)."""
    counted = counted_answers(task, answers)
    rows = [
        statistics_of_image(task, truth, image, counted.get(image))
        for image in images.tolist()
    ]
    return np.array(rows, np.float64).reshape(len(rows), -1)


def statistics_of_image(
    task: SummedTask,
    truth: Truth,
    image: int,
    value: Any | None,
) -> Floats:
    """Return the statistics (S,) of one image. Raises `CodedError` `bad-task`."""
    if image not in truth.by_image:
        raise task_failed(task.name, f"its truth has no image {image}")
    with running_task(task.name):
        return task.statistics(truth.by_image[image], value, truth.categories)


def counted_answers(
    task: Task,
    answers: Sequence[Answer],
) -> dict[int, Any]:
    """Return the value that counts of each answered image."""
    counted: dict[int, Any] = {}
    for image, value in answers:
        if not (task.is_once and image in counted):
            counted[image] = value
    return counted


def accuracy_by_image(
    task: SummedTask,
    truth: Truth,
    table: Floats,
) -> list[float | None]:
    """Return the figure of each image from its statistics (n, S), by which the worst images are ordered."""
    with running_task(task.name):
        if task.of_image is not None:
            return [task.of_image(row) for row in table]
        return [task.figures(row, truth.categories).accuracy for row in table]


def checked(
    task: Task,
    found: Figures,
) -> Figures:
    """Return the figures of a task. Raises `CodedError` `bad-task` unless they are figures."""
    if not isinstance(found, Figures):
        raise task_failed(task.name, f"it gave {found!r:.80}, which are no Figures")
    if not 0 <= found.accuracy <= 1:  # false for NaN
        problem = f"its accuracy is {found.accuracy!r}, which is not from 0 to 1"
        raise task_failed(task.name, problem)
    for name, value in (*found.by_category.items(), *found.others.items()):
        if value is not None and not math.isfinite(value):
            raise task_failed(task.name, f"its figure {name} is {value!r}")
    by_category = {int(id_): _plain(one) for id_, one in found.by_category.items()}
    others = {name: float(value) for name, value in found.others.items()}
    return Figures(float(found.accuracy), by_category, others)


def _plain(value: float | None) -> float | None:
    return None if value is None else float(value)


def _whole(task: Task) -> WholeTask:
    if not isinstance(task, WholeTask):
        raise task_failed(task.name, "it cannot be scored")
    return task


def _of_images(
    answers: Sequence[Answer],
    images: Ints,
) -> list[Answer]:
    wanted = {*images.tolist()}
    return [one for one in answers if one.image in wanted]


def _total(table: Floats) -> Floats:
    """Return the sum (S,) of the rows, the same on every machine."""
    if not len(table):
        return np.zeros(table.shape[1])
    total: Floats = np.cumsum(table, axis=0)[-1]
    return total


def _sums(
    table: Floats,
    drawn: NDArray[np.bool_],
) -> Floats:
    """Return the sum (H, S) of the rows that each half has; `drawn` is (H, n)."""
    is_whole = bool((table == np.floor(table)).all())
    if is_whole and float(np.abs(table).sum()) < EXACT:
        sums: Floats = drawn.astype(np.float64) @ table
        return sums
    return np.array([_total(table[half]) for half in drawn])
