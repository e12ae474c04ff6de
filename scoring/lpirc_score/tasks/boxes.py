"""The words of the task `boxes`; its answers are read by `lpirc_score.detections` and scored by the metrics."""

from __future__ import annotations

from collections.abc import Sequence

from lpirc_score.errors import CodedError
from lpirc_score.tasks.task_kinds import Answer, Question, Task, Truth
from lpirc_testsets import TestSet


def _read(_body: bytes, _content_type: str, _question: Question) -> Sequence[Answer]:
    raise _not_here()


def _read_truth(_test_set: TestSet) -> Truth:
    raise _not_here()


def _not_here() -> CodedError:
    sentence = (
        "Boxes are read and scored by the metrics; choose a metric, such as lpirc."
    )
    return CodedError("bad-task", sentence)


TASK = Task(
    name="boxes",
    title="Object detection",
    accuracy="mAP",
    category_accuracy="AP",
    answer="detection",
    answers="detections",
    content_types=(
        "application/json",
        "text/plain",
        "text/csv",
        "application/x-www-form-urlencoded",
        "application/octet-stream",
    ),
    read=_read,
    read_truth=_read_truth,
    is_once=False,
)
