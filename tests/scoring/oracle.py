"""The rules of METRICS said again, slowly: loops over Python numbers, one detection after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np

from lpirc_score import Counts, Detections
from lpirc_testsets import GroundTruth

Box = tuple[float, float, float, float]
ObjectRow = tuple[int, int, float, float, float, float]
DetectionRow = tuple[int, int, float, float, float, float, float]


@dataclass
class Answer:
    map: float | None
    ap: dict[int, float | None] = field(default_factory=dict)
    counts: dict[int, Counts] = field(default_factory=dict)


def ground_truth(
    images: Sequence[int],
    categories: Sequence[int],
    rows: Sequence[ObjectRow],
    crowd: Sequence[bool] | None = None,
    difficult: Sequence[bool] | None = None,
) -> GroundTruth:
    table = np.array(rows, np.float64).reshape(-1, 6)
    boxes = table[:, 2:6].copy()
    no = np.zeros(len(table), np.bool_)
    return GroundTruth(
        image_ids=np.array(images, np.int64),
        image_names=tuple(f"{image}.jpg" for image in images),
        category_ids=np.array(categories, np.int64),
        category_names=tuple(f"category {category}" for category in categories),
        image=table[:, 0].astype(np.int64),
        category=table[:, 1].astype(np.int64),
        boxes=boxes,
        difficult=no if difficult is None else np.array(difficult, np.bool_),
        crowd=no if crowd is None else np.array(crowd, np.bool_),
        area=np.zeros(len(table)),
        coco_boxes=boxes,
    )


def detections(rows: Sequence[DetectionRow]) -> Detections:
    return Detections.from_rows(np.array(rows, np.float64).reshape(-1, 7))


def overlap(
    a: Box,
    b: Box,
) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0]) + 1
    height = min(a[3], b[3]) - max(a[1], b[1]) + 1
    if width <= 0 or height <= 0:
        return 0.0
    size_a = (a[2] - a[0] + 1) * (a[3] - a[1] + 1)
    size_b = (b[2] - b[0] + 1) * (b[3] - b[1] + 1)
    return width * height / (size_a + size_b - width * height)


def threshold(
    metric: str,
    box: Box,
    iou: float,
) -> float:
    width = box[2] - box[0] + 1
    height = box[3] - box[1] + 1
    if metric == "lpirc":
        return iou
    return min(iou, width * height / ((width + 10) * (height + 10)))


def answer(
    truth: GroundTruth,
    rows: Sequence[DetectionRow],
    metric: str = "lpirc",
    iou: float = 0.5,
    blacklist: Iterable[tuple[int, int]] = (),
) -> Answer:
    banned = set(blacklist)
    result = Answer(None)
    for category in truth.category_ids.tolist():
        objects = _objects(truth, category, banned)
        mine = [
            (n, r)
            for n, r in enumerate(rows)
            if r[1] == category and (r[0], category) not in banned
        ]
        found = _found(objects, mine, metric, iou)
        listed = sorted(mine, key=lambda item: (-item[1][2], item[1][0], item[0]))
        truths = [number in found for number, _ in listed]
        total = sum(len(boxes) for boxes in objects.values())
        result.ap[category] = _average_precision(truths, total)
        result.counts[category] = Counts(total, sum(truths), len(truths) - sum(truths))
    scored = [value for value in result.ap.values() if value is not None]
    result.map = sum(scored) / len(scored) if scored else None
    return result


def voc_answer(
    truth: GroundTruth,
    rows: Sequence[DetectionRow],
    metric: str = "voc-area",
    iou: float = 0.5,
    blacklist: Iterable[tuple[int, int]] = (),
) -> Answer:
    """VOCevaldet.m line by line: one list in order of arrival, sorted stably by confidence."""
    banned = set(blacklist)
    result = Answer(None)
    difficult = dict(zip(_places(truth), truth.difficult.tolist(), strict=True))
    for category in truth.category_ids.tolist():
        objects = _objects(truth, category, banned)
        mine = [
            row
            for row in rows
            if row[1] == category and (row[0], category) not in banned
        ]
        marks = _voc_marks(
            objects,
            sorted(mine, key=lambda row: -row[2]),
            category,
            difficult,
            iou,
        )
        total = sum(
            not difficult[image, category, box]
            for image, boxes in objects.items()
            for box in boxes
        )
        result.ap[category] = _voc_average(marks, total, metric) if total else None
        result.counts[category] = Counts(
            total,
            marks.count("true"),
            marks.count("false"),
        )
    scored = [value for value in result.ap.values() if value is not None]
    result.map = sum(scored) / len(scored) if scored else None
    return result


def _places(truth: GroundTruth) -> list[tuple[int, int, Box]]:
    columns = (truth.image.tolist(), truth.category.tolist(), truth.boxes.tolist())
    return [
        (image, category, tuple(box))
        for image, category, box in zip(*columns, strict=True)
    ]


def _voc_marks(
    objects: dict[int, list[Box]],
    rows: list[DetectionRow],
    category: int,
    difficult: dict[tuple[int, int, Box], bool],
    iou: float,
) -> list[str]:
    marks = []
    taken = set()
    for row in rows:
        best = float("-inf")
        choice = None
        for place, box in enumerate(objects.get(row[0], [])):
            shared = overlap(row[3:], box)
            if shared > 0 and shared > best:
                best = shared
                choice = place
        if choice is None or best < iou:
            marks.append("false")
        elif difficult[row[0], category, objects[row[0]][choice]]:
            marks.append("ignored")
        elif (row[0], choice) in taken:
            marks.append("false")
        else:
            taken.add((row[0], choice))
            marks.append("true")
    return marks


def _voc_average(
    marks: list[str],
    total: int,
    metric: str,
) -> float:
    true = false = 0
    points = [(0.0, 0.0)]
    for mark in marks:
        true = true + (mark == "true")
        false = false + (mark == "false")
        points.append((true / total, true / (true + false) if true + false else 0.0))
    if metric == "voc-11":
        wanted = [0.1 * step for step in range(11)]
        return (
            sum(max((p for r, p in points if r >= t), default=0.0) for t in wanted) / 11
        )
    recalls = sorted({recall for recall, _ in points})
    area = 0.0
    for low, high in pairwise(recalls):
        area += (high - low) * max(p for r, p in points if r >= high)
    return area


def _objects(
    truth: GroundTruth,
    category: int,
    banned: set[tuple[int, int]],
) -> dict[int, list[Box]]:
    objects: dict[int, list[Box]] = {}
    for image, of, box, crowd in zip(
        truth.image.tolist(),
        truth.category.tolist(),
        truth.boxes.tolist(),
        truth.crowd.tolist(),
        strict=True,
    ):
        if of == category and not crowd and (image, category) not in banned:
            objects.setdefault(image, []).append(tuple(box))
    return objects


def _found(
    objects: dict[int, list[Box]],
    rows: list[tuple[int, DetectionRow]],
    metric: str,
    iou: float,
) -> set[int]:
    found = set()
    taken: set[tuple[int, int]] = set()
    for number, row in sorted(rows, key=lambda item: (-item[1][2], item[0])):
        best = 0.0
        choice = None
        for place, box in enumerate(objects.get(row[0], [])):
            shared = overlap(row[3:], box)
            free = (row[0], place) not in taken
            if free and shared >= threshold(metric, box, iou) and shared > best:
                best = shared
                choice = place
        if choice is not None:
            taken.add((row[0], choice))
            found.add(number)
    return found


def _average_precision(
    truths: list[bool],
    objects: int,
) -> float | None:
    if objects == 0:
        return None
    precisions = [
        Fraction(sum(truths[: rank + 1]), rank + 1) for rank in range(len(truths))
    ]
    best = [max(precisions[rank:]) for rank, true in enumerate(truths) if true]
    return float(sum(best, Fraction(0)) / objects)
