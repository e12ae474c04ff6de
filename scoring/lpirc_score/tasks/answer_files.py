"""Scores a file of answers against a test set: what a contest of any task gives for the same body."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lpirc_score.arguments import Name, path_of
from lpirc_score.errors import CodedError, TaskFailed
from lpirc_score.tasks.offered import task_named
from lpirc_score.tasks.task_bodies import question_of, read_answers
from lpirc_score.tasks.task_kinds import Answer, Figures, Question, Task
from lpirc_score.tasks.task_scores import figures_of
from lpirc_score.tasks.truth_reading import truth_of
from lpirc_testsets import load_test_set
from lpirc_testsets.file_bytes import file_bytes
from lpirc_testsets.presence import is_there

KINDS = {".json": "application/json", ".csv": "text/csv", ".txt": "text/plain"}
"""The content type of a body by the ending of its file; any other is PACKED."""

PACKED = "application/octet-stream"


def evaluate_answers(task: str, truth: Name, answers: Name) -> Figures:
    """Return the figures of a task, built in or of a plug-in, for a file that is a body of a POST.

    `truth` is the folder of a test set; images have its numbers, from 1 in the order of its manifest. The ending of the
    file says its content type: `.json`, `.csv`, `.txt`, or anything else for packed bodies. An image without an answer
    counts as not answered. Raises `TestSetError` for the truth, and `CodedError` `answers-missing`, `unknown-task`,
    `bad-task`, and for the file what the answer to a POST would say: `bad-answers` with every problem, `bad-json`,
    `unsupported-media-type`.
    """
    wanted = task_named(task)
    test_set = load_test_set(path_of(truth))
    known = truth_of(task, test_set)
    images = np.arange(1, len(test_set.images) + 1)
    file = path_of(answers)
    question = question_of(test_set, images)
    found = _read(wanted, file, question)
    return figures_of(wanted, known, found, images)


def _read(
    task: Task,
    file: Path,
    question: Question,
) -> list[Answer]:
    """Return the answers in a file, whose name stands before what is wrong with them."""
    try:
        if not is_there(file):
            raise CodedError("answers-missing", f"There is no file {file}.")
        body = file_bytes(file)
    except OSError as error:
        sentence = f"{file}: {error.strerror}"
        raise CodedError("answers-missing", sentence) from error
    kind = KINDS.get(file.suffix.lower(), PACKED)
    try:
        return read_answers(task, body, kind, question)
    except TaskFailed:
        raise
    except CodedError as error:
        told = f"{file}: {error.sentence}"
        raise CodedError(error.code, told, **error.facts) from error
