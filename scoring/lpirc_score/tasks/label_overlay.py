"""Shows a label map beside the truth of its image: right, wrong and missed pixels as colours to lie over it."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lpirc_score.tasks.label_maps import NO_CLASS, VOID, LabelMap, TrueLabels
from lpirc_score.tasks.task_kinds import Shown

# What a pixel is, as an index into the colours.
NOTHING = 0
HIT = 1
OFF = 2
LOST = 3

# Red, green and blue of each, and the opacities; told apart also by people who do not see red and green.
_COLOURS = ((0, 0, 0), (0, 158, 115), (213, 94, 0), (0, 114, 178))
_OPACITIES = bytes((0, 40, 230, 230))
_BITS = 2


def shown_beside(truth: TrueLabels, given: LabelMap | None) -> Shown:
    """Return the shares of the pixels that are right, wrong and missed, and where they are as PNG.

    A pixel is missed if its value is NO_CLASS and the true one is not.
    """
    kinds = np.full(truth.shape, NOTHING, np.uint8)
    counts = truth != VOID
    kinds[counts] = LOST
    if given is not None:
        labels = given.labels()
        kinds[counts & (labels != NO_CLASS)] = OFF
        kinds[counts & (labels == truth)] = HIT
    by_kind = np.bincount(kinds.ravel(), minlength=len(_COLOURS)).tolist()
    return Shown(_sentence(given is not None, *by_kind), overlay_png(kinds))


def overlay_png(kinds: NDArray[np.uint8]) -> bytes:
    """Return the PNG of pixels (height, width) of these kinds: right green, wrong orange, missed blue."""
    height, width = kinds.shape
    image = Image.frombytes("P", (width, height), kinds.tobytes())
    image.putpalette([part for colour in _COLOURS for part in colour])
    out = io.BytesIO()
    image.save(out, "PNG", bits=_BITS, transparency=_OPACITIES)
    return out.getvalue()


def _sentence(
    came: bool,
    void: int,
    right: int,
    wrong: int,
    missed: int,
) -> str:
    pixels = right + wrong + missed
    left_out = f"; {void:,} void pixels do not count" if void else ""
    if not came:
        return f"No label map came for {pixels:,} pixels{left_out}."
    if not pixels:
        return "The truth has no pixel of a category, so nothing counts."
    return (
        f"Of {pixels:,} pixels {right / pixels:.1%} are right, {wrong / pixels:.1%} have a wrong category (orange), "
        f"{missed / pixels:.1%} wrongly have 0 (blue){left_out}."
    )
