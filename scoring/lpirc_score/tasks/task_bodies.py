"""What the bodies of all tasks have in common: the problems of one body, and the checks that hold for every task."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from lpirc_score.errors import CodedError
from lpirc_score.tasks.offered import running_task, task_failed, told
from lpirc_score.tasks.task_kinds import Answer, Ints, Question, Task
from lpirc_testsets import TestSet
from lpirc_testsets.values import shown

MOST_LISTED = 20
"""Maximum number of problems that an answer lists; all are counted."""

LARGEST_TOLD = 2**53
"""A larger number of an image is shortened, as a text is."""

LONGEST_TYPE = 80
"""Characters shown of a content type."""


class AnswerProblems:
    """Collects what is wrong with the answers of one body, or of the file or folder `source`."""

    def __init__(self, source: str = "") -> None:
        self.source = source
        self.listed: list[dict[str, object]] = []
        self.total = 0

    def add(self, place: int, image: object, problem: str) -> None:
        """Add a problem of the answer at `place` (1, 2, ...) about `image`."""
        self.total += 1
        if len(self.listed) >= MOST_LISTED:
            return
        is_number = isinstance(image, int) and abs(image) < LARGEST_TOLD
        is_plain = image is None or is_number
        told = image if is_plain else shown(image)
        self.listed.append({"line": place, "image": told, "problem": problem})

    def raise_if_any(self) -> None:
        """Raise `CodedError` `bad-answers` if a problem was added."""
        if self.total:
            raise bad_answers(self)


def bad_answers(problems: AnswerProblems) -> CodedError:
    """Return the refusal of a body or a file, with the facts `problems` and `total`; nothing of it counts."""
    first = problems.listed[0]
    more = f" (and {problems.total - 1} more)" if problems.total > 1 else ""
    image = "" if first["image"] is None else f", image {first['image']}"
    what = f"{first['line']}{image}: {first['problem']}{more}"
    sentence = f"Answer {what}; nothing was taken."
    if problems.source:
        sentence = f"{problems.source}: answer {what}."
    return CodedError(
        "bad-answers", sentence, problems=problems.listed, total=problems.total
    )


def question_of(
    test_set: TestSet,
    order: Ints,
) -> Question:
    """Return what bodies are checked against; `order` (n,) has the set's number of each image that the team knows."""
    images = [test_set.images[number - 1] for number in order.tolist()]
    sizes = np.array([(one.width, one.height) for one in images], np.int64)
    ids = sorted(one.id for one in test_set.categories)
    return Question(sizes.reshape(-1, 2), np.array(ids, np.int64))


def media_type(content_type: str) -> str:
    """Return the media type of a Content-Type in small letters, without parameters."""
    return content_type.partition(";")[0].strip().lower()


def read_answers(
    task: Task,
    body: bytes,
    content_type: str,
    question: Question,
) -> list[Answer]:
    """Return the answers of a body, in its order, once they have passed the checks of the task and of all tasks.

    Raises `CodedError` `unsupported-media-type`, `bad-json`, `bad-answers` with every problem, and `bad-task` if the
    task's own code fails.
    """
    kind = media_type(content_type)
    if kind not in task.content_types:
        sentence = (
            f"{task.answers.capitalize()} of type {kind[:LONGEST_TYPE]!r} are not supported; "
            f"send one of {', '.join(task.content_types)}."
        )
        raise CodedError(
            "unsupported-media-type", sentence, content_type=kind[:LONGEST_TYPE]
        )
    with running_task(task.name, "read"):
        answers = list(task.read(body, kind, question))
    _require_numbers(task, answers, question)
    if task.is_once:
        _require_once(task, answers)
    return answers


def _require_numbers(
    task: Task,
    answers: Sequence[Answer],
    question: Question,
) -> None:
    """Raise `CodedError` unless the answers have the form of the interface and images of the run."""
    problems = AnswerProblems()
    for place, answer in enumerate(answers, start=1):
        if not isinstance(answer, Answer):
            raise task_failed(
                task.name, f"its read gave {told(answer)}, which is no Answer"
            )
        if answer.value is None:  # None says that no answer came
            problem = f"its read gave an answer for image {answer.image!r:.20} whose value is None"
            raise task_failed(task.name, problem)
        if not image_problem(answer.image, question):
            continue
        problems.add(place, answer.image, image_problem(answer.image, question))
    problems.raise_if_any()


def _require_once(
    task: Task,
    answers: Sequence[Answer],
) -> None:
    problems = AnswerProblems()
    places: dict[int, int] = {}
    for place, answer in enumerate(answers, start=1):
        first = places.setdefault(answer.image, place)
        if first != place:
            problems.add(
                place,
                answer.image,
                f"answer {first} of this body is for the same image; send one {task.answer} for each image",
            )
    problems.raise_if_any()


def image_problem(
    image: object,
    question: Question,
) -> str:
    """Return what is wrong with the number of an image, or an empty text."""
    is_number = isinstance(image, int) and not isinstance(image, bool)
    if is_number and 1 <= image <= question.images:  # type: ignore[operator] # it is a number
        return ""
    return f"the image {shown(image)} is not a whole number in 1..{question.images}"


def json_array(
    body: bytes,
    form: str,
) -> list[object]:
    """Return the JSON array in a body; an empty body has no answers. `form` says what the array must have.

    Raises `CodedError` `bad-json`.
    """
    if not body or body.isspace():
        return []
    try:
        found = json.loads(body.decode())
    except UnicodeDecodeError:
        _refuse("The body is not UTF-8.")
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        _refuse(f"The body is not JSON: {error.msg} at {at}.")
    except RecursionError:
        _refuse(f"The body is nested too deeply; send {form}.")
    except ValueError:  # int() refuses more than some thousand digits
        _refuse("The body holds a number with too many digits.")
    if not isinstance(found, list):
        _refuse(f"The body must be a JSON array: {form}.")
    return found


def _refuse(sentence: str) -> NoReturn:
    raise CodedError("bad-json", sentence) from None
