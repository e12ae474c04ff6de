"""Answers of tasks other than boxes over HTTP: which path takes them, how large they may be, how a body is read."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lpirc_score.detections.bodies import EMPTY, is_blank
from lpirc_score.errors import TaskFailed
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.offered import task_engine, task_failed, task_named
from lpirc_score.tasks.taken_answers import TakenAnswers
from lpirc_score.tasks.task_bodies import read_answers
from lpirc_score.tasks.task_kinds import Answer, Question, Task
from referee.errors import RefereeError
from referee.web.bounded_calls import BoundedCalls, Hangs
from referee.web.request_bodies import LARGEST_BODY_BYTES

if TYPE_CHECKING:
    from referee.store.records import Run

logger = logging.getLogger(__name__)

ANSWERS_PATH = "/v1/answers"

READING = BoundedCalls(limit_s=10.0, most=4)
"""Bodies that plug-ins read."""


def require_path(run: Run, path: str) -> None:
    """Raise RefereeError `other-task` unless the path takes answers of the run's task."""
    if (path == ANSWERS_PATH) == (run.task != BOXES):
        return
    advice = "answers are boxes: POST them to /v1/detections"
    if run.task != BOXES:
        task = task_named(run.task)
        types = " or ".join(task.content_types)
        advice = f"answers are {task.answers} ({types}): POST them to {ANSWERS_PATH}"
    sentence = (
        f"Run {run.id} has the task {run.task}, so its {advice}; nothing was taken."
    )
    raise RefereeError("other-task", sentence, task=run.task)


def largest_body_bytes(run: Run) -> int:
    """Return the size of the largest body that a run takes."""
    if run.task == BOXES:
        return LARGEST_BODY_BYTES
    return task_named(run.task).largest_body_bytes


def told_task(name: str) -> dict[str, object]:
    """Return what a log-in says of the run's task; nothing for boxes."""
    if name == BOXES:
        return {}
    task = task_named(name)
    return {
        "task": {
            "name": task.name,
            "title": task.title,
            "accuracy": task.accuracy,
            "answers": task.answers,
            "path": ANSWERS_PATH,
            "content_types": list(task.content_types),
            "largest_body_bytes": task.largest_body_bytes,
            "is_once": task.is_once,
        }
    }


@dataclass
class AnswerReader:
    """Reads one body of answers. `warnings` has one for a blank body; a task refuses what is odd."""

    task: Task
    content_type: str
    question: Question
    warnings: list[str] = field(default_factory=list)

    def __call__(self, body: bytes) -> TakenAnswers:
        """Return what is kept of the body.

        Raises what `read_answers` raises, and RefereeError `task-failed` in place of a failure of the task's own code,
        whose sentence is for the operator.
        """
        try:
            answers = self._read(body)
        except TaskFailed as error:
            logger.error("a body could not be read: %s", error.sentence)  # noqa: TRY400 - it names the line
            raise RefereeError(
                "task-failed",
                f"The task {self.task.name} failed on this body, so nothing of it was taken; tell the operator, whose "
                "log has the reason.",
            ) from error
        if is_blank(body):
            self.warnings = [EMPTY]
        return TakenAnswers([one.image for one in answers], self.task.is_once)

    def _read(self, body: bytes) -> list[Answer]:
        """Read the body; a plug-in that hangs keeps no run from its end. Raises TaskFailed and what it raises."""

        def read() -> list[Answer]:
            return read_answers(self.task, body, self.content_type, self.question)

        if task_engine(self.task.name) is None:
            return read()
        try:
            return READING(read)
        except Hangs as hangs:
            raise task_failed(self.task.name, f"its read hangs: {hangs}") from None
