"""Reads the annotations of a set's ground truth as they are, for tasks that need more, or less, than boxes.

An annotation that has neither `bbox` nor `segmentation` is the class of its image; one with `segmentation` alone is a
region of a label map; one with both is an instance; one with `bbox` alone is an object.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.file_bytes import file_bytes, utf8_text
from lpirc_testsets.folder import Category, TestSet, no_list
from lpirc_testsets.segmentations import require_segmentation
from lpirc_testsets.values import LARGEST_ID, is_name, json_value, shown

NO_TRUTH = {"truth": "none"}
"""The `info` of a set that has no ground truth on purpose."""

NO_TRUTH_CLAUSE = "the test set has no ground truth: energy and timing only"
NO_TRUTH_SENTENCE = f"{NO_TRUTH_CLAUSE.capitalize()}."

NONCE = "nonce"
"""The key in `info` of 32 random hexadecimal digits: a digest of the classes alone would let everyone test guesses."""

Sizes = Mapping[int, tuple[int, int]]
"""The (width, height) of images by number."""


@dataclass(frozen=True)
class Mark:
    """An annotation: `place` names it in sentences; `segmentation` is checked, None if there is none."""

    place: str
    image: int
    category: int
    has_box: bool
    segmentation: Any
    entry: Mapping[str, Any]


@dataclass(frozen=True)
class Marks:
    """The annotations of a set, in the order of the file, with its categories by ascending id.

    `kinds` are what its annotations are: `classes`, `label maps`, `instances` or `boxes`.
    """

    categories: tuple[Category, ...]
    marks: tuple[Mark, ...]
    kinds: frozenset[str]
    info: Mapping[str, Any]

    def where(self, holds: Callable[[Mark], bool]) -> list[Mark]:
        """Return the annotations for which that holds."""
        return [mark for mark in self.marks if holds(mark)]

    @property
    def has(self) -> str:
        """The kinds in words, `nothing` if there is no annotation."""
        return " and ".join(sorted(self.kinds)) or "nothing"


def read_marks(test_set: TestSet) -> Marks:
    """Read the ground truth of a set.

    Raises TestSetError `testset-damaged` for a file that is missing or changed since the manifest was written, and
    `ground-truth-unreadable` or `ground-truth-invalid`, with every problem, at most 20, for its content.
    """
    if not isinstance(test_set, TestSet):
        sentence = f"{shown(test_set)} was given as test set; load_test_set makes one of a folder."
        raise TestSetError("bad-argument", sentence)
    path = test_set.ground_truth_path
    try:
        content = file_bytes(path)
    except OSError as error:
        raise TestSetError("testset-damaged", f"{path}: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != test_set.ground_truth_sha256:
        raise TestSetError(
            "testset-damaged", f"{path}: changed since the manifest was written"
        )
    problems = Problems()
    text = utf8_text(path, content)
    marks = parse_marks(str(path), text, sizes_of(test_set), problems, problems)
    problems.raise_if_any("ground-truth-invalid")
    return marks


def has_no_truth(text: str) -> bool:
    """Return True for ground truth in COCO form that has no annotation."""
    if '"bbox"' in text:
        return False
    try:
        document = json_value(text)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("annotations") == []


def new_nonce() -> dict[str, str]:
    """Return the `info` of a new set of classes."""
    return {NONCE: secrets.token_hex(16)}


def sizes_of(test_set: TestSet) -> dict[int, tuple[int, int]]:
    """Return the (width, height) of a set's images by number."""
    return {image.number: (image.width, image.height) for image in test_set.images}


def parse_marks(
    path: str,
    text: str,
    sizes: Sizes,
    problems: Problems,
    mask_problems: Problems,
) -> Marks:
    """Read what is valid in ground truth whose images have these sizes, and add what is wrong to `problems`.

    What is wrong with segmentations is added to `mask_problems`. Raises TestSetError `ground-truth-unreadable` if
    nothing can be used.
    """
    document = _document(path, text)
    categories = _categories(document["categories"], path, problems)
    known = {category.id for category in categories}
    marks = []
    kinds = set()
    for index, entry in enumerate(document["annotations"]):
        place = f"{path}: annotations[{index}]"
        try:
            mark = _mark(place, entry, sizes, known)
        except ValueError as error:
            problems.add(f"{place}: {error}")
            continue
        kinds.add(_kind_of(mark))
        try:
            if mark.segmentation is not None:
                require_segmentation(mark.segmentation, sizes[mark.image])
        except ValueError as error:
            mask_problems.add(f"{place}: {error}")
            continue
        marks.append(mark)
    info = document.get("info")
    return Marks(
        categories,
        tuple(marks),
        frozenset(kinds),
        info if isinstance(info, dict) else {},
    )


def _kind_of(mark: Mark) -> str:
    if mark.segmentation is None:
        return "boxes" if mark.has_box else "classes"
    return "instances" if mark.has_box else "label maps"


def _document(path: str, text: str) -> dict[str, Any]:
    try:
        document = json_value(text)
    except ValueError as error:
        raise TestSetError("ground-truth-unreadable", f"{path}: {error}") from error
    for key in ("annotations", "categories"):
        if not isinstance(document, dict) or not isinstance(document.get(key), list):
            raise TestSetError(
                "ground-truth-unreadable",
                no_list(path, document, key),
            )
    return document  # type: ignore[return-value]  # the loop above checks it


def _categories(
    entries: list[Any],
    path: str,
    problems: Problems,
) -> tuple[Category, ...]:
    found: dict[int, Category] = {}
    for index, entry in enumerate(entries):
        place = f"{path}: categories[{index}]"
        id_ = entry.get("id") if isinstance(entry, dict) else None
        if type(id_) is not int or abs(id_) > LARGEST_ID or id_ in found:
            problems.add(f"{place}: {shown(id_)} is not an id of its own")
            continue
        name = str(entry.get("name", id_))
        if not is_name(name):
            problems.add(f"{place}: {shown(name)} is not a name")
        found[id_] = Category(id_, name)
    return tuple(found[id_] for id_ in sorted(found))


def _mark(
    place: str,
    entry: Any,
    sizes: Sizes,
    categories: set[int],
) -> Mark:
    if not isinstance(entry, dict):
        raise ValueError(f"{shown(entry)} is not an annotation")  # noqa: TRY004 - as all others
    image = entry.get("image_id")
    category = entry.get("category_id")
    if type(image) is not int or image not in sizes:
        raise ValueError(f"image_id {shown(image)} is not among the images")
    if type(category) is not int or category not in categories:
        raise ValueError(f"category_id {shown(category)} is not among the categories")
    segmentation = entry.get("segmentation")
    if segmentation == []:  # as many programs write it beside a box
        segmentation = None
    return Mark(
        place,
        image,
        category,
        "bbox" in entry,
        segmentation,
        entry,
    )
