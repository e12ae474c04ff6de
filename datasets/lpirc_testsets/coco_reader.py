"""Reads COCO JSON into columns.

Format: https://cocodataset.org/#format-data. Ids may be any integers, even sparse and huge. The fields read are
`images` (id, file_name, width, height), `categories` (id, name) and `annotations` (image_id, category_id, bbox;
optional id, area, iscrowd, and `difficult`, which is our extension). A missing area is w * h, a missing name the id.

Real COCO files contain boxes of zero width or height. They are kept, as in pycocotools; only negative sizes are
refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lpirc_testsets.box_corners import corners_from_coco
from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.file_bytes import read_text, utf8_text
from lpirc_testsets.folder import no_list
from lpirc_testsets.ground_truth import GroundTruth
from lpirc_testsets.plain_coco import read_plain_coco
from lpirc_testsets.values import LARGEST_ID, LARGEST_NUMBER, is_name, json_value, shown

NUMBERS = frozenset((int, float))
L = LARGEST_NUMBER

Row = tuple[int, int, float, float, float, float, float, bool, bool]


@dataclass(frozen=True, eq=False)
class CocoDocument:
    """A COCO file as columns, with the stated (width, height) of the images that have one, by image id."""

    ground_truth: GroundTruth
    sizes: dict[int, tuple[int, int]]


def read_coco(path: Path, content: bytes | None = None) -> GroundTruth:
    """Read a COCO JSON file, or its content. Raises TestSetError as `read_ground_truth` does."""
    problems = Problems()
    text = None if content is None else utf8_text(path, content)
    document = parse_coco(path, problems, text=text)
    problems.raise_if_any("ground-truth-invalid")
    return document.ground_truth


def parse_coco(
    path: Path,
    problems: Problems,
    *,
    without_objects: bool = False,
    text: str | None = None,
) -> CocoDocument:
    """Read what is valid in a COCO JSON file, and add what is wrong to `problems`.

    With `without_objects` the annotations, which are of another kind (`truth_marks`), are ignored, and there may be no
    categories. `text` is the content of the file, if it is in memory already.

    Raises TestSetError `ground-truth-missing` or `ground-truth-unreadable` if nothing in it can be used.
    """
    content = read_text(path) if text is None else text
    plain = None if without_objects else read_plain_coco(content)
    lists = _load_lists(path, content) if plain is None else plain.lists
    if without_objects:
        lists["annotations"] = []
    images = _by_id(lists["images"], f"{path}: images", problems)
    categories = _by_id(
        lists["categories"],
        f"{path}: categories",
        problems,
        may_be_empty=without_objects,
    )
    names = _names(categories, "name", f"{path}: category", problems)
    for name, uses in Counter(names.values()).items():
        if uses > 1:
            problems.add(
                f"{path}: categories: the name {shown(name)} is used {uses} times"
            )
    files = _names(images, "file_name", f"{path}: image", problems)
    if plain is not None and plain.is_good(images, names):
        image = plain.image
        category = plain.category
        measures = plain.measures
    else:
        if plain is not None:
            lists = _load_lists(path, content)
        rows = _rows(
            lists["annotations"],
            f"{path}: annotations",
            images.keys(),
            names.keys(),
            problems,
        )
        table = np.array(rows, dtype=np.float64).reshape(-1, 9)
        image = table[:, 0].astype(np.int64)
        category = table[:, 1].astype(np.int64)
        measures = table[:, 2:]
    if not problems.count and not len(image) and not without_objects:
        problems.add(f"{path}: annotations: no objects in it")
    image_ids = sorted(images)
    category_ids = sorted(categories)
    unnamed = {id_: "" for id_, entry in images.items() if "file_name" not in entry}
    image_names = map((files | unnamed).__getitem__, image_ids)
    sizes = _sizes(images, path, problems)
    ground_truth = GroundTruth(
        image_ids=np.array(image_ids, dtype=np.int64),
        image_names=tuple(image_names),
        category_ids=np.array(category_ids, dtype=np.int64),
        category_names=tuple(names[id_] for id_ in category_ids),
        image=image,
        category=category,
        boxes=corners_from_coco(measures[:, :4]),
        difficult=measures[:, 6].astype(np.bool_),
        crowd=measures[:, 5].astype(np.bool_),
        area=measures[:, 4].copy(),
        coco_boxes=measures[:, :4].copy(),
        sizes=sizes,
    )
    return CocoDocument(ground_truth, sizes)


LISTS = "an object with images, annotations and categories"


def _load_lists(path: Path, text: str) -> dict[str, list[Any]]:
    try:
        document = json_value(text)
    except ValueError as error:
        sentence = (
            f"{path}: {error}; ground truth in COCO's form is one JSON file, {LISTS}"
        )
        raise TestSetError("ground-truth-unreadable", sentence) from error
    if isinstance(document, list):
        sentence = f"{path}: a list, as detections in COCO's form are, and no ground truth, which is {LISTS}"
        raise TestSetError("ground-truth-unreadable", sentence)
    for key in ("images", "annotations", "categories"):
        if not isinstance(document, dict) or not isinstance(document.get(key), list):
            raise TestSetError(
                "ground-truth-unreadable",
                no_list(path, document, key),
            )
    return document  # type: ignore[return-value]  # the loop above checks it


def _by_id(
    entries: list[Any],
    where: str,
    problems: Problems,
    *,
    may_be_empty: bool = False,
) -> dict[int, dict[str, Any]]:
    if not entries and not may_be_empty:
        problems.add(f"{where}: the list is empty")
    found: dict[int, dict[str, Any]] = {}
    for index, entry in enumerate(entries):
        id_ = None
        if isinstance(entry, dict):
            id_ = entry.get("id")
        if type(id_) is not int or abs(id_) > LARGEST_ID:
            problems.add(
                f"{where}[{index}]: id {shown(id_)} is not an integer of at most 53 bits"
            )
        elif id_ in found:
            problems.add(f"{where}[{index}]: id {id_} is used more than once")
        else:
            found[id_] = entry
    return found


def _names(
    entries: dict[int, dict[str, Any]],
    key: str,
    where: str,
    problems: Problems,
) -> dict[int, str]:
    """Return the names by id; if a name is missing, it is the id as text."""
    names = {}
    for id_, entry in entries.items():
        name = entry.get(key, id_)
        names[id_] = str(name) if type(name) in (str, int) else ""
        if not is_name(names[id_]):
            problems.add(f"{where} {id_}: {key} {shown(name)} is not a name")
    return names


def _rows(
    entries: list[Any],
    where: str,
    images: AbstractSet[int],
    categories: AbstractSet[int],
    problems: Problems,
) -> list[Row]:
    rows: list[Row] = []
    seen: set[object] = set()
    for index, entry in enumerate(entries):
        try:
            row = _row(entry, images, categories)
            id_ = entry.get("id")
            if id_ is not None and id_ in seen:
                raise ValueError(f"id {shown(id_)} is used more than once")  # noqa: TRY301 - reported like the others
        except KeyError as error:
            problems.add(f"{where}[{index}]: {error} is missing")
        except TypeError:  # a list cannot be looked up
            problems.add(
                f"{where}[{index}]: {shown(entry)} is not an object with a plain id"
            )
        except ValueError as error:
            problems.add(f"{where}[{index}]: {error}")
        else:
            seen.add(id_)
            rows.append(row)
    return rows


def _row(
    entry: dict[str, Any],
    images: AbstractSet[int],
    categories: AbstractSet[int],
) -> Row:
    image = entry["image_id"]
    category = entry["category_id"]
    bbox = entry["bbox"]
    if type(image) not in NUMBERS or image not in images:
        raise ValueError(f"image_id {shown(image)} is not among the images")
    if type(category) not in NUMBERS or category not in categories:
        raise ValueError(f"category_id {shown(category)} is not among the categories")
    if (
        type(bbox) is not list
        or len(bbox) != 4
        or not NUMBERS.issuperset(map(type, bbox))
    ):
        raise ValueError(f"bbox {shown(bbox)} is not four numbers")
    x, y, width, height = bbox
    if not (-L <= x <= L and -L <= y <= L and width <= L and height <= L):
        raise ValueError(f"bbox {shown(bbox)} is not finite, or beyond {L:g} pixels")
    if width < 0 or height < 0:
        raise ValueError(
            f"bbox {shown(bbox)} is inverted: its width or height is negative"
        )
    area = entry.get("area")
    area = width * height if area is None else area
    if type(area) not in NUMBERS or not 0 <= area <= L * L:
        raise ValueError(f"area {shown(area)} is not a number from 0 to {L * L:g}")
    return (
        image,
        category,
        x,
        y,
        width,
        height,
        area,
        _flag(entry, "iscrowd"),
        _flag(entry, "difficult"),
    )


def _flag(entry: dict[str, Any], key: str) -> bool:
    value = entry.get(key, 0)
    if value not in (0, 1):
        raise ValueError(f"{key} {shown(value)} is neither 0 nor 1")
    return bool(value)


def _sizes(
    images: dict[int, dict[str, Any]],
    path: Path,
    problems: Problems,
) -> dict[int, tuple[int, int]]:
    sizes: dict[int, tuple[int, int]] = {}
    for id_, entry in images.items():
        width = entry.get("width")
        height = entry.get("height")
        if width is None and height is None:
            continue
        if type(width) is int and type(height) is int and max(width, height) <= L:
            sizes[id_] = (width, height)
        else:
            problems.add(
                f"{path}: image {id_}: {shown((width, height))} is not a width and height in pixels"
            )
    return sizes
