"""Scores a folder of label maps against a test set: what a contest of segmentation gives for the same PNGs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from lpirc_score.tasks.label_maps import LabelMap, value_problem
from lpirc_score.tasks.segmentation import TASK, read_truth
from lpirc_score.tasks.task_bodies import AnswerProblems
from lpirc_score.tasks.task_kinds import Answer, Figures
from lpirc_score.tasks.task_scores import figures_of
from lpirc_testsets import Image, load_test_set


def evaluate_label_maps(truth: Path, answers: Path) -> Figures:
    """Return mean IoU, mean Dice and pixel accuracy of the PNGs in a folder.

    `truth` is the folder of a test set. The PNG of an image has its name, with `.png` as ending; an image without one
    counts as not answered. Raises `TestSetError` for the truth, and `CodedError` `bad-answers` with every problem: a
    PNG that belongs to no image, or is no label map.
    """
    test_set = load_test_set(truth)
    known = read_truth(test_set)
    by_name = {_png_name(image.file): image for image in test_set.images}
    ids = np.array([category.id for category in known.categories], np.int64)
    found = _answers(answers, by_name, ids)
    return figures_of(TASK, known, found, np.arange(1, len(test_set.images) + 1))


def _png_name(file: str) -> str:
    return Path(file).with_suffix(".png").as_posix()


def _answers(
    folder: Path,
    by_name: Mapping[str, Image],
    ids: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> list[Answer]:
    problems = AnswerProblems()
    answers = []
    for place, path in enumerate(sorted(folder.rglob("*.png")), start=1):
        name = path.relative_to(folder).as_posix()
        image = by_name.get(name)
        if image is None:
            problems.add(place, name, "the test set has no image of this name")
            continue
        given = LabelMap(path.read_bytes(), image.width, image.height)
        try:
            problem = value_problem(given.labels(), ids)
        except ValueError as error:
            problem = str(error)
        if problem:
            problems.add(place, name, problem)
        answers.append(Answer(image.number, given))
    problems.raise_if_any()
    return answers
