"""Shows a label map beside the truth of its image: right, wrong and missed pixels as colours to lie over it."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from lpirc_score.tasks.label_maps import NO_CLASS, VOID, LabelMap, TrueLabels
from lpirc_score.tasks.task_kinds import Shown

# Red, green, blue and opacity; told apart also by people who do not see red and green.
CLEAR = (0, 0, 0, 0)
RIGHT = (0, 158, 115, 90)
WRONG = (213, 94, 0, 190)
MISSED = (0, 114, 178, 190)


def shown_beside(truth: TrueLabels, given: LabelMap | None) -> Shown:
    """Return the shares of the pixels that are right, wrong and missed, and where they are as PNG.

    A pixel is missed if its value is NO_CLASS and the true one is not.
    """
    kind = np.zeros(truth.shape, np.uint8)
    counts = truth != VOID
    kind[counts] = 3
    if given is not None:
        labels = given.labels()
        kind[counts & (labels != NO_CLASS)] = 2
        kind[counts & (labels == truth)] = 1
    colours = np.array([CLEAR, RIGHT, WRONG, MISSED], np.uint8)
    out = io.BytesIO()
    Image.fromarray(colours[kind]).save(out, "PNG", compress_level=1)
    by_kind = np.bincount(kind.ravel(), minlength=4).tolist()
    return Shown(_sentence(given is not None, *by_kind), out.getvalue())


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
        f"Of {pixels:,} pixels {right / pixels:.1%} are right, {wrong / pixels:.1%} have a wrong category, "
        f"{missed / pixels:.1%} wrongly have 0{left_out}."
    )
