"""The scoring of a run's answers of a task other than boxes, in the form in which the scoring of boxes is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections.plausibility import PLAUSIBLE
from lpirc_score.tasks.offered import (
    TASK_RULES_VERSION,
    task_engine,
    task_named,
)
from lpirc_score.tasks.task_bodies import question_of, read_answers
from lpirc_score.tasks.task_kinds import (
    Answer,
    Figures,
    Floats,
    Question,
    SummedTask,
    Truth,
)
from lpirc_score.tasks.task_scores import (
    figures_of,
    figures_of_table,
    halves_accuracy,
    halves_of_table,
    statistics_of_image,
    table_of,
)
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
    """The input for scoring a run's answers: its bodies in order of arrival, each with its content type.

    `order` (n,) has the test set's number of each image that the team knows, `question` what bodies are checked
    against; `served` (N + 1,) is indexed by the test set's number. `truth_digest` identifies the truth.
    """

    task: str
    count_unserved: bool
    truth: Truth
    truth_digest: str
    bodies: Sequence[tuple[bytes, str]]
    question: Question
    order: Ints
    served: NDArray[np.bool_]

    @cached_property
    def images(self) -> Ints:
        """The run's images by the test set's number, ascending (n,)."""
        return np.sort(self.order)

    @cached_property
    def sent(self) -> Sent:
        """What the bodies say, read once. Raises RefereeError `bad-task`."""
        task = task_named(self.task)
        if isinstance(task, SummedTask):
            return summed(self, task)
        answers = list(self.each())
        counted = [one for one in answers if self.counts(one.image)]
        unserved = [one.image for one in answers if not self.served[one.image]]
        return Sent(
            Given(answers=counted), Given(answers=answers), len(counted), unserved
        )

    def counts(self, image: int) -> bool:
        """Return True if answers for this image count."""
        return self.count_unserved or bool(self.served[image])

    def each(self) -> Iterator[Answer]:
        """Yield the answers, with the test set's image numbers; no more than one body is unpacked at a time."""
        task = task_named(self.task)
        for body, content_type in self.bodies:
            found = read_answers(task, body, content_type, self.question)
            for image, value in found:
                yield Answer(int(self.order[image - 1]), value)

    def scored(self, _known: Scored | None = None) -> Scored:
        """Return the result without `halves`. Raises RefereeError `bad-task`."""
        sent = self.sent
        found = self._figures(sent.counted)
        maps = {CONTEST: found.accuracy}
        if sent.unserved and not self.count_unserved:
            maps[WITH_UNSERVED] = self._figures(sent.everything).accuracy
        return Scored(
            maps,
            {CONTEST: found.by_category},
            detections=sent.answers,
            unserved_rows=len(sent.unserved),
            unserved_images=len({*sent.unserved}),
            implausible=PLAUSIBLE,
            objects={WHOLE: self.truth_digest},
            others=found.others,
        )

    def with_halves(self, found: Scored, _known: Scored | None = None) -> Scored:
        """Return the result completed with the accuracy (1, HALVES) on halves of the images."""
        task = task_named(self.task)
        given = self.sent.counted
        if isinstance(task, SummedTask) and given.table is not None:
            halves = halves_of_table(task, self.truth, given.table)
        else:
            halves = halves_accuracy(task, self.truth, given.answers, self.images)
        return replace(found, halves=halves.reshape(1, -1))

    def _figures(self, given: Given) -> Figures:
        task = task_named(self.task)
        if isinstance(task, SummedTask) and given.table is not None:
            return figures_of_table(task, self.truth, given.table)
        return figures_of(task, self.truth, given.answers, self.images)


@dataclass(frozen=True, eq=False)
class Given:
    """Answers in the form that scoring needs: the statistics (n, S) of a `SummedTask`, or the answers themselves."""

    table: Floats | None = None
    answers: Sequence[Answer] = ()


@dataclass(frozen=True, eq=False)
class Sent:
    """What a run's bodies say: what counts, everything, the number of answers that count, and images not served.

    `unserved` has the image of each answer for one that was not served.
    """

    counted: Given
    everything: Given
    answers: int
    unserved: Sequence[int]


def summed(given: TaskInput, task: SummedTask) -> Sent:
    """Return what the bodies say for a `SummedTask`, whose answers are not kept."""
    rows: dict[int, Floats] = {}
    unserved = []
    answers = 0
    for image, value in given.each():
        answers += given.counts(image)
        if not given.served[image]:
            unserved.append(image)
        if not (task.is_once and image in rows):
            rows[image] = statistics_of_image(task, given.truth, image, value)
    counted = _table(given, task, rows, only_counted=True)
    everything = counted
    if unserved and not given.count_unserved:
        everything = _table(given, task, rows, only_counted=False)
    return Sent(Given(counted), Given(everything), answers, unserved)


def _table(
    given: TaskInput,
    task: SummedTask,
    rows: Mapping[int, Floats],
    *,
    only_counted: bool,
) -> Floats:
    """Return the statistics (n, S) of the run's images from those of the answered ones."""
    table = {}
    for image in given.images.tolist():
        row = rows.get(image)
        if row is None or (only_counted and not given.counts(image)):
            row = statistics_of_image(task, given.truth, image, None)
        table[image] = row
    return table_of(task, table)


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
