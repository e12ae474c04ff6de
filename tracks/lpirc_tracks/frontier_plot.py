"""Draws accuracy over latency: models as points, a frontier as a curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from lpirc_score.files.plots import (
    drawn,
    note_in_middle,
    printable,
    require_drawable,
    write_drawing,
)
from lpirc_tracks.track import Aim

SUFFIXES = (".png", ".svg")
_CURVE_POINTS = 200
_MOST_LABELS = 60  # more would hide the points
_MARKER_PT = 2.5  # half the side of the box around a point
_APART_PT = (4.0, 3.0)
_BETWEEN_ROWS_PT = 0.5
_ROWS = 8

Expected = Callable[[float], float | None]
"""Maps a latency in ms to the accuracy in percent that a track expects (`accuracy_at`), or None if undefined."""


@dataclass(frozen=True)
class PlotPoint:
    """A model: mean latency in ms, above 0, and accuracy in percent. A point that is not valid is drawn hollow."""

    label: str
    latency_ms: float
    accuracy_percent: float
    is_valid: bool = True

    @property
    def place(self) -> tuple[float, float]:
        """The position at which the point is drawn."""
        return self.latency_ms, self.accuracy_percent


def check_plot_path(path: Path) -> None:
    """Raise `RefereeError` `bad-plot-file` unless the path ends in one of SUFFIXES and can be written."""
    require_drawable(path, SUFFIXES, "bad-plot-file")


@dataclass(frozen=True)
class Plot:
    """A drawing of accuracy (percent) over latency (ms), with labels and a mark at `aim`."""

    points: Sequence[PlotPoint]
    frontier: Expected | None = None
    aim: Aim | None = None
    title: str = ""

    def write(self, path: Path) -> None:
        """Write a .png or .svg. Raises `RefereeError` `bad-plot-file`, `plot-not-written`, `no-matplotlib`."""
        check_plot_path(path)
        write_drawing(path, self.drawn(path.suffix.lower().removeprefix(".")), "plot")

    def drawn(self, form: str) -> bytes:
        """Return the bytes of a "png" or an "svg"; equal points give equal bytes.

        Raises `RefereeError` `no-matplotlib`.
        """
        return drawn(form, self._draw)

    def _draw(self, figure: Any) -> None:
        axes = figure.add_subplot(xlabel="mean latency, ms", ylabel="accuracy, %")
        axes.set_title(printable(self.title), parse_math=False)
        for is_valid, face, label in (
            (True, "tab:blue", "models"),
            (False, "none", "not valid"),
        ):
            places = [
                point.place for point in self.points if point.is_valid is is_valid
            ]
            if places:
                style = {
                    "s": 25,
                    "facecolors": face,
                    "edgecolors": "tab:blue",
                    "zorder": 3,
                }
                axes.scatter(*zip(*places, strict=True), label=label, **style)
        curve = self._curve()
        if any(not math.isnan(accuracy) for _, accuracy in curve):
            axes.plot(
                *zip(*curve, strict=True),
                color="tab:orange",
                linewidth=1.2,
                label="frontier",
            )
        if self.aim is not None:
            label = f"{self.aim.what} {self.aim.latency_ms:g} ms"
            axes.axvline(
                self.aim.latency_ms,
                color="0.6",
                linestyle=":",
                linewidth=1,
                label=label,
            )
        axes.grid(alpha=0.3)
        if not self.points:
            axes.set_ylim(0, 100)
            note_in_middle(axes, "no models yet", backgroundcolor="white")
        labels = [printable(point.label) for point in self.points]
        place_labels(
            axes, [point.place for point in self.points], labels[:_MOST_LABELS]
        )
        if axes.get_legend_handles_labels()[1]:
            axes.legend(fontsize="small", loc="best")

    def _curve(self) -> list[tuple[float, float]]:
        """Return the points (ms, percent) of the frontier.

        A value outside 0..100 % is NaN, which interrupts the curve.
        """
        latencies = [point.latency_ms for point in self.points] + (
            [self.aim.latency_ms] if self.aim else []
        )
        if self.frontier is None or not latencies:
            return []
        ends = 0.8 * min(latencies), 1.2 * max(latencies)
        # Dense both where a log is steep and where a rule bends its frontier.
        steps = np.union1d(
            np.geomspace(*ends, _CURVE_POINTS), np.linspace(*ends, _CURVE_POINTS)
        )
        expected = [(latency, self.frontier(latency)) for latency in steps.tolist()]
        return [
            (t, a if 0 <= a <= 100 else math.nan) for t, a in expected if a is not None
        ]


def place_labels(
    axes: Any, places: Sequence[tuple[float, float]], texts: Sequence[str]
) -> None:
    """Write texts near the first of the places (data coordinates), without covering other texts or points.

    A text that does not fit is omitted. Call this after everything that changes the limits of the axes.
    """
    from matplotlib.transforms import Bbox

    axes.figure.draw_without_rendering()  # fixes the pixels of the places
    pixels_per_pt = axes.figure.dpi / 72
    half = _MARKER_PT * pixels_per_pt
    pixels = [axes.transData.transform(place) for place in places]
    taken = [Bbox([pixel - half, pixel + half]) for pixel in pixels]
    for text, place, (x, y) in zip(texts, places, pixels, strict=False):
        if not text.strip():
            continue
        # Draw a team's name literally, even with dollar signs.
        label = axes.annotate(
            text,
            place,
            (0, 0),
            textcoords="offset points",
            va="bottom",
            fontsize="x-small",
            parse_math=False,
        )
        label.set_in_layout(False)  # the layout must not change any more
        size = label.get_window_extent().size / pixels_per_pt
        for offset in _offsets(*size):
            corner = (x + offset[0] * pixels_per_pt, y + offset[1] * pixels_per_pt)
            box = Bbox.from_bounds(*corner, *(size * pixels_per_pt))
            is_inside = (
                axes.bbox.x0 <= box.x0
                and axes.bbox.y0 <= box.y0
                and (box.max <= axes.bbox.max).all()
            )
            if is_inside and not box.count_overlaps(taken):
                label.xyann = offset
                taken.append(box)
                break
        else:
            label.remove()


def _offsets(width_pt: float, height_pt: float) -> Iterator[tuple[float, float]]:
    """Yield offsets from a point to the lower left corner of its text, nearest rows first.

    Each row has the offsets right and left of the point, above and below it.
    """
    right, up = _APART_PT
    for row in range(_ROWS):
        away = up + row * (height_pt + _BETWEEN_ROWS_PT)
        above = away
        below = -away - height_pt
        yield from product((right, -right - width_pt), (above, below))
