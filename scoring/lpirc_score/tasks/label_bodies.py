"""Bodies of label maps: JSON with base64, and packed: image and length as little-endian uint32, then the PNG.

What a body costs is bounded before it is unpacked: the label maps of one body have at most MOST_PIXELS pixels.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple

from lpirc_score.tasks.label_maps import LabelMap, value_problem
from lpirc_score.tasks.task_bodies import AnswerProblems, image_problem, json_array
from lpirc_score.tasks.task_kinds import Answer, Question
from lpirc_testsets.values import shown

JSON = "application/json"
PACKED = "application/octet-stream"
LARGEST_BODY_BYTES = 16 * 2**20
MOST_PIXELS = 2**26
"""Of all label maps of one body: 32 of 2048 x 1024, 218 of 640 x 480. One alone may have more."""

FORM = '{"image": 7, "png": "<base64>"} for each label map'

_HEAD = Struct("<II")


class _Sent(NamedTuple):
    """An answer as it was sent; `problem` says why it cannot be one."""

    image: object
    png: bytes = b""
    problem: str = ""


def read_label_maps(
    body: bytes,
    content_type: str,
    question: Question,
) -> Sequence[Answer]:
    """Return the label map of each image of a body.

    Raises `CodedError` `bad-json`, or `bad-answers` with every problem.
    """
    sent = _of_json(body) if content_type == JSON else _of_packed(body)
    problems = AnswerProblems()
    answers = []
    first: dict[object, int] = {}
    pixels = 0
    for place, one in enumerate(sent, start=1):
        problem = one.problem or image_problem(one.image, question)
        if problem or not isinstance(one.image, int):
            problems.add(place, one.image, problem)
            continue
        former = first.setdefault(one.image, place)
        if former != place:
            problems.add(
                place,
                one.image,
                f"answer {former} of this body is for the same image; send one label map for each image",
            )
            continue
        width, height = question.sizes[one.image - 1].tolist()
        pixels += width * height
        if pixels > MOST_PIXELS and len(first) > 1:
            sentence = f"with it the body has {pixels:,} pixels; send at most {MOST_PIXELS:,} at once"
            problems.add(place, one.image, sentence)
            break
        given = LabelMap(one.png, width, height)
        problem = _problem_of(given, question)
        if problem:
            problems.add(place, one.image, problem)
        answers.append(Answer(one.image, given))
    problems.raise_if_any()
    return answers


def _problem_of(given: LabelMap, question: Question) -> str:
    try:
        labels = given.labels()
    except ValueError as error:
        return str(error)
    return value_problem(labels, question.category_ids)


def _of_json(body: bytes) -> Iterator[_Sent]:
    for item in json_array(body, FORM):
        if not isinstance(item, dict) or item.keys() != {"image", "png"}:
            yield _Sent(None, problem=f"{shown(item)} is not of the form {FORM}")
            continue
        image = item["image"]
        try:
            png = base64.b64decode(item["png"], validate=True)
        except (binascii.Error, TypeError, ValueError):
            sentence = f"its png, {shown(item['png'])}, is not base64"
            yield _Sent(image, problem=sentence)
        else:
            yield _Sent(image, png)


def _of_packed(body: bytes) -> Iterator[_Sent]:
    at = 0
    while at < len(body):
        rest = len(body) - at
        if rest < _HEAD.size:
            yield _Sent(
                None,
                problem=f"it has {rest} bytes, less than image and length need ({_HEAD.size})",
            )
            return
        image, length = _HEAD.unpack_from(body, at)
        at += _HEAD.size
        png = body[at : at + length]
        if len(png) < length:
            sentence = (
                f"its PNG should have {length:,} bytes, but {len(png):,} are left"
            )
            yield _Sent(image, problem=sentence)
            return
        yield _Sent(image, png)
        at += length
