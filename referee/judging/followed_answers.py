"""The accuracy of an open run's answers of a task other than boxes, as they come."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lpirc_score.tasks.offered import task_named
from lpirc_score.tasks.task_kinds import Answer, Floats, Ints, SummedTask, Truth
from lpirc_score.tasks.task_scores import (
    figures_of,
    figures_of_table,
    statistics_of,
    statistics_of_image,
    table_of,
)
from referee.contest import Contest
from referee.judging.task_scoring import answers_of
from referee.store.records import Run


class FollowedAnswers:
    """The answers of a run read so far. `images` (n,) are those of the run, `half` a part of them, both ascending.

    A `SummedTask` keeps the statistics of each image, so that only new answers are looked at; a `WholeTask` is scored
    anew.
    """

    def __init__(
        self,
        contest: Contest,
        run: Run,
        truth: Truth,
        half: Ints,
    ) -> None:
        self._contest = contest
        self._run = run
        self._task = task_named(contest.config.task)
        self._truth = truth
        self._order = contest.store.runs.image_order(run.id)
        self._images = np.sort(self._order)
        self._half = half
        self._answers: list[Answer] = []
        self._waiting: list[Answer] = []
        self._counted: set[int] = set()
        self._served: set[int] = set()
        self._last_post = 0
        self._last_served = 0
        self._table: Floats | None = None

    def evaluate(self) -> tuple[float, int]:
        """Return the accuracy of the stored answers that count, and the number of all answers.

        Raises RefereeError `bad-task`.
        """
        new, count = self._read()
        if isinstance(self._task, SummedTask):
            table = self._renewed(self._task, new)
            return figures_of_table(self._task, self._truth, table).accuracy, count
        return self._whole(self._images), count

    def evaluate_half(self) -> float:
        """Return the accuracy on the half, of the answers that `evaluate` has read."""
        if isinstance(self._task, SummedTask) and self._table is not None:
            table = self._table[np.isin(self._images, self._half)]
            return figures_of_table(self._task, self._truth, table).accuracy
        return self._whole(self._half)

    def _whole(self, images: Ints) -> float:
        return figures_of(self._task, self._truth, self._answers, images).accuracy

    def _read(self) -> tuple[list[Answer], int]:
        """Read what is new, and return the answers that count from now on, and the number of all answers."""
        store = self._contest.store
        bodies, self._last_post = store.answers.bodies_after(
            self._run.id, self._last_post
        )
        test_set = self._contest.test_set
        self._waiting += answers_of(self._task.name, bodies, test_set, self._order)
        served, self._last_served = store.served.after(self._run.id, self._last_served)
        self._served |= {int(self._order[image - 1]) for image in served}
        counts = self._contest.config.count_unserved
        new = [one for one in self._waiting if counts or one.image in self._served]
        if not counts:
            self._waiting = [
                one for one in self._waiting if one.image not in self._served
            ]
        else:
            self._waiting = []
        self._answers += new
        return new, len(self._answers) + len(self._waiting)

    def _renewed(self, task: SummedTask, new: Iterable[Answer]) -> Floats:
        if self._table is None:
            self._table = statistics_of(task, self._truth, [], self._images)
        for image, value in new:
            if task.is_once and image in self._counted:
                continue
            self._counted.add(image)
            place = int(np.searchsorted(self._images, image))
            row = statistics_of_image(task, self._truth, image, value)
            known = {int(self._images[0]): self._table[0]}
            table_of(task, known | {image: row})  # raises for another shape
            self._table[place] = row
        return self._table
