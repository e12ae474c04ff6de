"""The worst test images as small JPEGs embedded in a page, with their boxes drawn."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lpirc_score.analysis.error_types import ImageErrors
from referee.contest import Contest
from referee.judging.score_explanation import Explanation
from referee.store.records import Run

WIDTH = 420
QUALITY = 70
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
            "uri": data_uri(contest.test_set.image_path(one.image)),
        }
        for one in found.worst
    ]


def _boxes(
    found: Explanation, one: ImageErrors, names: Mapping[int, str]
) -> Iterator[dict[str, Any]]:
    """Yield the boxes of an image: the objects found, the objects missed, and the false detections."""
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
    false = one.detections[found.analysis.found.outcome[one.detections] >= 0]
    for index in false[:MOST_DRAWN].tolist():
        label = f"{names[int(sent.category[index])]} {sent.confidence[index]:.2f}"
        yield _box("wrong", sent.boxes[index], label)


def _box(kind: str, corners: NDArray[np.float64], label: str) -> dict[str, Any]:
    xmin, ymin, xmax, ymax = np.clip(corners, -1e5, 1e5).tolist()
    size = {"width": xmax - xmin + 1, "height": ymax - ymin + 1}
    return {"kind": kind, "x": xmin, "y": ymin, "label": label, **size}


def data_uri(path: Path, width: int = WIDTH, quality: int = QUALITY) -> str | None:
    """Return the image, at most `width` wide, as a data: URI; None if the file is missing or not an image."""
    try:
        with Image.open(path) as image:
            image.draft("RGB", (width, width))  # decodes a JPEG at reduced size
            small = image.convert("RGB")
        small.thumbnail((width, width * 4))
        packed = io.BytesIO()
        small.save(packed, "JPEG", quality=quality)
    except (
        OSError,
        ValueError,
        SyntaxError,
        Image.DecompressionBombError,
    ):  # a bad PNG raises SyntaxError
        return None
    return f"data:image/jpeg;base64,{base64.b64encode(packed.getvalue()).decode()}"
