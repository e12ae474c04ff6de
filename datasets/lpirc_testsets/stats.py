"""Describes a test set in figures and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageDraw

from lpirc_testsets.errors import TestSetError
from lpirc_testsets.folder import TestSet
from lpirc_testsets.ground_truth import GroundTruth

FEW_OBJECTS = 10
AREAS = {"small": (0, 32**2), "medium": (32**2, 96**2), "large": (96**2, np.inf)}
"""Areas in square pixels, from the first limit to below the second, as in COCO.

Source: https://cocodataset.org/#detection-eval.
"""

CELL = (240, 180)
TITLE = 14
COLOURS = ("red", "lime", "blue", "yellow", "magenta", "cyan", "orange", "white")


def statistics(test_set: TestSet, truth: GroundTruth) -> dict[str, Any]:
    """Return a JSON-ready summary: images, objects by category, image and area, sizes, aspect ratios, warnings."""
    sizes = np.array([(one.width, one.height) for one in test_set.images], np.float64)
    per_image = np.bincount(
        np.searchsorted(truth.image_ids, truth.image), minlength=len(sizes)
    )
    boxes = truth.coco_boxes[(truth.coco_boxes[:, 2:] > 0).all(axis=1)]
    categories = [
        {
            "id": id_,
            "name": name,
            "objects": int(np.sum(of)),
            "images": len(np.unique(truth.image[of])),
        }
        for id_, name in zip(
            truth.category_ids.tolist(), truth.category_names, strict=True
        )
        for of in [truth.category == id_]
    ]
    few = [one for one in categories if one["objects"] < FEW_OBJECTS]
    return {
        "images": len(sizes),
        "images_without_objects": int(np.sum(per_image == 0)),
        "objects": len(truth.image),
        "difficult": int(truth.difficult.sum()),
        "crowds": int(truth.crowd.sum()),
        "objects_per_image": _spread(per_image),
        "width_px": _spread(sizes[:, 0]),
        "height_px": _spread(sizes[:, 1]),
        "box_aspect_ratio": _spread(boxes[:, 2] / boxes[:, 3]),
        "box_areas": {
            name: int(np.sum((truth.area >= low) & (truth.area < high)))
            for name, (low, high) in AREAS.items()
        },
        "categories": categories,
        "warnings": [
            f"category {one['name']!r} has {one['objects']} objects; below {FEW_OBJECTS}, its figure is mostly chance"
            for one in few
        ],
    }


def _spread(values: NDArray[Any]) -> dict[str, float] | None:
    if not len(values):
        return None
    least, median, most = np.quantile(values, [0, 0.5, 1]).tolist()
    return {
        "least": least,
        "median": median,
        "mean": float(np.mean(values)),
        "most": most,
    }


def contact_sheet(
    test_set: TestSet,
    truth: GroundTruth,
    numbers: list[int],
    columns: int = 6,
) -> Pillow.Image:
    """Draw the images with these numbers, their boxes and names, in a grid. Raises TestSetError `testset-damaged`."""
    names = dict(zip(truth.category_ids.tolist(), truth.category_names, strict=True))
    rows = -(-len(numbers) // columns)
    sheet = Pillow.new("RGB", (columns * CELL[0], rows * (CELL[1] + TITLE)), "black")
    for place, number in enumerate(numbers):
        small, scale = _small(test_set.image_path(number))
        draw = ImageDraw.Draw(small)
        for category, box in zip(
            *(
                column[truth.image == number].tolist()
                for column in (truth.category, truth.boxes)
            ),
            strict=True,
        ):
            colour = COLOURS[category % len(COLOURS)]
            corners = [edge * scale for edge in box]
            draw.rectangle(
                [*corners[:2], *np.maximum(corners[:2], corners[2:]).tolist()],
                outline=colour,
            )
            draw.text((corners[0] + 2, corners[1]), names[category], fill=colour)
        left = place % columns * CELL[0]
        top = place // columns * (CELL[1] + TITLE)
        sheet.paste(small, (left, top + TITLE))
        ImageDraw.Draw(sheet).text(
            (left + 2, top),
            f"{number} {test_set.images[number - 1].file}",
            fill="white",
        )
    return sheet


def _small(path: Path) -> tuple[Pillow.Image, float]:
    """Return an image scaled to fit a cell, and the scale."""
    try:
        with Pillow.open(path) as picture:
            width, height = picture.size
            scale = min(CELL[0] / width, CELL[1] / height)
            picture.draft("RGB", CELL)  # decodes no more than is seen
            size = (max(1, round(width * scale)), max(1, round(height * scale)))
            return picture.convert("RGB").resize(size), scale
    except (OSError, SyntaxError) as error:
        raise TestSetError(
            "testset-damaged", f"{path}: cannot be read: {error}"
        ) from error
