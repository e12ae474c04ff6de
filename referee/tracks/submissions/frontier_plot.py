"""Accuracy over latency as a drawing: models as points, a frontier as a curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from referee.errors import RefereeError
from referee.files.atomic_write import write_whole
from referee.files.plots import drawn, printable, require_drawing_place
from referee.tracks import Aim
from referee.tracks.submissions.plot_labels import place_labels

SUFFIXES = (".png", ".svg")
_CURVE_POINTS = 200
_MOST_LABELS = 60  # more would hide the points


@dataclass(frozen=True)
class PlotPoint:
    """A model: mean latency in ms, above 0, accuracy in percent; one that is not valid is drawn hollow."""

    label: str
    latency_ms: float
    accuracy_percent: float
    is_valid: bool = True


def check_plot_path(path: Path) -> None:
    """Raise `RefereeError` `bad-plot-file` unless the name tells a form and a file can be written there."""
    require_drawing_place(path, SUFFIXES, "bad-plot-file")


def write_plot(
    path: Path,
    points: Sequence[PlotPoint],
    frontier: Callable[[float], float | None] | None = None,
    aim: Aim | None = None,
    title: str = "",
) -> None:
    """Write the drawing of `plot` to a .png or .svg.

    Raises `RefereeError` `bad-plot-file`, `plot-not-written`, `no-matplotlib`.
    """
    check_plot_path(path)
    drawing = plot(path.suffix.lower().removeprefix("."), points, frontier, aim, title)
    try:
        write_whole(path, drawing)
    except OSError as error:
        sentence = f"{path}: the plot cannot be written: {error.strerror or error}"
        raise RefereeError("plot-not-written", sentence, file=str(path)) from error


def plot(
    form: str,
    points: Sequence[PlotPoint],
    frontier: Callable[[float], float | None] | None = None,
    aim: Aim | None = None,
    title: str = "",
) -> bytes:
    """Draw accuracy (percent) over latency (ms) with labels, as the bytes of a "png" or an "svg".

    `frontier` gives the expected accuracy at a latency (a track's `accuracy_at`), None where there is none;
    `aim` is marked. The same points give the same bytes. Raises `RefereeError` `no-matplotlib`.
    """
    return drawn(form, lambda figure: _draw(figure, points, frontier, aim, title))


def _draw(
    figure: Any,
    points: Sequence[PlotPoint],
    frontier: Callable[[float], float | None] | None,
    aim: Aim | None,
    title: str,
) -> None:
    axes = figure.add_subplot(xlabel="mean latency, ms", ylabel="accuracy, %")
    axes.set_title(printable(title), parse_math=False)
    for is_valid in (True, False):
        _draw_points(axes, [point for point in points if point.is_valid is is_valid], is_valid)
    if frontier is not None:
        _draw_frontier(axes, points, frontier, aim)
    if aim is not None:
        label = f"{aim.what} {aim.latency_ms:g} ms"
        axes.axvline(aim.latency_ms, color="0.6", linestyle=":", linewidth=1, label=label)
    axes.grid(alpha=0.3)
    if not points:
        axes.set_ylim(0, 100)
        at_centre = {"transform": axes.transAxes, "ha": "center", "backgroundcolor": "white"}
        axes.text(0.5, 0.5, "no models yet", color="0.4", **at_centre)
    places = [(point.latency_ms, point.accuracy_percent) for point in points]
    place_labels(axes, places, [printable(point.label) for point in points][:_MOST_LABELS])
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize="small", loc="best")


def _draw_points(axes: Any, points: Sequence[PlotPoint], is_valid: bool) -> None:
    if not points:
        return
    places = [(point.latency_ms, point.accuracy_percent) for point in points]
    face = "tab:blue" if is_valid else "none"
    name = "models" if is_valid else "not valid"
    axes.scatter(
        *zip(*places, strict=True), s=25, facecolors=face, edgecolors="tab:blue", label=name, zorder=3
    )


def _draw_frontier(
    axes: Any,
    points: Sequence[PlotPoint],
    frontier: Callable[[float], float | None],
    aim: Aim | None,
) -> None:
    latencies = [point.latency_ms for point in points] + ([] if aim is None else [aim.latency_ms])
    if not latencies:
        return
    ends = 0.8 * min(latencies), 1.2 * max(latencies)
    # Close together where a log is steep, and where a rule bends its frontier.
    steps = np.union1d(np.geomspace(*ends, _CURVE_POINTS), np.linspace(*ends, _CURVE_POINTS))
    curve = [
        (
            float(latency),
            accuracy if 0 <= accuracy <= 100 else math.nan,
        )  # the curve breaks: no accuracy lies there
        for latency in steps
        if (accuracy := frontier(float(latency))) is not None
    ]
    if any(not math.isnan(accuracy) for _, accuracy in curve):
        axes.plot(*zip(*curve, strict=True), color="tab:orange", linewidth=1.2, label="frontier")
