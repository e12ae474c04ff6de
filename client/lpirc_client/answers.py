"""Answers in a contest of another task than boxes: what a detector returns for an image, as items of a JSON body.

A detector returns an item without its image, or several in a list: {"classes": [3, 7]}, {"png": ...}, or as the task's
documentation says. For classification a category id or a list of ids is enough, for label maps the bytes of a PNG.
"""

from __future__ import annotations

import base64
import json
from typing import Any, List, Mapping

from lpirc_client.errors import AnswerError
from lpirc_client.rows import JSON_TYPE

IMAGE_KEYS = {"instances": "image_id"}
"""The key of the image in an item, if it is not `image`."""

VALUE_KEYS = {"classification": "classes", "segmentation": "png"}
"""The key of the answer in an item of a task with one item for an image."""

ANSWERS_PATH = "/v1/answers"


class Items(List[bytes]):
    """Items of an image that are JSON already."""


def items_of(task: str, number: int, found: Any) -> Items:
    """Return the items of image `number` as JSON. Raises AnswerError `detector-failed` for what cannot be sent."""
    if isinstance(found, Items):
        return found
    if hasattr(found, "tolist"):
        found = found.tolist()
    if not isinstance(found, (Mapping, str, bytes, int)):
        if not hasattr(found, "__iter__"):
            raise _refused(number, found, "an answer")
        found = list(found)
    items = Items()
    for item in _items(task, found):
        if not isinstance(item, Mapping):
            raise _refused(number, item, "an object with keys")
        whole = {IMAGE_KEYS.get(task, "image"): number, **item}
        try:
            text = json.dumps(whole, separators=(",", ":"), default=_plain)
        except (TypeError, ValueError) as error:
            raise _refused(number, item, f"what JSON can hold ({error})") from error
        items.append(text.encode())
    return items


def body_of(items: list[bytes]) -> tuple[bytes, str]:
    """Return items as a body and its content type."""
    return b"[" + b",".join(items) + b"]", JSON_TYPE


def _items(task: str, found: Any) -> list[Any]:
    if isinstance(found, Mapping):
        return [found]
    key = VALUE_KEYS.get(task)
    if key is None or (
        isinstance(found, list) and found and isinstance(found[0], Mapping)
    ):
        return found if isinstance(found, list) else [found]
    if isinstance(found, bytes):
        found = base64.b64encode(found).decode()
    elif key == "classes" and not isinstance(found, list):
        found = [found]
    return [{key: found}]


def _plain(value: Any) -> Any:
    """Return a value of another library, such as numpy's, as JSON can hold it."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not a plain value")


def _refused(number: int, value: Any, expected: str) -> AnswerError:
    shown = repr(value)[:60]
    sentence = f"image {number}: the answer is {shown}; expected {expected}"
    return AnswerError(
        "detector-failed",
        sentence,
        what="the answer",
        value=shown,
        expected=expected,
    )
