"""Labels beside the points of a drawing, none of them over another one or over a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

_MARKER_PT = 2.5  # half the side of a point's own box
_APART_PT = (4.0, 3.0)
_BETWEEN_ROWS_PT = 0.5
_ROWS = 8


def place_labels(axes: Any, places: Sequence[tuple[float, float]], texts: Sequence[str]) -> None:
    """Write the texts near the first of the places, in data coordinates; one for which there is no room is left out.

    Everything that moves the limits of the axes must have been drawn.
    """
    from matplotlib.transforms import Bbox

    axes.figure.draw_without_rendering()  # only then is it settled which pixel a place is
    pixels_per_pt = axes.figure.dpi / 72
    half = _MARKER_PT * pixels_per_pt
    pixels = [axes.transData.transform(place) for place in places]
    taken = [Bbox([pixel - half, pixel + half]) for pixel in pixels]
    for text, place, (x, y) in zip(texts, places, pixels, strict=False):
        if not text.strip():
            continue
        # A team's name is text, also where it holds a dollar sign.
        label = axes.annotate(
            text,
            place,
            (0, 0),
            textcoords="offset points",
            va="bottom",
            fontsize="x-small",
            parse_math=False,
        )
        label.set_in_layout(False)  # what is settled stays so
        size = label.get_window_extent().size / pixels_per_pt
        for offset in _offsets(*size):
            corner = (x + offset[0] * pixels_per_pt, y + offset[1] * pixels_per_pt)
            box = Bbox.from_bounds(*corner, *(size * pixels_per_pt))
            if _holds(axes.bbox, box) and not box.count_overlaps(taken):
                label.xyann = offset
                taken.append(box)
                break
        else:
            label.remove()


def _offsets(width_pt: float, height_pt: float) -> Iterator[tuple[float, float]]:
    """Where a text's lower left corner may lie from its point, nearest rows first: right and left, above and below."""
    right, up = _APART_PT
    for row in range(_ROWS):
        away = up + row * (height_pt + _BETWEEN_ROWS_PT)
        above, below = away, -away - height_pt
        yield from product((right, -right - width_pt), (above, below))


def _holds(frame: Any, box: Any) -> bool:
    return bool(frame.x0 <= box.x0 and frame.y0 <= box.y0 and box.x1 <= frame.x1 and box.y1 <= frame.y1)
