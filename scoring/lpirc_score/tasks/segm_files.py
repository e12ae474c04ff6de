"""Scores COCO's files of masks: what `COCOeval(truth, results, "segm")` gives, from the same two files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lpirc_score.arguments import Name, path_of
from lpirc_score.errors import CodedError
from lpirc_score.tasks.instance_bodies import Sizes, instances_of
from lpirc_score.tasks.instance_masks import mask_program
from lpirc_score.tasks.instance_truth import read_truth, true_instances
from lpirc_score.tasks.instances import TASK, evaluate_masks
from lpirc_score.tasks.mask_score import MaskScore
from lpirc_score.tasks.task_kinds import Truth
from lpirc_testsets import Problems, TestSetError, load_test_set
from lpirc_testsets.file_bytes import file_bytes, read_text
from lpirc_testsets.folder import no_list
from lpirc_testsets.presence import is_folder
from lpirc_testsets.truth_marks import parse_marks, sizes_of
from lpirc_testsets.values import LARGEST_ID, json_value, shown


def evaluate_segm(truth: Name, answers: Name) -> MaskScore:
    """Return AP of masks, and in `others` the twelve numbers of COCO, None where pycocotools has -1.

    `truth` is a COCO JSON or the folder of a test set, `answers` COCO's results. Raises `TestSetError` for the truth,
    and `CodedError` `bad-answers` with every problem, `bad-json`, `answers-missing` and `pycocotools-missing`.
    """
    mask_program()
    known, sizes = _truth(path_of(truth))
    source = path_of(answers)
    categories = frozenset(one.id for one in known.categories)

    def image_problem(image: object) -> str:
        if type(image) is int and image in sizes:
            return ""
        return f"the ground truth has no image {shown(image)}"

    found = instances_of(
        _results(source),
        sizes,
        categories,
        image_problem,
        source=str(source),
    )
    evaluation = evaluate_masks(known, found, np.array(sorted(sizes), np.int64))
    return MaskScore(
        TASK.accuracy,
        evaluation.map,
        evaluation.ap,
        evaluation.summary or {},
        {one.id: one.name for one in known.categories},
        len(sizes),
        len(found),
    )


def _truth(path: Path) -> tuple[Truth, Sizes]:
    try:
        has_folder = is_folder(path)
    except OSError as error:
        sentence = f"{path}: {error.strerror}"
        raise TestSetError("ground-truth-unreadable", sentence) from error
    if not has_folder:
        return _coco_truth(path)
    test_set = load_test_set(path)
    return read_truth(test_set), sizes_of(test_set)


def _coco_truth(path: Path) -> tuple[Truth, Sizes]:
    text = read_text(path)
    problems = Problems()
    sizes = _sizes(path, text, problems)
    marks = parse_marks(str(path), text, sizes, problems, problems)
    problems.raise_if_any("ground-truth-invalid")
    return true_instances(marks, sizes, str(path)), sizes


def _sizes(
    path: Path,
    text: str,
    problems: Problems,
) -> dict[int, tuple[int, int]]:
    try:
        document = json_value(text)
    except ValueError as error:
        raise TestSetError("ground-truth-unreadable", f"{path}: {error}") from error
    images = document.get("images") if isinstance(document, dict) else None
    if not isinstance(images, list):
        sentence = no_list(path, document, "images")
        raise TestSetError("ground-truth-unreadable", sentence)
    sizes: dict[int, tuple[int, int]] = {}
    for index, entry in enumerate(images):
        found = _size(entry)
        place = f"{path}: images[{index}]"
        if found is None:
            problems.add(f"{place}: {shown(entry)} has no id, width and height")
        elif found[0] in sizes:
            problems.add(f"{place}: the id {found[0]} is that of an earlier image")
        else:
            sizes[found[0]] = found[1:]
    return sizes


def _size(entry: object) -> tuple[int, int, int] | None:
    """Return id, width and height of an image, or None if one of them is not such a number."""
    if not isinstance(entry, dict):
        return None
    id_ = entry.get("id")
    width = entry.get("width")
    height = entry.get("height")
    if not (type(id_) is type(width) is type(height) is int):
        return None
    if abs(id_) > LARGEST_ID or width < 1 or height < 1:
        return None
    return id_, width, height


def _results(path: Path) -> list[object]:
    try:
        found = json_value(file_bytes(path).decode("utf-8-sig"))
    except OSError as error:
        sentence = f"{path}: {error.strerror}"
        raise CodedError("answers-missing", sentence) from error
    except UnicodeDecodeError as error:
        sentence = f"{path}: byte {error.start} is not UTF-8 text"
        raise CodedError("bad-json", sentence) from error
    except ValueError as error:
        raise CodedError("bad-json", f"{path}: {error}") from error
    if not isinstance(found, list):
        raise CodedError(
            "bad-json", f"{path}: not COCO results, which are a JSON array"
        )
    return found
