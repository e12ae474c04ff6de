"""Scores answers of a task: its figures, its accuracy on halves of the images, and the figure of each image.

Answers come in order of arrival, with the image numbers of the test set. For a task whose images are answered once the
first answer counts, for any other the last one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_score.analysis.halves import HALVES, halves_of
from lpirc_score.tasks.offered import running_task, task_failed, told
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

LONGEST_NAME = 40
"""Characters of the name of a further figure."""

MOST_OTHERS = 100
"""Further figures of a task, each a row of tables."""

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
    with running_task(task.name, "evaluate"):
        found = _whole(task).evaluate(truth, _of_images(answers, images), images)
    return checked(task, found)


def figures_of_table(
    task: SummedTask,
    truth: Truth,
    table: Floats,
) -> Figures:
    """Return the figures from the statistics (n, S) of images."""
    with running_task(task.name, "figures"):
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
    if whole.halves is not None:
        given = _of_images(answers, images)
        with running_task(task.name, "halves"):
            found = np.asarray(whole.halves(truth, given, images, drawn), np.float64)
        return _checked_halves(task, found)
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
    with running_task(task.name, "figures"):
        figures = [task.figures(one, truth.categories) for one in sums]
        found = np.array([one.accuracy for one in figures], np.float64)
    return _checked_halves(task, found)


def statistics_of(
    task: SummedTask,
    truth: Truth,
    answers: Sequence[Answer],
    images: Ints,
) -> Floats:
    """Return the statistics (n, S) of these images (n,)."""
    counted = counted_answers(task, answers)
    rows = {
        image: statistics_of_image(task, truth, image, counted.get(image))
        for image in images.tolist()
    }
    return table_of(task, rows)


def table_of(
    task: SummedTask,
    rows: Mapping[int, Floats],
) -> Floats:
    """Return the statistics (n, S) of images, given by image. Raises TaskFailed unless they have one shape."""
    shapes: dict[tuple[int, ...], int] = {}
    for image, row in rows.items():
        shapes.setdefault(row.shape, image)
    if len(shapes) > 1:
        (first, one), (second, other) = [*shapes.items()][:2]
        problem = (
            f"its statistics of image {one} have the shape {first}, but those of image {other} have {second}; "
            "they need one shape"
        )
        raise task_failed(task.name, problem)
    return np.array([*rows.values()], np.float64).reshape(len(rows), -1)


def statistics_of_image(
    task: SummedTask,
    truth: Truth,
    image: int,
    value: Any | None,
) -> Floats:
    """Return the statistics (S,) of one image. Raises TaskFailed unless they are finite numbers."""
    if image not in truth.by_image:
        raise task_failed(task.name, f"its truth has no image {image}")
    with running_task(task.name, "statistics"):
        found = task.statistics(truth.by_image[image], value, truth.categories)
        row = np.asarray(found, np.float64)
    if row.ndim != 1 or not np.isfinite(row).all():
        problem = f"its statistics of image {image} are {told(found)}, which is no array (S,) of finite numbers"
        raise task_failed(task.name, problem)
    return row


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
    """Return the figure of each image from its statistics (n, S), by which the worst images are ordered.

    Raises TaskFailed.
    """
    if task.of_image is None:
        with running_task(task.name, "figures"):
            found = [task.figures(row, truth.categories) for row in table]
        return [checked(task, one).accuracy for one in found]
    with running_task(task.name, "of_image"):
        values = [_plain(task.of_image(row)) for row in table]
    if all(one is None or math.isfinite(one) for one in values):
        return values
    raise task_failed(task.name, "its of_image gave a figure that is not finite")


def accuracy_of_each(
    task: WholeTask,
    truth: Truth,
    answers: Sequence[Answer],
    images: Ints,
) -> list[float | None]:
    """Return the accuracy on each of these images (n,) alone, by which the worst images are ordered.

    None: the task has figures of categories, and none of them has an object in the image. Raises `CodedError`
    `bad-task`.
    """
    given: dict[int, list[Answer]] = {image: [] for image in images.tolist()}
    for one in answers:
        if one.image in given:
            given[one.image].append(one)
    reached: list[float | None] = []
    for image, its in given.items():
        with running_task(task.name, "evaluate"):
            found = task.evaluate(truth, its, np.array([image], np.int64))
        figures = checked(task, found)
        parts = figures.by_category.values()
        is_empty = bool(parts) and all(one is None for one in parts)
        reached.append(None if is_empty else figures.accuracy)
    return reached


def checked(
    task: Task,
    found: Figures,
) -> Figures:
    """Return the figures of a task. Raises TaskFailed unless they are figures that pages can show."""
    if not isinstance(found, Figures):
        raise task_failed(task.name, f"it gave {told(found)}, which are no Figures")
    with running_task(task.name, "Figures"):  # of whatever type they are
        accuracy = float(found.accuracy)
        by_category = {int(id_): _plain(one) for id_, one in found.by_category.items()}
        others = {name: float(value) for name, value in found.others.items()}
    if not 0 <= accuracy <= 1:  # false for NaN
        problem = f"its accuracy is {accuracy!r}, which is not from 0 to 1"
        raise task_failed(task.name, problem)
    if len(others) > MOST_OTHERS:
        problem = (
            f"it gave {len(others)} further figures, and the most is {MOST_OTHERS}"
        )
        raise task_failed(task.name, problem)
    for other in others:
        if problem := other_problem(other):
            raise task_failed(task.name, problem)
    for name, value in (*by_category.items(), *others.items()):
        if value is not None and not math.isfinite(value):
            raise task_failed(task.name, f"its figure {name} is {value!r}")
    return Figures(accuracy, by_category, others)


def other_problem(name: object) -> str:
    """Return what is wrong with the name of a further figure, which stands in tables, or an empty text."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        return f"the name of a figure is {name!r:.40}, which is no word"
    if len(name) > LONGEST_NAME:
        return f"the name {name!r:.40} of a figure has {len(name)} characters, and the most is {LONGEST_NAME}"
    return ""


def _checked_halves(
    task: Task,
    found: Floats,
) -> Floats:
    """Return the accuracy on halves. Raises TaskFailed unless it has the shape (HALVES,), each from 0 to 1."""
    if found.shape != (HALVES,):
        problem = f"its halves have the shape {found.shape} and not {(HALVES,)}"
        raise task_failed(task.name, problem)
    if not ((found >= 0) & (found <= 1)).all():  # false for NaN
        raise task_failed(task.name, "its accuracy on a half is not from 0 to 1")
    return found


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
