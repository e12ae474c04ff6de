"""The worst test images as small JPEGs inside a page, with what is drawn on them."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from referee.contest import Contest
from referee.judging.explained import Explanation
from referee.store.records import Run

WIDTH = 420
QUALITY = 70
MOST_DRAWN = 12  # false detections of an image, and objects of each kind: more hide one another


def pictures(found: Explanation, contest: Contest, run: Run) -> list[dict[str, Any]]:
    """What the page needs of each of the worst images; `uri` is None where the file cannot be read."""
    numbers = contest.store.image_order(run.id).tolist()  # the team's numbers are the places in it
    shown = []
    for one in found.worst:
        image = contest.test_set.images[one.image - 1]
        boxes = [*_objects(found, one.objects, contest), *_false(found, one.detections, contest)]
        path = contest.test_set.image_path(one.image)
        number = numbers.index(one.image) + 1
        shown.append({"errors": one, "image": image, "number": number, "boxes": boxes, "uri": data_uri(path)})
    return shown


def _objects(found: Explanation, objects: Any, contest: Contest) -> Iterator[dict[str, Any]]:
    """The objects of an image that were found, then those that were not."""
    truth, unfound = found.ground_truth, found.analysis.unfound
    for kind, chosen in (("found", objects[~unfound[objects]]), ("missed", objects[unfound[objects]])):
        for index in chosen[:MOST_DRAWN].tolist():
            yield _box(kind, truth.boxes[index], _name(contest, truth.category[index]))


def _false(found: Explanation, detections: Any, contest: Contest) -> Iterator[dict[str, Any]]:
    chosen = detections[found.analysis.outcome[detections] >= 0][:MOST_DRAWN]
    for index in chosen.tolist():
        label = f"{_name(contest, found.detections.category[index])} {found.detections.confidence[index]:.2f}"
        yield _box("wrong", found.detections.boxes[index], label)


def _box(kind: str, corners: Any, label: str) -> dict[str, Any]:
    xmin, ymin, xmax, ymax = np.clip(corners, -1e5, 1e5).tolist()
    return {
        "kind": kind,
        "x": xmin,
        "y": ymin,
        "width": xmax - xmin + 1,
        "height": ymax - ymin + 1,
        "label": label,
    }


def _name(contest: Contest, category: int) -> str:
    return next((one.name for one in contest.test_set.categories if one.id == category), str(category))


def data_uri(path: Path) -> str | None:
    """The image, at most WIDTH wide, as a data: URI; None where the file is missing or is no image."""
    try:
        with Image.open(path) as image:
            image.draft("RGB", (WIDTH, WIDTH))  # a JPEG is decoded at a fraction of its size
            small = image.convert("RGB")
        small.thumbnail((WIDTH, WIDTH * 4))
        packed = io.BytesIO()
        small.save(packed, "JPEG", quality=QUALITY)
    except (OSError, ValueError, Image.DecompressionBombError):
        return None
    return f"data:image/jpeg;base64,{base64.b64encode(packed.getvalue()).decode()}"
