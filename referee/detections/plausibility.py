"""Rows that are valid and yet look like a mistake: fractions for pixels, percent for confidences, boxes elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from testsets import TestSet

IMAGE, CONFIDENCE = 0, 2


@dataclass(frozen=True)
class Implausible:
    """How many of `rows` have all coordinates in 0..1, a confidence above 1, a box wholly outside its image.

    `first_outside` is the image number of the first such box.
    """

    rows: int = 0
    in_unit_square: int = 0
    above_1: int = 0
    outside: int = 0
    first_outside: int = 0

    @property
    def sentences(self) -> list[str]:
        """One sentence for each kind that there is."""
        told = {
            f"{self.in_unit_square} of {self.rows} boxes have all coordinates in 0..1; send pixels, not "
            "fractions of the image.": self.in_unit_square,
            f"{self.above_1} of {self.rows} confidences are above 1; they count as they are, ranked by "
            "their size.": self.above_1,
            f"{self.outside} of {self.rows} boxes lie wholly outside their image, the first in image "
            f"{self.first_outside}; send xmin, ymin, xmax, ymax in its pixels.": self.outside,
        }
        return [sentence for sentence, count in told.items() if count]


PLAUSIBLE = Implausible()


def sizes_by_number(test_set: TestSet) -> NDArray[np.float64]:
    """Widths and heights (N + 1, 2) of a test set's images, in pixels, by image number from 1."""
    return np.array([(0, 0), *((one.width, one.height) for one in test_set.images)], np.float64)


def implausible(rows: NDArray[np.float64], sizes: NDArray[np.float64]) -> Implausible:
    """Count what is implausible in valid rows (n, 7); `sizes` (N + 1, 2) are widths and heights by image number.

    A POST waits for this: few passes over the rows tell that a body is plausible.
    """
    if not len(rows):
        return PLAUSIBLE
    confidence, xmin, ymin, xmax, ymax = rows.T[CONFIDENCE:]
    beyond = rows[:, 3:5] > sizes.take(rows[:, IMAGE].astype(np.intp), axis=0)
    least = np.minimum.reduce
    if np.maximum.reduce(confidence) <= 1 and least(xmax) > 1 and least(ymax) > 1 and not beyond.any():
        return PLAUSIBLE
    outside = beyond.any(axis=1) | (xmax < 0) | (ymax < 0)
    return Implausible(
        len(rows),
        int(np.count_nonzero((xmax <= 1) & (ymax <= 1) & (xmin >= 0) & (ymin >= 0))),
        int(np.count_nonzero(confidence > 1)),
        int(np.count_nonzero(outside)),
        int(rows[outside.argmax(), IMAGE]) if outside.any() else 0,
    )
