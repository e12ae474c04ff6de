"""Code shared by all metrics, and the metrics with inclusive pixels. Written from docs/bundle.md alone."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from verify_bodies import Row

# What a detection ends up as.
TRUE = "true"
FALSE = "false"
IGNORED = "ignored"

LEAST_OVERLAP = 0.5
ELEVEN_RECALLS = [step * 0.1 for step in range(11)]


# Boxes


@dataclass(slots=True)
class Box:
    """A box with the area that the metric gives it."""

    left: float
    top: float
    right: float
    bottom: float
    area: float


def inclusive_box(
    xmin: float,
    ymin: float,
    xmax: float,
    ymax: float,
) -> Box:
    """Return the box whose corner pixels belong to it."""
    width = xmax - xmin + 1
    height = ymax - ymin + 1
    return Box(
        left=xmin,
        top=ymin,
        right=xmax,
        bottom=ymax,
        area=width * height,
    )


def coco_box(
    x: float,
    y: float,
    w: float,
    h: float,
) -> Box:
    """Return the box with this corner and size."""
    return Box(
        left=x,
        top=y,
        right=x + w,
        bottom=y + h,
        area=w * h,
    )


def intersection(
    one: Box,
    other: Box,
    extra: int,
) -> float:
    """Return the area shared by two boxes; a side is far - near + `extra`."""
    left = max(one.left, other.left)
    right = min(one.right, other.right)
    top = max(one.top, other.top)
    bottom = min(one.bottom, other.bottom)
    width = right - left + extra
    height = bottom - top + extra
    if width <= 0 or height <= 0:
        return 0.0
    return width * height


def share(part: float, whole: float) -> float:
    """Return part / whole, or 0 if the whole is 0."""
    if whole == 0:
        return 0.0
    return part / whole


# Objects and detections


@dataclass
class Object:
    """A ground-truth object, with its box in both forms."""

    inclusive: Box
    coco: Box
    area: float
    is_crowd: bool
    is_difficult: bool


@dataclass(slots=True)
class Detection:
    """A detection of one category; `order` is the key that sorts the detections of all images."""

    image: int
    order: tuple[float, int, int]
    xmin: float
    ymin: float
    xmax: float
    ymax: float

    def inclusive(self) -> Box:
        """Return the box with inclusive corners."""
        return inclusive_box(self.xmin, self.ymin, self.xmax, self.ymax)

    def coco(self) -> Box:
        """Return the box by corner and size."""
        width = self.xmax - (self.xmin - 1)
        height = self.ymax - (self.ymin - 1)
        return coco_box(self.xmin, self.ymin, width, height)


Objects = dict[int, list[Object]]
"""The objects of one category by image number, in the order of the file."""

Metric = Callable[[Objects, list[Detection]], float | None]
"""Returns the AP of a category, or None if none of its objects is counted."""


def read_objects(ground_truth: bytes, images: set[int]) -> dict[int, Objects]:
    """Return the objects of these images by category."""
    found: dict[int, Objects] = defaultdict(lambda: defaultdict(list))
    document = json.loads(ground_truth.decode("utf-8-sig"))
    for annotation in document["annotations"]:
        image = annotation["image_id"]
        category = annotation["category_id"]
        if image in images:
            one = _object(annotation)
            found[category][image].append(one)
    return found


def has_no_annotations(ground_truth: bytes) -> bool:
    """Return True for a test set without ground truth: its runs have neither mAP nor score."""
    document = json.loads(ground_truth.decode("utf-8-sig"))
    return not document["annotations"]


def _object(annotation: dict[str, Any]) -> Object:
    """Return an annotation as an object."""
    x, y, w, h = map(float, annotation["bbox"])
    xmax = w + (x - 1)
    ymax = h + (y - 1)
    area = annotation.get("area")
    if area is None:
        area = w * h
    return Object(
        inclusive=inclusive_box(x, y, xmax, ymax),
        coco=coco_box(x, y, w, h),
        area=float(area),
        is_crowd=bool(annotation.get("iscrowd", 0)),
        is_difficult=bool(annotation.get("difficult", 0)),
    )


def _listed(rows: Iterable[Row]) -> dict[int, list[Detection]]:
    """Return the detections by category, sorted by falling confidence, then image number, then order of arrival."""
    found: dict[int, list[Detection]] = defaultdict(list)
    for arrival, row in enumerate(rows):
        image, category, confidence, *corners = row
        order = (-confidence, int(image), arrival)
        one = Detection(int(image), order, *corners)
        found[int(category)].append(one)
    for detections in found.values():
        detections.sort(key=lambda detection: detection.order)
    return found


# The mAP


def average_precisions(
    metric: Metric,
    objects: dict[int, Objects],
    rows: Iterable[Row],
) -> dict[int, float]:
    """Return the AP of each category that has counted objects; `rows` are in order of arrival."""
    detections = _listed(rows)
    found = {}
    for category, its_objects in objects.items():
        ap = metric(its_objects, detections[category])
        if ap is not None:
            found[category] = ap
    return found


def mean(values: Iterable[float]) -> float:
    """Return the exact sum of the values, rounded once, divided by their number; 0 if there are none."""
    known = [*values]
    if not known:
        return 0.0
    return math.fsum(known) / len(known)


# Precision and recall


def _true_ranks(outcomes: list[str]) -> list[int]:
    """Return the ranks of the true detections, from 1, counted among the detections that are not ignored."""
    ranks = []
    rank = 0
    for outcome in outcomes:
        if outcome == IGNORED:
            continue
        rank += 1
        if outcome == TRUE:
            ranks.append(rank)
    return ranks


def best_precisions(outcomes: list[str], extra: float = 0.0) -> list[float]:
    """Return for each true detection the highest precision at that detection or a later one."""
    ranks = _true_ranks(outcomes)
    found = []
    best = 0.0
    for number in range(len(ranks), 0, -1):
        rank = ranks[number - 1] + extra
        best = max(best, number / rank)
        found.append(best)
    found.reverse()
    return found


def at_recalls(
    recalls: list[float],
    best: list[float],
    objects: int,
) -> list[float]:
    """Return for each of the ascending recalls the best precision at which it is reached, or 0 if it never is."""
    found = []
    place = 0
    for recall in recalls:
        while place < len(best) and (place + 1) / objects < recall:
            place += 1
        is_reached = place < len(best)
        found.append(best[place] if is_reached else 0.0)
    return found


# lpirc, ilsvrc-det, voc-area, voc-11


def lpirc(objects: Objects, detections: list[Detection]) -> float | None:
    """Return the AP of a category by the metric `lpirc`."""
    shown = _without_crowds(objects)
    outcomes = _best_of_free(shown, detections, _half)
    return _area(outcomes, _number_of(shown))


def ilsvrc_det(objects: Objects, detections: list[Detection]) -> float | None:
    """Return the AP of a category by the metric `ilsvrc-det`."""
    shown = _without_crowds(objects)
    outcomes = _best_of_free(shown, detections, _less_of_small_objects)
    return _area(outcomes, _number_of(shown))


def voc_area(objects: Objects, detections: list[Detection]) -> float | None:
    """Return the AP of a category by the metric `voc-area`."""
    shown = _without_crowds(objects)
    outcomes = _best_of_all(shown, detections)
    return _area(outcomes, _number_of(shown, with_difficult=False))


def voc_11(objects: Objects, detections: list[Detection]) -> float | None:
    """Return the AP of a category by the metric `voc-11`."""
    shown = _without_crowds(objects)
    outcomes = _best_of_all(shown, detections)
    counted = _number_of(shown, with_difficult=False)
    if counted == 0:
        return None
    best = best_precisions(outcomes)
    return mean(at_recalls(ELEVEN_RECALLS, best, counted))


def _area(outcomes: list[str], objects: int) -> float | None:
    """Return the area under the best precisions, or None if there are no objects."""
    if objects == 0:
        return None
    return math.fsum(best_precisions(outcomes)) / objects


def _without_crowds(objects: Objects) -> Objects:
    """Return the objects that are not crowds."""
    found = {}
    for image, those in objects.items():
        found[image] = [one for one in those if not one.is_crowd]
    return found


def _number_of(objects: Objects, with_difficult: bool = True) -> int:
    """Return the number of objects, including or excluding difficult ones."""
    every = [one for those in objects.values() for one in those]
    if with_difficult:
        return len(every)
    return len([one for one in every if not one.is_difficult])


def _half(_: Object) -> float:
    """Return the overlap that `lpirc` requires."""
    return LEAST_OVERLAP


def _less_of_small_objects(one: Object) -> float:
    """Return the overlap that `ilsvrc-det` requires, which is lower for small objects."""
    box = one.inclusive
    width = box.right - box.left + 1
    height = box.bottom - box.top + 1
    wider = width + 10
    higher = height + 10
    less = box.area / (wider * higher)
    return min(LEAST_OVERLAP, less)


def _overlap(detected: Box, one: Object) -> float:
    """Return intersection over union of a box and an object, in inclusive pixels."""
    shared = intersection(detected, one.inclusive, extra=1)
    union = detected.area + one.inclusive.area - shared
    return share(shared, union)


def _best_of_free(
    objects: Objects,
    detections: list[Detection],
    least_of: Callable[[Object], float],
) -> list[str]:
    """Return outcomes where each detection matches the unmatched object with the highest sufficient overlap."""
    taken: set[int] = set()
    outcomes = []
    for detection in detections:
        box = detection.inclusive()
        best = 0.0
        chosen = None
        for one in objects.get(detection.image, ()):
            if id(one) in taken:
                continue
            overlap = _overlap(box, one)
            if overlap > best and overlap >= least_of(one):
                best = overlap
                chosen = one

        if chosen is None:
            outcomes.append(FALSE)
        else:
            taken.add(id(chosen))
            outcomes.append(TRUE)
    return outcomes


def _best_of_all(objects: Objects, detections: list[Detection]) -> list[str]:
    """Return outcomes where each detection only tries the object that it overlaps most, matched already or not."""
    taken: set[int] = set()
    outcomes = []
    for detection in detections:
        box = detection.inclusive()
        best = 0.0
        wanted = None
        for one in objects.get(detection.image, ()):
            overlap = _overlap(box, one)
            if overlap > best:
                best = overlap
                wanted = one

        if wanted is None or best < LEAST_OVERLAP:
            outcomes.append(FALSE)
        elif wanted.is_difficult:
            outcomes.append(IGNORED)
        elif id(wanted) in taken:
            outcomes.append(FALSE)
        else:
            taken.add(id(wanted))
            outcomes.append(TRUE)
    return outcomes
