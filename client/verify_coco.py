"""Computes the metric `coco`. Written from docs/bundle.md alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from verify_metrics import (
    FALSE,
    IGNORED,
    TRUE,
    Box,
    Detection,
    Object,
    Objects,
    at_recalls,
    best_precisions,
    intersection,
    mean,
    share,
)

OVERLAPS = (
    0.5,
    0.55,
    0.6,
    0.65,
    0.7,
    0.75,
    0.8,
    0.85,
    0.8999999999999999,
    0.95,
)
RECALLS = [step * 0.01 for step in range(101)]
LARGEST_AREA = 1e10
MOST_OF_AN_IMAGE = 100


@dataclass(slots=True)
class Candidate:
    """A ground-truth object that a detection may match."""

    one: Object
    overlap: float
    place: int

    def preference(self) -> tuple[bool, float, int]:
        """Return the sort key: objects that are counted first, then the highest overlap, then the last listed."""
        return not _counts(self.one), -self.overlap, -self.place


@dataclass(slots=True)
class Contender:
    """A detection to be matched, with its candidates from most to least preferred."""

    candidates: list[Candidate]
    is_in_range: bool


def coco(objects: Objects, detections: list[Detection]) -> float | None:
    """Return the AP of a category: the mean of 1,010 precisions."""
    counted = 0
    for those in objects.values():
        counted += sum(map(_counts, those))
    if counted == 0:
        return None

    contenders = _contenders(objects, detections)
    values: list[float] = []
    for least in OVERLAPS:
        outcomes = _outcomes(contenders, least)
        best = best_precisions(outcomes, extra=2**-52)
        values += at_recalls(RECALLS, best, counted)
    return mean(values)


def _counts(one: Object) -> bool:
    """Return True if an object is counted: it is no crowd and not too large."""
    return not one.is_crowd and one.area <= LARGEST_AREA


def _contenders(objects: Objects, detections: list[Detection]) -> list[Contender]:
    """Return the first hundred detections of each image, each with its candidates."""
    found = []
    of_image: dict[int, int] = defaultdict(int)
    for detection in detections:
        image = detection.image
        of_image[image] += 1
        if of_image[image] <= MOST_OF_AN_IMAGE:
            those = objects.get(image, [])
            found.append(_contender(detection, those))
    return found


def _contender(detection: Detection, objects: list[Object]) -> Contender:
    """Return a detection with the objects that it may match, from most to least preferred."""
    box = detection.coco()
    candidates = []
    for place, one in enumerate(objects):
        overlap = _overlap(box, one)
        if overlap >= OVERLAPS[0]:
            candidates.append(Candidate(one, overlap, place))
    candidates.sort(key=Candidate.preference)
    is_outside = box.area < 0 or box.area > LARGEST_AREA
    return Contender(candidates, not is_outside)


def _overlap(detected: Box, one: Object) -> float:
    """Return the intersection over the union; for a crowd, over the area of the detection alone."""
    shared = intersection(detected, one.coco, extra=0)
    if one.is_crowd:
        return share(shared, detected.area)
    union = detected.area + one.coco.area - shared
    return share(shared, union)


def _outcomes(contenders: list[Contender], least: float) -> list[str]:
    """Return the outcome of each detection when a match needs an overlap of at least `least`."""
    taken: set[int] = set()
    outcomes = []
    for contender in contenders:
        chosen = _first_free(contender.candidates, least, taken)
        if chosen is None:
            outcomes.append(FALSE if contender.is_in_range else IGNORED)
            continue
        if not chosen.is_crowd:
            taken.add(id(chosen))
        outcomes.append(TRUE if _counts(chosen) else IGNORED)
    return outcomes


def _first_free(
    candidates: list[Candidate],
    least: float,
    taken: set[int],
) -> Object | None:
    """Return the first candidate with an overlap of at least `least` that is not matched yet."""
    for candidate in candidates:
        is_enough = candidate.overlap >= least
        if is_enough and id(candidate.one) not in taken:
            return candidate.one
    return None
