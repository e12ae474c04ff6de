"""Detections as columns: the input of the scorer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score.errors import CodedError


@dataclass(frozen=True, eq=False)
class Detections:
    """The detections of one submission, as parallel numpy columns in order of arrival.

    `image` and `category` (M,) are int64 ids, `confidence` (M,) is float64, and `boxes` (M, 4) is float64 xmin, ymin,
    xmax, ymax in inclusive pixels. `coco_boxes` (M, 4) is float64 x, y, w, h unchanged, or None if the source has
    corners.
    """

    image: NDArray[np.int64]
    category: NDArray[np.int64]
    confidence: NDArray[np.float64]
    boxes: NDArray[np.float64]
    coco_boxes: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.image)

    def of_rows(self, which: NDArray[np.bool_]) -> Detections:
        """Return the marked detections (M,), in order."""
        coco_boxes = None if self.coco_boxes is None else self.coco_boxes[which]
        return Detections(
            self.image[which],
            self.category[which],
            self.confidence[which],
            self.boxes[which],
            coco_boxes,
        )

    @classmethod
    def from_rows(cls, rows: NDArray[np.float64]) -> Detections:
        """Make columns from rows (M, 7): image, category, confidence, xmin, ymin, xmax, ymax."""
        image, category, confidence, *_ = rows.T
        return cls(
            image=image.astype(np.int64),
            category=category.astype(np.int64),
            confidence=np.ascontiguousarray(confidence),
            boxes=np.ascontiguousarray(rows[:, 3:7]),
        )


def refuse_not_finite(detections: Detections) -> None:
    """Raise `CodedError` `not-finite` unless every confidence and corner is a finite number."""
    columns = {"confidence": detections.confidence, "box": detections.boxes}
    for what, values in columns.items():
        if not np.isfinite(values).all():
            sentence = f"A {what} among the detections is not a finite number."
            raise CodedError("not-finite", sentence)
