"""The scoring of a run's answers of a task other than boxes, in the form in which the scoring of boxes is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections.plausibility import PLAUSIBLE
from lpirc_score.tasks.offered import (
    TASK_RULES_VERSION,
    running_task,
    task_engine,
    task_named,
)
from lpirc_score.tasks.task_bodies import read_answers
from lpirc_score.tasks.task_kinds import Answer, Figures, Question, Task, Truth
from lpirc_score.tasks.task_scores import figures_of, halves_accuracy
from lpirc_testsets import TestSet
from referee.judging.scoring_job import (
    CONTEST,
    WITH_UNSERVED,
    Scored,
    digest_of,
    hash_of,
)

Ints = NDArray[np.int64]
WHOLE = 0
"""The one part of a task's truth whose digest is kept; a correction scores all of it again."""


@dataclass(frozen=True, eq=False)
class TaskInput:
    """The input for scoring a run's answers, which are in order of arrival, with the test set's image numbers.

    `images` (n,) are those of the run, ascending; `served` (N + 1,) is indexed by image number. `truth_digest`
    identifies the truth.
    """

    task: str
    count_unserved: bool
    truth: Truth
    truth_digest: str
    answers: Sequence[Answer]
    images: Ints
    served: NDArray[np.bool_]

    @cached_property
    def counted(self) -> list[Answer]:
        """The answers that count."""
        if self.count_unserved:
            return list(self.answers)
        return [one for one in self.answers if self.served[one.image]]

    @cached_property
    def unserved(self) -> list[Answer]:
        """The answers for images that were not served."""
        return [one for one in self.answers if not self.served[one.image]]

    def scored(self, _known: Scored | None = None) -> Scored:
        """Return the result without `halves`. Raises RefereeError `bad-task`."""
        task = task_named(self.task)
        found = self._figures(task, self.counted)
        maps = {CONTEST: found.accuracy}
        if self.unserved and not self.count_unserved:
            everything = self._figures(task, self.answers)
            maps[WITH_UNSERVED] = everything.accuracy
        return Scored(
            maps,
            {CONTEST: found.by_category},
            detections=len(self.counted),
            unserved_rows=len(self.unserved),
            unserved_images=len({one.image for one in self.unserved}),
            implausible=PLAUSIBLE,
            objects={WHOLE: self.truth_digest},
            others=found.others,
        )

    def with_halves(self, found: Scored, _known: Scored | None = None) -> Scored:
        """Return the result completed with the accuracy (1, HALVES) on halves of the images."""
        task = task_named(self.task)
        halves = halves_accuracy(task, self.truth, self.counted, self.images)
        return replace(found, halves=halves.reshape(1, -1))

    def _figures(self, task: Task, answers: Sequence[Answer]) -> Figures:
        return figures_of(task, self.truth, answers, self.images)


def truth_of(task: str, test_set: TestSet) -> Truth:
    """Read the truth of a set for a task. Raises RefereeError `bad-task`, TestSetError."""
    with running_task(task):
        return task_named(task).read_truth(test_set)


def question_of(test_set: TestSet, order: Ints) -> Question:
    """Return the images of a run, in the team's numbering, and the categories."""
    images = [test_set.images[number - 1] for number in order.tolist()]
    sizes = np.array([(one.width, one.height) for one in images], np.int64)
    ids = sorted(one.id for one in test_set.categories)
    return Question(sizes.reshape(-1, 2), np.array(ids, np.int64))


def answers_of(
    task: str,
    bodies: Iterable[tuple[bytes, str]],
    test_set: TestSet,
    order: Ints,
) -> list[Answer]:
    """Return the answers of a run's bodies, each with its content type, with the test set's image numbers.

    Raises RefereeError as `read_answers` does.
    """
    question = question_of(test_set, order)
    found = task_named(task)
    answers = []
    for body, content_type in bodies:
        for image, value in read_answers(found, body, content_type, question):
            answers.append(Answer(int(order[image - 1]), value))
    return answers


def task_stem_of(
    task: str,
    count_unserved: bool,
    bodies: object,
    order: Ints,
    served: NDArray[np.bool_],
) -> str:
    """Return what `stem_of` returns, for a task other than boxes."""
    parts = (
        "lpirc-task-1",
        TASK_RULES_VERSION,
        task,
        task_engine(task),
        count_unserved,
        digest_of(order),
        digest_of(served),
        bodies,
    )
    return hash_of(parts)
