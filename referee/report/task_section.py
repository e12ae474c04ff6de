"""The section of a run of another task than boxes: its worst images, each as the task shows it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from lpirc_score.tasks.offered import running_task, task_failed, task_named, told
from lpirc_score.tasks.task_kinds import Shown, SummedTask, Task, Truth
from lpirc_score.tasks.task_scores import accuracy_by_image
from referee.contest import Contest, require_scorer
from referee.judging.judge import case_of
from referee.judging.run_case import scoring_input
from referee.judging.score_explanation import judged_contest
from referee.judging.task_scoring import TaskInput
from referee.report.worst_images import bounded_uri
from referee.store.records import Run, Score

MOST_WORST = 6
LARGEST_OVERLAY_BYTES = 300_000
LONGEST_SENTENCE = 200
PNG = b"\x89PNG\r\n\x1a\n"


def task_section(contest: Contest, run: Run, judged: Score) -> dict[str, Any]:
    """Return `worst`, an entry for each of the worst images; empty for a task whose images have no figure.

    Raises RefereeError `judged-otherwise`, `bad-task`; TestSetError.
    """
    require_scorer(contest, run)
    judging = judged_contest(contest, run, judged)
    task = task_named(run.task)
    given = scoring_input(case_of(judging, run))
    if not isinstance(task, SummedTask) or not isinstance(given, TaskInput):
        return {"worst": []}
    table = given.sent.counted.table
    if table is None:
        return {"worst": []}
    figures = accuracy_by_image(task, given.truth, table)
    known = [
        (one, image)
        for one, image in zip(figures, given.images.tolist(), strict=True)
        if one is not None and one < 1
    ]
    worst = sorted(known)[:MOST_WORST]
    values = _values(task, given, [image for _, image in worst])
    numbers = np.argsort(given.order) + 1  # the team's, by the test set's ascending
    entries = []
    for figure, image in worst:
        place = int(np.searchsorted(given.images, image))
        shown = _shown(task, given.truth, image, values.get(image))
        entries.append(
            {
                "image": contest.test_set.images[image - 1],
                "number": int(numbers[place]),
                "figure": figure,
                "sentence": shown.sentence,
                "uri": bounded_uri(contest.test_set.image_path(image)),
                "overlay": _overlay(shown.png),
            }
        )
    return {"worst": entries}


def _values(
    task: Task,
    given: TaskInput,
    images: Sequence[int],
) -> dict[int, Any]:
    """Return the answer that counts for each of these images: the first, or the last if the task takes several."""
    wanted = {image for image in images if given.counts(image)}
    values: dict[int, Any] = {}
    for image, value in given.each():
        if image in wanted and not (task.is_once and image in values):
            values[image] = value
    return values


def _shown(task: Task, truth: Truth, image: int, value: Any | None) -> Shown:
    if task.show is None:
        return Shown("No answer counts." if value is None else "Answered.")
    with running_task(task.name, "show"):
        shown = task.show(truth.by_image[image], value)
    return _checked(task, shown)


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
