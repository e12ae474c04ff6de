"""Detections as columns: the input of the scorer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Detections:
    """Detections of one submission, as parallel numpy columns in order of arrival.

    `image` and `category` (M,) int64 ids; `confidence` (M,) float64; `boxes` (M, 4) float64 xmin, ymin, xmax,
    ymax in inclusive pixels; `coco_boxes` (M, 4) float64 x, y, w, h untouched, None where the source has corners.
    """

    image: NDArray[np.int64]
    category: NDArray[np.int64]
    confidence: NDArray[np.float64]
    boxes: NDArray[np.float64]
    coco_boxes: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.image)

    @classmethod
    def from_rows(cls, rows: NDArray[np.float64]) -> Detections:
        """Take rows (M, 7) apart: image, category, confidence, xmin, ymin, xmax, ymax."""
        return cls(
            image=rows[:, 0].astype(np.int64),
            category=rows[:, 1].astype(np.int64),
            confidence=np.ascontiguousarray(rows[:, 2]),
            boxes=np.ascontiguousarray(rows[:, 3:7]),
        )
