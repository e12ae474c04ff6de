"""What fill an object has: plain, or striped, checked, dotted between full and half brightness."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FILLS = ("plain", "striped", "checked", "dotted")
DARK = 0.72  # of the bright parts' brightness: between half and full
FEW_DARK, HALF_DARK = (
    0.1,
    0.39,
)  # shares of dark pixels: below plain, between dotted, above striped or checked
STEPS = (2, 3, 4)  # pixels, along a diagonal stripe
STRIPED = 0.8


def fill_of(brightness: NDArray[np.uint8], mask: NDArray[np.bool_]) -> str:
    """Return which of FILLS the object under `mask` has; both arrays (height, width)."""
    bright = np.percentile(brightness[mask], 85)
    dark = brightness < DARK * bright
    share = float(dark[mask].mean())
    if share < FEW_DARK:
        return "plain"
    if share < HALF_DARK:
        return "dotted"
    return "striped" if _agreement(dark, mask) > STRIPED else "checked"


def _agreement(dark: NDArray[np.bool_], mask: NDArray[np.bool_]) -> float:
    """Return how often a pixel is as dark as its neighbours up and to the right, some steps away."""
    same, all_pairs = 0, 1
    for step in STEPS:
        both = mask[step:, :-step] & mask[:-step, step:]
        same += int(np.count_nonzero(both & (dark[step:, :-step] == dark[:-step, step:])))
        all_pairs += int(np.count_nonzero(both))
    return same / all_pairs
