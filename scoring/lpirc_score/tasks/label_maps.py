"""A label map: for each pixel of an image the id of a category. It is kept as PNG and unpacked when it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lpirc_score.tasks.label_png import Labels, read_label_png
from lpirc_testsets.task_truth import VOID

__all__ = ["NO_CLASS", "VOID", "LabelMap", "TrueLabels", "places_of", "value_problem"]

Ints = NDArray[np.int64]
TrueLabels = NDArray[np.int32]
"""The true label map of an image (height, width): a category id, or VOID where nothing counts."""

NO_CLASS = 0
"""The value of pixels without a category, if it is not the id of one."""

_VALUES = 1 << 16
_LISTED = 5


class LabelMap(NamedTuple):
    """The PNG of a label map whose size is that of its image. A run has hundreds, so each is unpacked when used."""

    png: bytes
    width: int
    height: int

    def labels(self) -> Labels:
        """Return the values (height, width). Raises ValueError with a clause for a PNG that is no such label map."""
        return read_label_png(self.png, self.width, self.height)


def value_problem(labels: Labels, category_ids: Ints) -> str:
    """Return which value is no category id, with its number of pixels and the first one, or an empty text."""
    counts = np.bincount(labels.ravel())
    found = np.flatnonzero(counts)
    wrong = np.setdiff1d(found, [NO_CLASS, *category_ids.tolist()])
    if not len(wrong):
        return ""
    value = int(wrong[0])
    y, x = divmod(int((labels == value).argmax()), labels.shape[1])
    count = int(counts[value])
    pixels = "1 pixel has" if count == 1 else f"{count:,} pixels have"
    others = [str(one) for one in wrong[1 : 1 + _LISTED].tolist()]
    more = f"; nor are {', '.join(others)}" if others else ""
    return f"{pixels} the value {value} (the first at x {x}, y {y}), which is no category id{more}"


def places_of(labels: Labels | TrueLabels, category_ids: Sequence[int]) -> Ints:
    """Return for each pixel (height, width) the index of its category, or the number of categories for no category."""
    none = len(category_ids)
    table = np.full(_VALUES + 1, none)
    table[[*category_ids]] = np.arange(none)
    table[VOID] = none  # the last one, which is no value of a PNG
    return table.take(labels)
