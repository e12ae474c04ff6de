"""Accuracy over latency as a drawing: models as points, a frontier as a curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from referee.files.plots import drawn, note_in_middle, printable, require_drawable, write_drawing
from referee.tracks.track import Aim

SUFFIXES = (".png", ".svg")
_CURVE_POINTS = 200
_MOST_LABELS = 60  # more would hide the points
_MARKER_PT = 2.5  # half the side of the box around a point
_APART_PT = (4.0, 3.0)
_BETWEEN_ROWS_PT = 0.5
_ROWS = 8

Expected = Callable[[float], float | None]
"""The accuracy in percent that a latency in ms is worth (a track's `accuracy_at`); None where it is undefined."""


@dataclass(frozen=True)
class PlotPoint:
    """A model: mean latency in ms, above 0, accuracy in percent; a point that is not valid is drawn hollow."""

    label: str
    latency_ms: float
    accuracy_percent: float
    is_valid: bool = True


def check_plot_path(path: Path) -> None:
    """Raise `RefereeError` `bad-plot-file` unless the path ends in one of SUFFIXES and can be written."""
    require_drawable(path, SUFFIXES, "bad-plot-file")


def write_plot(
    path: Path,
    points: Sequence[PlotPoint],
    frontier: Expected | None = None,
    aim: Aim | None = None,
    title: str = "",
) -> None:
    """Write the drawing of `plot` to a .png or .svg.

    Raises `RefereeError` `bad-plot-file`, `plot-not-written`, `no-matplotlib`.
    """
    check_plot_path(path)
    drawing = plot(path.suffix.lower().removeprefix("."), points, frontier, aim, title)
    write_drawing(path, drawing, "plot")


def plot(
    form: str,
    points: Sequence[PlotPoint],
    frontier: Expected | None = None,
    aim: Aim | None = None,
    title: str = "",
) -> bytes:
    """Draw accuracy (percent) over latency (ms) with labels, as the bytes of a "png" or an "svg".

    `aim` is marked. The same points give the same bytes. Raises `RefereeError` `no-matplotlib`.
    """
    return drawn(form, lambda figure: _draw(figure, points, frontier, aim, title))


def _draw(
    figure: Any, points: Sequence[PlotPoint], frontier: Expected | None, aim: Aim | None, title: str
) -> None:
    axes = figure.add_subplot(xlabel="mean latency, ms", ylabel="accuracy, %")
    axes.set_title(printable(title), parse_math=False)
    for is_valid, face, label in ((True, "tab:blue", "models"), (False, "none", "not valid")):
        places = [
            (point.latency_ms, point.accuracy_percent) for point in points if point.is_valid is is_valid
        ]
        if places:
            style = {"s": 25, "facecolors": face, "edgecolors": "tab:blue", "zorder": 3}
            axes.scatter(*zip(*places, strict=True), label=label, **style)
    if frontier is not None:
        _draw_frontier(axes, points, frontier, aim)
    if aim is not None:
        label = f"{aim.what} {aim.latency_ms:g} ms"
        axes.axvline(aim.latency_ms, color="0.6", linestyle=":", linewidth=1, label=label)
    axes.grid(alpha=0.3)
    if not points:
        axes.set_ylim(0, 100)
        note_in_middle(axes, "no models yet", backgroundcolor="white")
    places = [(point.latency_ms, point.accuracy_percent) for point in points]
    place_labels(axes, places, [printable(point.label) for point in points][:_MOST_LABELS])
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize="small", loc="best")


def _draw_frontier(axes: Any, points: Sequence[PlotPoint], frontier: Expected, aim: Aim | None) -> None:
    latencies = [point.latency_ms for point in points] + ([] if aim is None else [aim.latency_ms])
    if not latencies:
        return
    ends = 0.8 * min(latencies), 1.2 * max(latencies)
    # Dense both where a log is steep and where a rule bends its frontier.
    steps = np.union1d(np.geomspace(*ends, _CURVE_POINTS), np.linspace(*ends, _CURVE_POINTS))
    curve = [
        (float(latency), accuracy if 0 <= accuracy <= 100 else math.nan)  # NaN breaks the curve
        for latency in steps
        if (accuracy := frontier(float(latency))) is not None
    ]
    if any(not math.isnan(accuracy) for _, accuracy in curve):
        axes.plot(*zip(*curve, strict=True), color="tab:orange", linewidth=1.2, label="frontier")


def place_labels(axes: Any, places: Sequence[tuple[float, float]], texts: Sequence[str]) -> None:
    """Write texts near the first of the places (data coordinates), over no other text or point; omit what does not fit.

    Draw everything that changes the limits of the axes first.
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
        # Draw a team's name as it is, even with dollar signs.
        label = axes.annotate(
            text, place, (0, 0), textcoords="offset points", va="bottom", fontsize="x-small", parse_math=False
        )
        label.set_in_layout(False)  # the layout must not change any more
        size = label.get_window_extent().size / pixels_per_pt
        for offset in _offsets(*size):
            corner = (x + offset[0] * pixels_per_pt, y + offset[1] * pixels_per_pt)
            box = Bbox.from_bounds(*corner, *(size * pixels_per_pt))
            is_inside = axes.bbox.x0 <= box.x0 and axes.bbox.y0 <= box.y0 and (box.max <= axes.bbox.max).all()
            if is_inside and not box.count_overlaps(taken):
                label.xyann = offset
                taken.append(box)
                break
        else:
            label.remove()


def _offsets(width_pt: float, height_pt: float) -> Iterator[tuple[float, float]]:
    """Offsets of a text's lower left corner from its point, nearest rows first: right and left, above and below."""
    right, up = _APART_PT
    for row in range(_ROWS):
        away = up + row * (height_pt + _BETWEEN_ROWS_PT)
        above, below = away, -away - height_pt
        yield from product((right, -right - width_pt), (above, below))
