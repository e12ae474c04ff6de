"""The mAP of a run by each metric, one thought a line and in pure Python. From docs/bundle.md alone."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Row = tuple[float, ...]

# What comes of a detection.
TRUE = "true"
FALSE = "false"
IGNORED = "ignored"

COCO = "coco"
COCO_OVERLAPS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.8999999999999999, 0.95)
COCO_RECALLS = [step * 0.01 for step in range(101)]
COCO_LARGEST_AREA = 1e10
COCO_MOST_OF_AN_IMAGE = 100
ELEVEN_RECALLS = [step * 0.1 for step in range(11)]


@dataclass
class Object:
    """An object of the ground truth: the box x, y, w, h as the file has it, and its inclusive far corner."""

    x: float
    y: float
    w: float
    h: float
    area: float
    is_crowd: bool
    is_difficult: bool

    def __post_init__(self) -> None:
        self.xmax = self.w + (self.x - 1)
        self.ymax = self.h + (self.y - 1)


@dataclass(slots=True)
class Detection:
    """A detection of one category: the image, a key by which those of all images are listed, the corners."""

    image: int
    order: tuple[float, int, int]
    xmin: float
    ymin: float
    xmax: float
    ymax: float


Objects = dict[int, list[Object]]  # by image, in the order of the file


def read_objects(ground_truth: bytes, images: set[int]) -> dict[int, Objects]:
    """By category, the objects of these images."""
    found: dict[int, Objects] = defaultdict(lambda: defaultdict(list))
    document = json.loads(ground_truth.decode("utf-8-sig"))
    for annotation in document["annotations"]:
        image = annotation["image_id"]
        if image in images:
            category = annotation["category_id"]
            found[category][image].append(_object_of(annotation))
    return found


def _object_of(annotation: dict[str, Any]) -> Object:
    x, y, w, h = map(float, annotation["bbox"])
    area = annotation.get("area")
    return Object(
        x=x,
        y=y,
        w=w,
        h=h,
        area=w * h if area is None else float(area),
        is_crowd=bool(annotation.get("iscrowd", 0)),
        is_difficult=bool(annotation.get("difficult", 0)),
    )


def average_precisions(metric: str, objects: dict[int, Objects], rows: Iterable[Row]) -> dict[int, float]:
    """The AP by each category that has objects that count.

    `rows` are image, category, confidence, xmin, ymin, xmax, ymax in order of arrival.
    """
    ap_of = METRICS[metric]
    detections = _listed(rows)
    found = {}
    for category, its_objects in objects.items():
        ap = ap_of(its_objects, detections[category])
        if ap is not None:
            found[category] = ap
    return found


def mean(values: Iterable[float]) -> float:
    """The exact sum of the values, rounded once, divided by their number; 0 without any."""
    known = [*values]
    return math.fsum(known) / len(known) if known else 0.0


def _listed(rows: Iterable[Row]) -> dict[int, list[Detection]]:
    """By category the detections of all images: highest confidence first, then lower image, then arrival."""
    found: dict[int, list[Detection]] = defaultdict(list)
    for arrival, (image, category, confidence, *corners) in enumerate(rows):
        order = (-confidence, int(image), arrival)
        found[int(category)].append(Detection(int(image), order, *corners))
    for detections in found.values():
        detections.sort(key=lambda detection: detection.order)
    return found


# Metrics with inclusive corners


def _lpirc(objects: Objects, detections: list[Detection]) -> float | None:
    counted = _without_crowds(objects)
    outcomes = _best_of_free(counted, detections, forgives_small_objects=False)
    return _area_under_envelope(outcomes, _number_of(counted))


def _ilsvrc_det(objects: Objects, detections: list[Detection]) -> float | None:
    counted = _without_crowds(objects)
    outcomes = _best_of_free(counted, detections, forgives_small_objects=True)
    return _area_under_envelope(outcomes, _number_of(counted))


def _voc_area(objects: Objects, detections: list[Detection]) -> float | None:
    shown = _without_crowds(objects)
    outcomes = _best_of_all(shown, detections)
    return _area_under_envelope(outcomes, _number_of(_without_difficult(shown)))


def _voc_11(objects: Objects, detections: list[Detection]) -> float | None:
    shown = _without_crowds(objects)
    outcomes = _best_of_all(shown, detections)
    return _eleven_points(outcomes, _number_of(_without_difficult(shown)))


def _without_crowds(objects: Objects) -> Objects:
    return {image: [one for one in those if not one.is_crowd] for image, those in objects.items()}


def _without_difficult(objects: Objects) -> Objects:
    return {image: [one for one in those if not one.is_difficult] for image, those in objects.items()}


def _number_of(objects: Objects) -> int:
    return sum(len(those) for those in objects.values())


def _overlap(detection: Detection, one: Object) -> float:
    """Intersection over union, 0 unless the intersection is wider and higher than 0."""
    width = min(detection.xmax, one.xmax) - max(detection.xmin, one.x) + 1
    height = min(detection.ymax, one.ymax) - max(detection.ymin, one.y) + 1
    if width <= 0 or height <= 0:
        return 0.0
    detected_area = (detection.xmax - detection.xmin + 1) * (detection.ymax - detection.ymin + 1)
    object_area = (one.xmax - one.x + 1) * (one.ymax - one.y + 1)
    return _share(width * height, detected_area + object_area - width * height)


def _share(part: float, whole: float) -> float:
    return part / whole if whole != 0 else 0.0


def _required(one: Object) -> float:
    """The overlap that `ilsvrc-det` asks for: less of a small object."""
    width = one.xmax - one.x + 1
    height = one.ymax - one.y + 1
    return min(0.5, width * height / ((width + 10) * (height + 10)))


def _best_of_free(
    objects: Objects, detections: list[Detection], *, forgives_small_objects: bool
) -> list[str]:
    """What comes of each detection: it takes the best object that it overlaps enough and no one has taken."""
    taken: set[int] = set()
    outcomes = []
    for detection in detections:
        best = 0.0
        chosen = None
        for one in objects.get(detection.image, ()):
            if id(one) in taken:
                continue
            overlap = _overlap(detection, one)
            required = _required(one) if forgives_small_objects else 0.5
            if overlap >= required and overlap > best:
                best = overlap
                chosen = one

        if chosen is None:
            outcomes.append(FALSE)
        else:
            taken.add(id(chosen))
            outcomes.append(TRUE)
    return outcomes


def _best_of_all(objects: Objects, detections: list[Detection]) -> list[str]:
    """What comes of each detection: it wants the object that it overlaps best, taken or not."""
    taken: set[int] = set()
    outcomes = []
    for detection in detections:
        best = 0.0
        wanted = None
        for one in objects.get(detection.image, ()):
            overlap = _overlap(detection, one)
            if overlap > best:
                best = overlap
                wanted = one

        if wanted is None or best < 0.5:
            outcomes.append(FALSE)
        elif wanted.is_difficult:
            outcomes.append(IGNORED)
        elif id(wanted) in taken:
            outcomes.append(FALSE)
        else:
            taken.add(id(wanted))
            outcomes.append(TRUE)
    return outcomes


# Average precision


def _true_ranks(outcomes: list[str]) -> list[int]:
    """The places of the true detections, from 1, among those that are not ignored."""
    ranks = []
    rank = 0
    for outcome in outcomes:
        if outcome != IGNORED:
            rank += 1
        if outcome == TRUE:
            ranks.append(rank)
    return ranks


def _best_from_there(precisions: list[float]) -> list[float]:
    """For each true detection the highest precision at it or at a later one."""
    best = 0.0
    found = []
    for precision in reversed(precisions):
        best = max(best, precision)
        found.append(best)
    found.reverse()
    return found


def _precisions(ranks: list[int]) -> list[float]:
    return [number / rank for number, rank in enumerate(ranks, start=1)]


def _area_under_envelope(outcomes: list[str], objects: int) -> float | None:
    if objects == 0:
        return None
    best = _best_from_there(_precisions(_true_ranks(outcomes)))
    return math.fsum(best) / objects


def _eleven_points(outcomes: list[str], objects: int) -> float | None:
    if objects == 0:
        return None
    best = _best_from_there(_precisions(_true_ranks(outcomes)))
    return math.fsum(_at_recalls(ELEVEN_RECALLS, best, objects)) / 11


def _at_recalls(recalls: list[float], best: list[float], objects: int) -> list[float]:
    """For each recall (ascending) the best precision at the first true detection that reaches it, or 0."""
    found = []
    place = 0
    for recall in recalls:
        while place < len(best) and (place + 1) / objects < recall:
            place += 1
        found.append(best[place] if place < len(best) else 0.0)
    return found


# COCO


@dataclass
class Candidate:
    """An object that a detection may take, and their overlap."""

    overlap: float
    place: int
    one: Object
    is_ignored: bool

    def preference(self) -> tuple[bool, float, int]:
        """Its place among the candidates of the detection: those that count first, the best, the last."""
        return self.is_ignored, -self.overlap, -self.place


@dataclass(slots=True)
class Contender:
    """A detection that counts for COCO: its candidates, best first, and whether its area is in the range."""

    candidates: list[Candidate]
    is_in_range: bool


def _coco(objects: Objects, detections: list[Detection]) -> float | None:
    counted = sum(not _is_ignored(one) for those in objects.values() for one in those)
    if counted == 0:
        return None
    contenders = _contenders(objects, detections)
    precisions: list[float] = []
    for least in COCO_OVERLAPS:
        ranks = _true_ranks(_coco_outcomes(contenders, least))
        best = _best_from_there([number / (rank + 2**-52) for number, rank in enumerate(ranks, start=1)])
        precisions += _at_recalls(COCO_RECALLS, best, counted)
    return mean(precisions)


def _is_ignored(one: Object) -> bool:
    return one.is_crowd or one.area > COCO_LARGEST_AREA


def _contenders(objects: Objects, detections: list[Detection]) -> list[Contender]:
    """The first hundred of each image, in the order of the list."""
    found = []
    of_image: dict[int, int] = defaultdict(int)
    for detection in detections:
        of_image[detection.image] += 1
        if of_image[detection.image] <= COCO_MOST_OF_AN_IMAGE:
            those = objects.get(detection.image, [])
            found.append(_contender(detection, those))
    return found


def _contender(detection: Detection, objects: list[Object]) -> Contender:
    width = detection.xmax - (detection.xmin - 1)
    height = detection.ymax - (detection.ymin - 1)
    area = width * height
    candidates = []
    for place, one in enumerate(objects):
        shared_width = min(detection.xmin + width, one.x + one.w) - max(detection.xmin, one.x)
        shared_height = min(detection.ymin + height, one.y + one.h) - max(detection.ymin, one.y)
        if shared_width <= 0 or shared_height <= 0:
            continue
        shared = shared_width * shared_height
        whole = area if one.is_crowd else area + one.w * one.h - shared
        overlap = _share(shared, whole)
        if overlap >= COCO_OVERLAPS[0]:
            candidates.append(Candidate(overlap, place, one, _is_ignored(one)))

    candidates.sort(key=Candidate.preference)
    is_outside = area < 0 or area > COCO_LARGEST_AREA
    return Contender(candidates, not is_outside)


def _coco_outcomes(contenders: list[Contender], least: float) -> list[str]:
    """What comes of each detection where an overlap of `least` is enough."""
    taken: set[int] = set()
    outcomes = []
    for contender in contenders:
        chosen = None
        for candidate in contender.candidates:
            if candidate.overlap >= least and id(candidate.one) not in taken:
                chosen = candidate
                break

        if chosen is None:
            outcomes.append(FALSE if contender.is_in_range else IGNORED)
            continue
        if not chosen.one.is_crowd:
            taken.add(id(chosen.one))
        outcomes.append(IGNORED if chosen.is_ignored else TRUE)
    return outcomes


METRICS = {
    "lpirc": _lpirc,
    "ilsvrc-det": _ilsvrc_det,
    "voc-area": _voc_area,
    "voc-11": _voc_11,
    COCO: _coco,
}
