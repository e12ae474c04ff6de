"""Checks ground truth of every kind for what the kind itself demands."""

from __future__ import annotations

import re
from collections.abc import Callable

from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.folder import TestSet
from lpirc_testsets.task_truth import (
    LabelMaps,
    class_of_images,
    label_problems_of,
    repeated_region,
)
from lpirc_testsets.truth_marks import (
    NO_TRUTH,
    NONCE,
    Marks,
    parse_marks,
    sizes_of,
)
from lpirc_testsets.values import shown

BOXES = frozenset(("boxes", "instances"))


def check_marks(
    test_set: TestSet,
    text: str,
    problems: Problems,
) -> bool:
    """Add what is wrong with the annotations in `text` to `problems`; return True if they are to be checked as boxes.

    Raises TestSetError `ground-truth-unreadable`.
    """
    path = str(test_set.ground_truth_path)
    if test_set.has_labels:
        return False
    found = Problems(limit=None)
    masks = Problems(limit=None)
    marks = parse_marks(path, text, sizes_of(test_set), found, masks)
    if marks.kinds <= BOXES:
        problems.add(*masks.kept)  # all else is found when boxes are checked
        is_bare = test_set.objects == 0 and dict(marks.info) == NO_TRUTH
        return not is_bare or bool(found.count)
    problems.add(*found.kept, *masks.kept)
    annotations = len(marks.marks) + found.count + masks.count
    if annotations != test_set.objects:
        problems.add(
            f"{path}: {annotations} annotations, the manifest says {test_set.objects}"
        )
    check = CHECKS.get(marks.kinds)
    if check is None:
        problems.add(f"{path}: its annotations are {marks.has}, which no task has")
    elif not found.count + masks.count:
        check(path, test_set, marks, problems)
    return False


def _check_classes(
    path: str,
    test_set: TestSet,
    marks: Marks,
    problems: Problems,
) -> None:
    class_of_images(marks, sizes_of(test_set), problems)
    nonce = marks.info.get(NONCE)
    if not (isinstance(nonce, str) and re.fullmatch("[0-9a-f]{32}", nonce)):
        problems.add(
            f"{path}: info.{NONCE} is {shown(nonce)}, not 32 hexadecimal digits: "
            "without them everyone could test guesses of the classes on the digest"
        )


def _check_label_maps(
    path: str,
    test_set: TestSet,
    marks: Marks,
    problems: Problems,
) -> None:
    problems.add(*(f"{path}: {one}" for one in label_problems_of(marks)))
    twice = repeated_region(marks)
    if twice is not None:
        problems.add(twice)
        return
    maps = LabelMaps(marks, sizes_of(test_set))
    for image in maps:
        try:
            maps[image]
        except TestSetError as error:
            problems.add(error.sentence)


Check = Callable[[str, TestSet, Marks, Problems], None]
CHECKS: dict[frozenset[str], Check] = {
    frozenset(["classes"]): _check_classes,
    frozenset(["label maps"]): _check_label_maps,
}
