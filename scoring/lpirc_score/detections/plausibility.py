"""Finds valid rows that look like a mistake: fractions for pixels, confidences outside 0..1, boxes off the image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets import TestSet

IMAGE = 0
CONFIDENCE = 2
RANKED = "these confidences are used unchanged to rank the detections."
SIGNS = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
ABOVE_1 = float(np.nextafter(1, 2))


@dataclass(frozen=True)
class Implausible:
    """Counts of implausible rows: all coordinates in 0..1, confidence above 1 or below 0, box outside its image.

    `first_outside` is the image number of the first such box.
    """

    rows: int = 0
    in_unit_square: int = 0
    above_1: int = 0
    below_0: int = 0
    outside: int = 0
    first_outside: int = 0

    @property
    def sentences(self) -> list[str]:
        """Return a sentence for each kind of implausible row that the check of a judged run tells."""
        if not self.rows:
            return []
        found = []
        of_rows = f"of {self.rows}"
        if self.in_unit_square:
            found.append(
                f"{self.in_unit_square} {of_rows} boxes have all coordinates in 0..1; "
                f"send pixels, not fractions of the image."
            )
        if self.above_1:
            found.append(f"{self.above_1} {of_rows} confidences are above 1; {RANKED}")
        if self.outside:
            found.append(
                f"{self.outside} {of_rows} boxes lie wholly outside their image, the "
                f"first in image {self.first_outside}; "
                f"send xmin, ymin, xmax, ymax in its pixels."
            )
        return found

    @property
    def warnings(self) -> list[str]:
        """Return these sentences and, for who sent the rows, one about confidences below 0.

        No check has it: bundles of earlier versions verify with the checks that they have.
        """
        found = self.sentences
        if self.below_0:
            of_rows = f"{self.below_0} of {self.rows}"
            found.append(f"{of_rows} confidences are below 0; {RANKED}")
        return found


PLAUSIBLE = Implausible()


def limits_by_number(test_set: TestSet) -> NDArray[np.float64]:
    """Return the largest plausible confidence, xmin, ymin, -xmax and -ymax (N + 1, 5); row i is for image number i."""
    sizes = [(0, 0), *((one.width, one.height) for one in test_set.images)]
    return np.array(
        [(1, width, height, -ABOVE_1, -ABOVE_1) for width, height in sizes], np.float64
    )


def implausible(rows: NDArray[np.float64], limits: NDArray[np.float64]) -> Implausible:
    """Count the implausible rows among valid rows (n, 7); `limits` are by image number.

    A POST waits for this, so a plausible body takes few passes over its rows.
    """
    if not len(rows):
        return PLAUSIBLE
    images = rows[:, IMAGE].astype(np.intp)
    beyond = rows[:, 2:] * SIGNS > limits.take(images, axis=0)
    below_0 = rows[:, CONFIDENCE] < 0
    if not (beyond.any() or below_0.any()):
        return PLAUSIBLE
    xmin, ymin, xmax, ymax = rows.T[3:]
    begins_at_0 = (xmin >= 0) & (ymin >= 0)
    ends_at_1 = (xmax <= 1) & (ymax <= 1)
    outside = beyond[:, 1] | beyond[:, 2] | (xmax < 0) | (ymax < 0)
    first_outside = 0
    if outside.any():
        first_outside = int(rows[outside.argmax(), IMAGE])
    return Implausible(
        rows=len(rows),
        in_unit_square=int(np.count_nonzero(begins_at_0 & ends_at_1)),
        above_1=int(np.count_nonzero(beyond[:, 0])),
        below_0=int(np.count_nonzero(below_0)),
        outside=int(np.count_nonzero(outside)),
        first_outside=first_outside,
    )
