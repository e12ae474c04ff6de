"""Objects that are listed twice: they are scored as they are, but are hardly meant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets.ground_truth import GroundTruth


def repeated_objects(truth: GroundTruth) -> str | None:
    """Return a sentence on objects that equal an earlier one of their image and category; None without any.

    Each counts as an object, as in the official programs, so a single detection finds only one of them.
    """
    ids = np.column_stack([truth.image, truth.category, truth.difficult])
    table = np.hstack([ids, truth.boxes])
    _, first = np.unique(table, axis=0, return_index=True)
    count = len(table) - len(first)
    if not count:
        return None
    is_repeated = np.ones(len(table), np.bool_)
    is_repeated[first] = False
    at = int(is_repeated.argmax())
    rows = "row repeats" if count == 1 else "rows repeat"
    return (
        f"{count} {rows} an earlier one, and each counts as an object of its own; the first is image "
        f"{truth.image[at]}, class {truth.category[at]}, box {_shown(truth.boxes[at])}."
    )


def _shown(box: NDArray[np.float64]) -> str:
    return ", ".join(f"{value:g}" for value in box.tolist())
