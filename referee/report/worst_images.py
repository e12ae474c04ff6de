"""The worst test images as small JPEGs embedded in a page, with their boxes drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_score.analysis.error_types import TRUE, ImageErrors
from referee.contest import Contest
from referee.judging.score_explanation import Explanation
from referee.pages.small_pictures import data_uri
from referee.store.records import Run

MOST_URI = 150_000
"""Length of a picture in the page; one of noise is made smaller until it fits."""
SMALLER = ((420, 70), (420, 40), (210, 40), (100, 30))
MOST_DRAWN = 12  # per image and kind of box; more would hide one another


def pictures(found: Explanation, contest: Contest, run: Run) -> list[dict[str, Any]]:
    """Return the entry of each of the worst images; `uri` is None if the file cannot be read."""
    numbers = contest.store.runs.image_order(
        run.id
    ).tolist()  # team's number = index + 1
    names = {one.id: one.name for one in contest.test_set.categories}
    return [
        {
            "errors": one,
            "image": contest.test_set.images[one.image - 1],
            "number": numbers.index(one.image) + 1,
            "boxes": [*_boxes(found, one, names)],
            "uri": bounded_uri(contest.test_set.image_path(one.image)),
        }
        for one in found.worst
    ]


def bounded_uri(path: Path) -> str | None:
    """Return the image as a data: URI of at most MOST_URI characters; None if it cannot be read."""
    uri = None
    for width, quality in SMALLER:
        uri = data_uri(path, width, quality)
        if uri is None or len(uri) <= MOST_URI:
            break
    return uri


def _boxes(
    found: Explanation, one: ImageErrors, names: Mapping[int, str]
) -> Iterator[dict[str, Any]]:
    """Yield the boxes of an image: its objects, found or missed, then the team's, right or wrong."""
    truth = found.ground_truth
    sent = found.detections
    unfound = found.analysis.found.unfound[one.objects]
    for kind, chosen in (
        ("found", one.objects[~unfound]),
        ("missed", one.objects[unfound]),
    ):
        for index in chosen[:MOST_DRAWN].tolist():
            yield _box(
                kind, truth.boxes[index], f"missed: {names[int(truth.category[index])]}"
            )
    outcome = found.analysis.found.outcome[one.detections]
    for kind, chosen in (
        ("right", one.detections[outcome == TRUE]),
        ("wrong", one.detections[outcome >= 0]),
    ):
        for index in chosen[:MOST_DRAWN].tolist():
            label = f"{names[int(sent.category[index])]} {sent.confidence[index]:.2f}"
            yield _box(kind, sent.boxes[index], label)


def _box(kind: str, corners: NDArray[np.float64], label: str) -> dict[str, Any]:
    xmin, ymin, xmax, ymax = np.clip(corners, -1e5, 1e5).tolist()
    size = {"width": xmax - xmin + 1, "height": ymax - ymin + 1}
    return {"kind": kind, "x": xmin, "y": ymin, "label": label, **size}
