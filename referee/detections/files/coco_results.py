"""COCO results: a JSON array of {image_id, category_id, bbox, score}."""

from __future__ import annotations

from array import array
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets.boxes import corners_from_coco
from lpirc_testsets.values import LARGEST_ID, json_value
from referee.detections import is_known, shown
from referee.detections.files.findings import INVERTED, refuse
from referee.detections.files.names import Finders
from referee.detections.files.text import checked_finite, text_of
from referee.scoring.columns import Detections


def read_coco_results(path: Path, finders: Finders, inverted_boxes: bool) -> Detections:
    """Read COCO results; problems and notices go into the finders' findings, by the number of the entry."""
    try:
        entries = json_value(text_of(path))
    except ValueError as error:
        refuse(path, str(error))
    if not isinstance(entries, list):
        refuse(path, "COCO results are a JSON array of {image_id, category_id, bbox, score}")
    plain = _plain_rows(entries)
    if plain is not None and _all_good(plain, finders):
        return _columns(plain)
    findings = finders.images.findings
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


def _plain_rows(entries: list[Any]) -> NDArray[np.float64] | None:
    """Read rows (M, 7) as `_row` gives them; None unless every entry has numbers where those belong."""
    try:
        sizes = {len(one["bbox"]) for one in entries}
        rows = ((one["image_id"], one["category_id"], one["score"], *one["bbox"]) for one in entries)
        values = [*chain.from_iterable(rows)]
        ids = {*map(type, values[::7]), *map(type, values[1::7])}
        if sizes == {4} and ids == {int} and {*map(type, values)} <= {int, float}:
            return np.array(values, np.float64).reshape(-1, 7)
    except (KeyError, TypeError, OverflowError):
        pass
    return None


def _all_good(rows: NDArray[np.float64], finders: Finders) -> bool:
    known = [np.array(sorted(finder.known)) for finder in (finders.images, finders.categories)]
    return bool(
        (np.abs(rows[:, :2]) < LARGEST_ID).all()
        and all(is_known(rows[:, column], ids).all() for column, ids in enumerate(known))
        and np.isfinite(rows).all()
        and np.isfinite(rows[:, 3:5] + rows[:, 5:]).all()
        and (rows[:, 5:] >= 0).all()
    )


def _columns(rows: NDArray[np.float64]) -> Detections:
    return Detections(
        image=rows[:, 0].astype(np.int64),
        category=rows[:, 1].astype(np.int64),
        confidence=rows[:, 2].copy(),
        boxes=corners_from_coco(rows[:, 3:7]),
        coco_boxes=rows[:, 3:7].copy(),
    )


def _row(entry: Any, number: int, finders: Finders) -> tuple[float, ...]:
    if not isinstance(entry, dict):
        raise ValueError(f"{shown(entry)} is not an object with image_id, category_id, bbox and score")  # noqa: TRY004
    image, category, bbox = entry["image_id"], entry["category_id"], entry["bbox"]
    image = finders.images.by_number(image, number)
    category = finders.categories.by_number(category, number)
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
