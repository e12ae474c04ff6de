"""Reads the truth of a set for a task, and checks what the task gives."""

from __future__ import annotations

from collections.abc import Mapping

from lpirc_score.tasks.offered import running_task, task_failed, task_named, told
from lpirc_score.tasks.task_kinds import SummedTask, Truth
from lpirc_testsets import TestSet


def truth_of(
    name: str,
    test_set: TestSet,
) -> Truth:
    """Return the truth of a set for the task of that name.

    Raises TestSetError if the set has none, and `CodedError` `unknown-task`, `bad-task` if the task cannot read it.
    """
    task = task_named(name)
    with running_task(name, "read_truth"):
        found = task.read_truth(test_set)
    if not isinstance(found, Truth) or not isinstance(found.by_image, Mapping):
        problem = f"its read_truth gave {told(found)}, which is no Truth"
        raise task_failed(name, problem)
    if isinstance(task, SummedTask):
        images = range(1, len(test_set.images) + 1)
        lacking = next((one for one in images if one not in found.by_image), None)
        if lacking is not None:
            raise task_failed(name, f"its read_truth has no image {lacking}")
    return found
