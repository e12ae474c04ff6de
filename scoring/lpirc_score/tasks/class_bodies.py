"""Bodies of classifications: JSON, lines of text, and packed rows of six little-endian uint32."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from lpirc_score.tasks.task_bodies import (
    AnswerProblems,
    image_problem,
    json_array,
)
from lpirc_score.tasks.task_kinds import Answer, Question
from lpirc_testsets.values import shown

PACKED = "application/octet-stream"
MOST_CLASSES = 5
ROW = np.dtype("<u4")
ROW_BYTES = ROW.itemsize * (1 + MOST_CLASSES)
KEYS = {"image", "classes"}
FORM = "[image, class], [image, [class, ...]] or {image, classes} for each image"

Given = tuple[object, list[object]]
"""An image and its classes as sent, not checked yet."""


def read_classes(
    body: bytes,
    content_type: str,
    question: Question,
) -> Sequence[Answer]:
    """Return the classes of each image of a body, as tuples of 1 to 5 category ids, the best first.

    Raises `CodedError` `bad-answers` with every problem, and `bad-json`.
    """
    problems = AnswerProblems()
    known = frozenset(question.category_ids.tolist())
    answers = []
    for place, (image, classes) in _READERS[content_type](body, problems):
        problem = image_problem(image, question) or classes_problem(classes, known)
        if problem:
            problems.add(place, image, problem)
        elif isinstance(image, int):
            answers.append(Answer(image, tuple(classes)))
    problems.raise_if_any()
    return answers


def classes_problem(
    classes: list[object],
    known: frozenset[int],
) -> str:
    """Return what is wrong with the classes of one answer, or an empty text."""
    if not 1 <= len(classes) <= MOST_CLASSES:
        return (
            f"it names {len(classes)} classes; send 1 to {MOST_CLASSES}, the best first"
        )
    for one in classes:
        if isinstance(one, bool) or not isinstance(one, int) or one not in known:
            return f"the class {shown(one)} is not the id of a category of the set"
    if len({*classes}) < len(classes):
        return f"the classes {shown(classes)} name one twice"
    return ""


def _from_json(
    body: bytes,
    problems: AnswerProblems,
) -> Iterator[tuple[int, Given]]:
    for place, item in enumerate(json_array(body, FORM), start=1):
        if isinstance(item, dict) and item.keys() == KEYS:
            image = item["image"]
            classes = item["classes"]
        elif isinstance(item, list) and len(item) == 2:
            image, classes = item
        else:
            problems.add(place, None, f"{shown(item)} is not of the form {FORM}")
            continue
        yield place, (image, classes if isinstance(classes, list) else [classes])


def _from_text(
    body: bytes,
    problems: AnswerProblems,
) -> Iterator[tuple[int, Given]]:
    lines = body.decode(errors="backslashreplace").splitlines()
    for place, line in enumerate(lines, start=1):
        cells = [cell.strip() for cell in line.split(",")]
        if cells == [""] or (place == 1 and cells[0].lower() == "image"):
            continue
        if len(cells) < 2:
            problems.add(place, cells[0], f"{shown(line)} is not image,class,...")
            continue
        image, *classes = map(_number, cells)
        yield place, (image, classes)


def _from_packed(
    body: bytes,
    problems: AnswerProblems,
) -> Iterator[tuple[int, Given]]:
    count, left_over = divmod(len(body), ROW_BYTES)
    rows = np.frombuffer(body, ROW, count * (1 + MOST_CLASSES))
    for place, row in enumerate(rows.reshape(count, 1 + MOST_CLASSES), start=1):
        classes: list[object] = row.tolist()
        image = classes.pop(0)
        while classes and not classes[-1]:
            classes.pop()
        yield place, (image, classes)
    if left_over:
        words = f"a packed row is {ROW_BYTES} bytes, the last one has {left_over}"
        problems.add(count + 1, None, words)


def _number(cell: str) -> object:
    if cell.isascii() and cell.isdigit() and len(cell) <= len(str(2**64)):
        return int(cell)
    return cell


_READERS: dict[str, Callable[[bytes, AnswerProblems], Iterator[tuple[int, Given]]]] = {
    "application/json": _from_json,
    "text/csv": _from_text,
    "text/plain": _from_text,
    PACKED: _from_packed,
}
