"""Bodies of instances: COCO's results with `segmentation`, as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from lpirc_score.tasks.instance_masks import Instance, mask_of, outline_px
from lpirc_score.tasks.sound_counts import are_sound
from lpirc_score.tasks.task_bodies import AnswerProblems, image_problem, json_array
from lpirc_score.tasks.task_kinds import Answer, Question
from lpirc_testsets.segmentations import require_segmentation
from lpirc_testsets.values import shown

JSON = "application/json"
LARGEST_BODY_BYTES = 4 * 2**20
LONGEST_OUTLINE_PX = 2**19
LONGEST_OUTLINES_PX = 2**22
"""Of the polygons of one answer, and of one body. Filling costs as much as an outline is long, however short its text.

An outline that passes each pixel of an image of 800 x 600 once is as long as the first.
"""

KEYS = ("image_id", "category_id", "score", "segmentation")
FORM = '{"image_id": 7, "category_id": 1, "score": 0.9, "segmentation": ...}, as in COCO\'s results'

Sizes = Mapping[int, tuple[int, int]]
"""The (width, height) of images by id."""

ImageProblem = Callable[[object], str]
"""Says what is wrong with the id of an image; an empty text: nothing."""


def read_instances(
    body: bytes,
    _content_type: str,
    question: Question,
) -> Sequence[Answer]:
    """Return the instances of a body in order; other keys, such as `bbox`, are ignored.

    Raises `CodedError` `bad-json`, or `bad-answers` with every problem.
    """
    sizes = dict(enumerate(map(tuple, question.sizes.tolist()), start=1))
    return instances_of(
        json_array(body, FORM),
        sizes,
        frozenset(question.category_ids.tolist()),
        partial(image_problem, question=question),
        (LONGEST_OUTLINE_PX, LONGEST_OUTLINES_PX),
    )


def instances_of(
    items: Sequence[object],
    sizes: Sizes,
    known: frozenset[int],
    image_problem_of: ImageProblem,
    longest_px: tuple[float, float] = (math.inf, math.inf),
    source: str = "",
) -> list[Answer]:
    """Return the instances of COCO's results.

    `known` are the ids of the categories; `longest_px` are the longest outlines of one answer and of all;
    `source` is the file that has the results, if they are of no body.

    Raises `CodedError` `bad-answers` with every problem.
    """
    sound = _sound_places(items, sizes)
    problems = AnswerProblems(source)
    answers = []
    outlines = 0.0
    for place, item in enumerate(items, start=1):
        if not isinstance(item, dict) or not all(key in item for key in KEYS):
            problems.add(place, None, f"{shown(item)} is not of the form {FORM}")
            continue
        image, category, score, segmentation = (item[key] for key in KEYS)
        problem = (
            image_problem_of(image)
            or _category_problem(category, known)
            or _score_problem(score)
        )
        if problem:
            problems.add(place, image, problem)
            continue
        size = sizes[image]
        try:
            if place not in sound:
                require_segmentation(segmentation, size)
        except ValueError as error:
            problems.add(place, image, str(error))
            continue
        outline = outline_px(segmentation)
        outlines += outline
        if outline > longest_px[0]:
            problems.add(
                place, image, _too_long("its outlines", outline, longest_px[0])
            )
            continue
        if outlines > longest_px[1]:
            whose = "with it the outlines of all polygons"
            problems.add(place, image, _too_long(whose, outlines, longest_px[1]))
            break
        instance = Instance(category, float(score), mask_of(segmentation, size))
        answers.append(Answer(image, instance))
    problems.raise_if_any()
    return answers


def _sound_places(items: Sequence[object], sizes: Sizes) -> set[int]:
    """Return the places of answers whose compressed run lengths are known to be sound; the others are still to read."""
    places = []
    texts = []
    pixels = []
    for place, item in enumerate(items, start=1):
        if not isinstance(item, dict) or type(item.get("image_id")) is not int:
            continue
        size = sizes.get(item["image_id"])
        segmentation = item.get("segmentation")
        if size is None or not isinstance(segmentation, dict):
            continue
        width, height = size
        counts = segmentation.get("counts")
        if isinstance(counts, str) and segmentation.get("size") == [height, width]:
            places.append(place)
            texts.append(counts)
            pixels.append(width * height)
    are = are_sound(texts, pixels)
    return {places[at] for at in np.flatnonzero(are).tolist()}


def _category_problem(category: object, known: frozenset[int]) -> str:
    if type(category) is int and category in known:
        return ""
    return f"the category_id {shown(category)} is not the id of a category of the set"


def _score_problem(score: object) -> str:
    if type(score) in (int, float) and abs(score) <= 1e300:  # type: ignore[arg-type]  # a number
        return ""
    return f"the score {shown(score)} is not a finite number"


def _too_long(
    whose: str,
    found: float,
    most: float,
) -> str:
    return f"{whose} are {found:,.0f} pixels long, and {most:,} is the most; send run lengths"
