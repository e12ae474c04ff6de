"""Detections as columns: the input of the scorer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lpirc_score.arguments import number_of
from lpirc_score.errors import CodedError
from lpirc_score.metrics.column_checks import (
    ROW_NUMBERS,
    ids_of,
    numbers_of,
    require_rows,
    require_shapes,
)
from lpirc_testsets.ground_truth import GroundTruth
from lpirc_testsets.values import shown

CORNERS: Final = ("xmin", "ymin", "xmax", "ymax")


@dataclass(frozen=True, eq=False)
class Detections:
    """The detections of one submission, as parallel numpy columns in order of arrival.

    `image` and `category` (M,) are int64 ids, `confidence` (M,) is float64, and `boxes` (M, 4) is float64 xmin, ymin,
    xmax, ymax in inclusive pixels. `coco_boxes` (M, 4) is float64 x, y, w, h unchanged, or None if the source has
    corners. Columns of these types are taken as they are, others are converted.

    Raises `CodedError` `bad-columns` for an id that is no whole number, what is no number, and other shapes.
    """

    image: NDArray[np.int64]
    category: NDArray[np.int64]
    confidence: NDArray[np.float64]
    boxes: NDArray[np.float64]
    coco_boxes: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        for name in ("image", "category"):
            object.__setattr__(self, name, ids_of(getattr(self, name), name))
        for name in ("confidence", "boxes", "coco_boxes"):
            column = getattr(self, name)
            if column is not None:
                object.__setattr__(self, name, numbers_of(column, name))
        require_shapes(vars(self))

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
        """Make columns from rows (M, 7): image, category, confidence, xmin, ymin, xmax, ymax.

        Raises `CodedError` `bad-columns` as the columns do, and for rows of another shape.
        """
        table = numbers_of(rows, "rows")
        if not table.size:
            table = table.reshape(0, ROW_NUMBERS)
        require_rows(table)
        return cls(
            image=ids_of(table[:, 0], "image"),
            category=ids_of(table[:, 1], "category"),
            confidence=np.ascontiguousarray(table[:, 2]),
            boxes=np.ascontiguousarray(table[:, 3:7]),
        )


def refuse_not_finite(detections: Detections) -> None:
    """Raise `CodedError` `not-finite` unless every confidence and corner is a finite number."""
    columns = {("confidence",): detections.confidence, CORNERS: detections.boxes}
    for names, values in columns.items():
        is_wrong = ~np.isfinite(values)
        if is_wrong.any():
            row, column = divmod(int(is_wrong.argmax()), len(names))
            what = f"{names[column]} of row {row} of the detections"
            value = values.reshape(-1, len(names))[row, column]
            sentence = f"The {what} is {value}, not a finite number."
            raise CodedError("not-finite", sentence)


def least_confidence(given: float, detections: Detections) -> float:
    """Return the confidence from which on detections are taken.

    Raises `CodedError` `bad-argument` for what is no number, and above 1 for one that no detection has, such as a
    percentage; `not-finite` for NaN.
    """
    least = number_of(given, "confidence")
    if np.isnan(least):
        sentence = "The confidence from which on detections are taken is NaN."
        raise CodedError("not-finite", sentence)
    highest = detections.confidence.max(initial=0.0)
    if least > max(1.0, highest):
        no_more = f"{least:g} was given as least confidence, and no detection has more than {highest:g}"
        sentence = f"{no_more}; give a part of 1, such as 0.5 for 50 %."
        raise CodedError("bad-argument", sentence)
    return least


def require_columns(ground_truth: object, detections: object) -> None:
    """Raise `CodedError` `bad-argument` unless these are ground truth and detections."""
    require_truth(ground_truth)
    if not isinstance(detections, Detections):
        sentence = (
            f"The detections are {shown(detections)}, not Detections; "
            "make them with read_detections or Detections.from_rows."
        )
        raise CodedError("bad-argument", sentence)


def require_truth(ground_truth: object) -> None:
    """Raise `CodedError` `bad-argument` unless this is ground truth."""
    if isinstance(ground_truth, GroundTruth):
        return
    sentence = (
        f"The ground truth is {shown(ground_truth)}, not a GroundTruth; "
        "make one with read_truth or GroundTruth.of_corners."
    )
    raise CodedError("bad-argument", sentence)
