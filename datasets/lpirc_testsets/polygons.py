"""Polygons as masks, pixel for pixel as COCO's program fills them.

A polygon is a list x1, y1, x2, y2, ... in pixels; it closes itself. Vertices are rounded to fifths of a pixel, and each
edge is drawn in steps of a fifth along its longer side. Where that line crosses the centre of a column of pixels, the
pixels below it change sides. Several polygons of one object are united.

Source: https://github.com/cocodataset/cocoapi, common/maskApi.c, rleFrPoly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
SCALE = 5  # steps to a pixel


def filled(
    polygons: Sequence[Sequence[float]],
    height: int,
    width: int,
) -> NDArray[np.bool_]:
    """Return the mask (height, width) of one object's polygons, each of at least three finite vertices."""
    mask = np.zeros(width * height, np.bool_)
    for polygon in polygons:
        runs = polygon_runs(polygon, height, width)
        mask |= np.repeat(np.arange(len(runs)) % 2 == 1, runs)
    return mask.reshape(width, height).T


def polygon_runs(
    polygon: Sequence[float],
    height: int,
    width: int,
) -> Ints:
    """Return the lengths of the runs (R,) outside and inside a polygon, as `lpirc_testsets.run_lengths` has them."""
    across, down = _outline(np.array(polygon, np.float64).reshape(-1, 2))
    places, uses = np.unique(
        _crossings(across, down, height, width), return_counts=True
    )
    pixels = height * width
    turns = places[(uses % 2 == 1) & (places < pixels)]
    return np.diff(np.concatenate(([0], turns, [pixels])))


def _outline(vertices: NDArray[np.float64]) -> tuple[Ints, Ints]:
    """Return the steps along all edges as x and y in fifths of a pixel; vertices are (V, 2)."""
    points = np.trunc(vertices * SCALE + 0.5).astype(np.int64)
    ends = np.roll(points, -1, axis=0)
    longest = np.abs(ends - points).max(axis=1)
    edge = np.repeat(np.arange(len(points)), longest + 1)
    step = np.arange(len(edge)) - np.repeat(
        np.cumsum(longest + 1) - longest - 1, longest + 1
    )
    is_wide = np.abs(ends - points)[:, 0] == longest
    along, beside = _drawn(points, ends, is_wide, longest, edge, step)
    wide = is_wide[edge]
    return np.where(wide, along, beside), np.where(wide, beside, along)


def _drawn(
    points: Ints,
    ends: Ints,
    is_wide: NDArray[np.bool_],
    longest: Ints,
    edge: Ints,
    step: Ints,
) -> tuple[Ints, Ints]:
    """Return each step's place along the longer side of its edge, and beside it.

    The places beside are counted from the end with the smaller place along, whatever the direction of the edge.
    """
    rows = np.arange(len(points))
    axis = np.where(is_wide, 0, 1)
    is_back = points[rows, axis] > ends[rows, axis]
    low = np.where(is_back[:, None], ends, points)
    high = np.where(is_back[:, None], points, ends)
    rise = high[rows, 1 - axis] - low[rows, 1 - axis]
    slope = rise / np.maximum(longest, 1)
    far = np.where(is_back[edge], longest[edge] - step, step)
    along = low[rows, axis][edge] + far
    beside = low[rows, 1 - axis][edge] + slope[edge] * far + 0.5
    return along, np.trunc(beside).astype(np.int64)


def _crossings(
    across: Ints,
    down: Ints,
    height: int,
    width: int,
) -> Ints:
    """Return where the line crosses the centres of columns, as places among all pixels, column by column."""
    moved = np.flatnonzero(across[1:] != across[:-1]) + 1
    before = moved - 1
    x = np.minimum(across[moved], across[before])
    offset = (SCALE - 1) // 2  # of a column's centre
    column, rest = np.divmod(x - offset, SCALE)
    is_centre = (rest == 0) & (column >= 0) & (column < width)
    y = np.minimum(down[moved], down[before])[is_centre]
    row = np.ceil(np.clip((y + 0.5) / SCALE - 0.5, 0, height)).astype(np.int64)
    return np.asarray(column[is_centre] * height + row, np.int64)
