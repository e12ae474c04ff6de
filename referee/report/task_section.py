"""The section of a run of another task than boxes: its categories, and its worst images as the task shows them."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lpirc_score.tasks.offered import running_task, task_failed, task_named, told
from lpirc_score.tasks.task_kinds import (
    Shown,
    SummedTask,
    Task,
    Truth,
    WholeTask,
)
from lpirc_score.tasks.task_scores import accuracy_by_image, accuracy_of_each
from referee.contest import Contest
from referee.judging.judge import case_of
from referee.judging.run_case import scoring_input
from referee.judging.score_explanation import judged_contest
from referee.judging.task_scoring import TaskInput
from referee.report.worst_images import bounded_uri
from referee.store.records import Run, Score

MOST_WORST = 6
MOST_ALONE = 1_000
"""Images of a run up to which a `WholeTask` is evaluated on each of them alone."""
LARGEST_OVERLAY_BYTES = 300_000
LONGEST_SENTENCE = 200
PNG = b"\x89PNG\r\n\x1a\n"


def task_section(contest: Contest, run: Run, judged: Score) -> dict[str, Any]:
    """Return `worst`, an entry for each of the worst images, and `of_categories`, each category with its figure.

    Both are empty for a task without such figures. Raises RefereeError `judged-otherwise`, `bad-task`; TestSetError.
    """
    judging = judged_contest(contest, run, judged)
    task = task_named(run.task)
    given = scoring_input(case_of(judging, run))
    names = {one.id: one.name for one in contest.test_set.categories}
    of_categories = [(names.get(id_, id_), one) for id_, one in judged.ap.items()]
    worst: list[dict[str, Any]] = []
    if isinstance(given, TaskInput):
        worst = [*_worst(contest, task, given)]
    return {"worst": worst, "of_categories": of_categories}


def _worst(contest: Contest, task: Task, given: TaskInput) -> Iterator[dict[str, Any]]:
    """Yield an entry for each of the worst images, the worst first."""
    figures = _figure_of_each(task, given)
    known = [
        (one, image)
        for one, image in zip(figures, given.images.tolist(), strict=False)
        if one is not None and one < 1
    ]
    worst = sorted(known)[:MOST_WORST]
    values = _values(given, [image for _, image in worst])
    numbers = np.argsort(given.order) + 1  # the team's, by the test set's ascending
    for figure, image in worst:
        place = int(np.searchsorted(given.images, image))
        shown = _shown(task, given.truth, image, values.get(image, []))
        yield {
            "image": contest.test_set.images[image - 1],
            "number": int(numbers[place]),
            "figure": figure,
            "sentence": shown.sentence,
            "uri": bounded_uri(contest.test_set.image_path(image)),
            "overlay": _overlay(shown.png),
        }


def _figure_of_each(task: Task, given: TaskInput) -> Sequence[float | None]:
    """Return the figure of each of the run's images; empty if there are none, or it would take too long."""
    counted = given.sent.counted
    if isinstance(task, SummedTask) and counted.table is not None:
        return accuracy_by_image(task, given.truth, counted.table)
    if not isinstance(task, WholeTask) or not task.has_figure_of_image:
        return ()
    if len(given.images) <= MOST_ALONE:
        return accuracy_of_each(task, given.truth, counted.answers, given.images)
    return ()


def _values(given: TaskInput, images: Sequence[int]) -> dict[int, list[Any]]:
    """Return the answers of each of these images that count, in order of arrival."""
    wanted = {image for image in images if given.counts(image)}
    values: dict[int, list[Any]] = {}
    for image, value in given.each():
        if image in wanted:
            values.setdefault(image, []).append(value)
    return values


def _shown(
    task: Task,
    truth: Truth,
    image: int,
    values: Sequence[Any],
) -> Shown:
    """Return what the task shows of the answer that counts, or of the first of several."""
    if task.show is None:
        return Shown("Answered." if values else "No answer counts.")
    value = values[0] if values else None
    if isinstance(task, SummedTask) and not task.is_once and values:
        value = values[-1]
    with running_task(task.name, "show"):
        shown = task.show(truth.by_image[image], value)
    shown = _checked(task, shown)
    if isinstance(task, WholeTask) and len(values) > 1:
        several = f"{len(values)} {task.answers}, of which the first: {shown.sentence}"
        return shown._replace(sentence=several)
    return shown


def _checked(task: Task, shown: Shown) -> Shown:
    """Return what a task shows, its sentence on one line. Raises TaskFailed for what cannot be shown."""
    is_shown = (
        isinstance(shown, Shown)
        and isinstance(shown.sentence, str)
        and isinstance(shown.png, bytes | None)
    )
    if not is_shown:
        problem = f"its show gave {told(shown)}, which is no Shown"
        raise task_failed(task.name, problem)
    line = " ".join(shown.sentence.split())
    if len(line) > LONGEST_SENTENCE:
        line = f"{line[:LONGEST_SENTENCE]}…"
    return Shown(line, shown.png)


def _overlay(png: bytes | None) -> str | None:
    if png is None or not png.startswith(PNG) or len(png) > LARGEST_OVERLAY_BYTES:
        return None
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
