"""Finds connected regions of one class in a map of classes, by runs of equal pixels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Region:
    """Connected pixels of one class: their box in inclusive pixels, `mask` (height, width) in it."""

    value: int
    xmin: int
    ymin: int
    xmax: int
    ymax: int
    mask: NDArray[np.bool_]


def regions(classes: NDArray[np.uint8], smallest: int) -> Iterator[Region]:
    """Yield the regions of at least `smallest` pixels in a map (height, width) of classes, except those of class 0."""
    rows, starts, ends = _runs(classes)
    values = classes[rows, starts]
    roots = _roots(
        rows,
        starts,
        ends,
        values,
        classes.shape[1],
    )
    _, region_of_run = np.unique(roots, return_inverse=True)
    sizes = np.bincount(region_of_run, weights=ends - starts)
    order = np.argsort(region_of_run, kind="stable")
    ends_of_regions = np.cumsum(np.bincount(region_of_run))
    bounds = np.concatenate(([0], ends_of_regions))
    for region in np.flatnonzero(sizes >= smallest):
        low = bounds[region]
        high = bounds[region + 1]
        runs = order[low:high]
        yield _region(int(values[runs[0]]), rows[runs], starts[runs], ends[runs])


def _runs(classes: NDArray[np.uint8]) -> tuple[Ints, Ints, Ints]:
    """Return row, first and past-the-last column of every run of one class except 0, in reading order."""
    height, width = classes.shape
    is_start = np.ones((height, width + 1), dtype=np.bool_)
    is_start[:, 1:width] = classes[:, 1:] != classes[:, :-1]
    rows, columns = np.nonzero(is_start)
    # The column past the last only closes a row's last run.
    in_row = columns[:-1] < width
    rows = rows[:-1][in_row]
    starts = columns[:-1][in_row]
    ends = columns[1:][in_row]
    kept = classes[rows, starts] != 0
    return rows[kept], starts[kept], ends[kept]


def _roots(
    rows: Ints,
    starts: Ints,
    ends: Ints,
    values: NDArray[np.uint8],
    width: int,
) -> Ints:
    """Return for each run the lowest index of a run that it is connected with."""
    above, below = _touching(rows, starts, ends, width + 1)
    same = values[above] == values[below]
    above = above[same]
    below = below[same]
    roots = np.arange(len(rows))
    while True:
        low = np.minimum(roots[above], roots[below])
        lower = roots.copy()
        np.minimum.at(lower, roots[above], low)
        np.minimum.at(lower, roots[below], low)
        lower = lower[lower]
        if np.array_equal(lower, roots):
            return roots
        roots = lower


def _touching(
    rows: Ints,
    starts: Ints,
    ends: Ints,
    stride: int,
) -> tuple[Ints, Ints]:
    """Return the pairs (run, run in the row below it) that share a column."""
    begin = rows * stride
    begin_below = (rows + 1) * stride
    first = np.searchsorted(begin + ends, begin_below + starts, side="right")
    last = np.searchsorted(begin + starts, begin_below + ends, side="left")
    counts = np.maximum(last - first, 0)
    above = np.repeat(np.arange(len(rows)), counts)
    before = np.cumsum(counts) - counts
    offsets = np.arange(len(above)) - np.repeat(before, counts)
    return above, np.repeat(first, counts) + offsets


def _region(
    value: int,
    rows: Ints,
    starts: Ints,
    ends: Ints,
) -> Region:
    ymin = int(rows[0])
    xmin = int(starts.min())
    xmax = int(ends.max()) - 1
    ymax = int(rows[-1])
    mask = np.zeros((ymax - ymin + 1, xmax - xmin + 1), dtype=np.bool_)
    for row, start, end in zip(rows - ymin, starts - xmin, ends - xmin):
        mask[row, start:end] = True
    return Region(
        value,
        xmin,
        ymin,
        xmax,
        ymax,
        mask,
    )
