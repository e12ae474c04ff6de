"""COCO results: a JSON array of {image_id, category_id, bbox, score}."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections import is_known, shown
from lpirc_score.detections.files.findings import INVERTED, refuse
from lpirc_score.detections.files.names import Finders
from lpirc_score.detections.files.plain_results import read_plain_results
from lpirc_score.detections.files.text import checked_finite, text_of
from lpirc_score.detections.json_elements import elements, is_array
from lpirc_score.metrics.detection_columns import Detections
from lpirc_testsets.box_corners import corners_from_coco
from lpirc_testsets.folder import FORMAT
from lpirc_testsets.values import json_value, not_json

_SHOWN_LISTS = 5


def read_coco_results(
    path: Path,
    finders: Finders,
    inverted_boxes: bool,
) -> Detections:
    """Read COCO results; problems and notices are added to the finders' findings by the number of the entry."""
    plain = read_plain_results(path)
    if plain is not None and _all_good(plain, finders):
        return plain
    entries = _entries(path)
    try:
        return _read_each(entries, finders, inverted_boxes)
    except (ValueError, RecursionError) as error:
        refuse(path, not_json(error))


def _entries(path: Path) -> Iterator[object]:
    """Yield the entries of a file one by one. Raises as `elements` does.

    Raises `CodedError` `unreadable-file`.
    """
    text = text_of(path)
    if not is_array(text):
        reason = "COCO results are a JSON array of {image_id, category_id, bbox, score}"
        try:
            reason += _told(json_value(text))
        except ValueError as error:
            reason = f"{error}; {reason}"
        refuse(path, reason)
    return elements(text)


def _told(document: object) -> str:
    """Return what a document is that is no array, for the end of a sentence."""
    if not isinstance(document, dict):
        return f"; this is {shown(document)}"
    if document.get("format") == FORMAT:
        return "; it is the manifest of a test set"
    if "annotations" in document:
        return "; it has annotations, as ground truth has: is it given in place of the detections?"
    lists = [key for key, value in document.items() if isinstance(value, list)]
    names = ", ".join(map(shown, lists[:_SHOWN_LISTS]))
    return f"; this is an object, with the lists {names}" if names else ""


def _read_each(
    entries: Iterator[Any],
    finders: Finders,
    inverted_boxes: bool,
) -> Detections:
    findings = finders.images.findings
    findings.unit = "entry"
    values = array("d")
    for number, entry in enumerate(entries, start=1):
        try:
            row = _row(entry, number, finders)
            if row[5] < 0 or row[6] < 0:
                problem = f"bbox {shown(entry['bbox'])} is inverted: its width or height is negative"
                if not inverted_boxes:
                    raise ValueError(problem)  # noqa: TRY301 - reported like every other problem of an entry
                findings.note(INVERTED, number, problem.partition(":")[0])
            values.extend(row)
        except KeyError as error:
            findings.problems.add(number, f"{error} is missing")
        except ValueError as error:
            findings.problems.add(number, str(error))
    return _columns(np.array(values, np.float64).reshape(-1, 7))


@np.errstate(over="ignore")
def _all_good(read: Detections, finders: Finders) -> bool:
    boxes = read.boxes[:0] if read.coco_boxes is None else read.coco_boxes
    corners = boxes[:, :2]
    sides = boxes[:, 2:]
    return bool(
        _are_known(read.image, finders.images.known)
        and _are_known(read.category, finders.categories.known)
        and np.isfinite(read.confidence).all()
        and np.isfinite(boxes).all()
        and np.isfinite(corners + sides).all()
        and (sides >= 0).all()
    )


def _are_known(ids: NDArray[np.int64], known: frozenset[int]) -> bool:
    ascending = np.array(sorted(known), np.int64)
    return bool(is_known(ids, ascending).all())


def _columns(rows: NDArray[np.float64]) -> Detections:
    image, category, confidence, *_ = rows.T
    boxes = rows[:, 3:7]
    return Detections(
        image=image.astype(np.int64),
        category=category.astype(np.int64),
        confidence=confidence.copy(),
        boxes=corners_from_coco(boxes),
        coco_boxes=boxes.copy(),
    )


def _row(
    entry: Any,
    number: int,
    finders: Finders,
) -> tuple[float, ...]:
    if not isinstance(entry, dict):
        raise ValueError(  # noqa: TRY004
            f"{shown(entry)} is not an object with image_id, category_id, bbox and score"
        )
    image = entry["image_id"]
    category = entry["category_id"]
    bbox = entry["bbox"]
    image = finders.images.by_value(image, number)
    category = finders.categories.by_value(category, number)
    if not isinstance(bbox, list) or len(bbox) != 4:
        raise ValueError(f"bbox {shown(bbox)} is not four numbers")
    x, y, width, height = (_finite(value, "bbox") for value in bbox)
    checked_finite(x + width, bbox)
    checked_finite(y + height, bbox)
    return image, category, _finite(entry["score"], "score"), x, y, width, height


def _finite(value: object, what: str) -> float:
    if type(value) not in (int, float):
        raise ValueError(f"{what} {shown(value)} is not a number")
    try:
        return checked_finite(float(value), value)  # type: ignore[arg-type]  # an int or a float
    except OverflowError:
        raise ValueError(f"{what} {shown(value)} is too large") from None
