"""Scores a folder of label maps against a test set: what a contest of segmentation gives for the same PNGs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from lpirc_score.arguments import Name, path_of
from lpirc_score.errors import CodedError
from lpirc_score.tasks.label_maps import LabelMap, value_problem
from lpirc_score.tasks.mask_score import MaskScore
from lpirc_score.tasks.segmentation import TASK, read_truth
from lpirc_score.tasks.task_bodies import AnswerProblems
from lpirc_score.tasks.task_kinds import Answer, Ints
from lpirc_score.tasks.task_scores import figures_of
from lpirc_testsets import Image, load_test_set
from lpirc_testsets.file_bytes import file_bytes
from lpirc_testsets.presence import files_below, is_folder, is_there

PNG = ".png"


def evaluate_label_maps(truth: Name, answers: Name) -> MaskScore:
    """Return mean IoU, mean Dice and pixel accuracy of the PNGs in a folder.

    `truth` is the folder of a test set. The PNG of an image has its name, with `.png` as ending; an image without one
    counts as not answered. Raises `TestSetError` for the truth, `CodedError` `answers-missing` for a folder that is not
    there or has no PNG, and `bad-answers` with every problem: a PNG that belongs to no image, or is no label map.
    """
    test_set = load_test_set(path_of(truth))
    known = read_truth(test_set)
    by_name = {_png_name(image.file): image for image in test_set.images}
    ids = np.array([category.id for category in known.categories], np.int64)
    found = _answers(path_of(answers), by_name, ids)
    images = len(test_set.images)
    figures = figures_of(TASK, known, found, np.arange(1, images + 1))
    # In a contest a figure without any pixel is 0: there an image without an answer must not be worth more.
    accuracy: float | None = figures.accuracy
    others: Mapping[str, float | None] = figures.others
    if set(figures.by_category.values()) <= {None}:
        accuracy = None
        others = dict.fromkeys(figures.others)
    return MaskScore(
        TASK.accuracy,
        accuracy,
        figures.by_category,
        others,
        {one.id: one.name for one in known.categories},
        images,
        len(found),
    )


def _png_name(file: str) -> str:
    return Path(file).with_suffix(PNG).as_posix()


def _answers(
    folder: Path,
    by_name: Mapping[str, Image],
    ids: Ints,
) -> list[Answer]:
    problems = AnswerProblems(str(folder))
    answers: dict[int, Answer] = {}
    for place, path in enumerate(_pngs(folder), start=1):
        name = path.relative_to(folder).as_posix()
        image = by_name.get(_png_name(name))
        if image is None:
            problems.add(place, name, "the test set has no image of this name")
            continue
        if image.number in answers:
            problems.add(place, name, "another PNG here is for the same image")
            continue
        try:
            given = LabelMap(file_bytes(path), image.width, image.height)
            problem = value_problem(given.labels(), ids)
        except OSError as error:
            problem = f"it cannot be read: {error.strerror}"
        except ValueError as error:
            problem = str(error)
        if problem:
            problems.add(place, name, problem)
            continue
        answers[image.number] = Answer(image.number, given)
    problems.raise_if_any()
    return [*answers.values()]


def _pngs(folder: Path) -> list[Path]:
    """Return the PNGs below a folder, by name. Raises `CodedError` `answers-missing`."""
    try:
        if not is_folder(folder):
            what = "it is not a folder" if is_there(folder) else "no such folder"
            raise _missing(f"{folder}: {what}")
        found = [one for one in files_below(folder) if one.suffix.lower() == PNG]
    except OSError as error:
        raise _missing(f"{error.filename}: {error.strerror}") from error
    if not found:
        raise _missing(f"{folder}: no PNG in it or its subfolders")
    return found


def _missing(sentence: str) -> CodedError:
    return CodedError("answers-missing", sentence)
