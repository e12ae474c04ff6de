"""The charts of a report, as SVG elements: power over time, precision-recall curves, stop regret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from referee.files.plots import inline_svg, note_in_middle, printable
from referee.judging.course import Course, Phase
from referee.judging.regret import StopRegret
from referee.scoring import CocoCurve, Curve

Floats = NDArray[np.float64]
MOST_READINGS = 2000
MOST_POINTS = 1000
MOST_POINTS_OF_ALL = 20_000  # of all curves of one chart
MOST_MARKED = 400  # POSTs, each a line
BLUE, BROWN, GREEN = "#0b5394", "#a04000", "#2e6b1e"
LONGEST_NAME = 30
STYLES = ("-", "--", ":", "-.")


def power_chart(course: Course) -> str:
    """Power over time, and under it the images served and the POSTs on the same clock."""

    def draw(figure: Any) -> None:
        power, events = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        times, powers = envelope(course.reading_s, course.power_w, MOST_READINGS)
        power.plot(times, powers, color=BLUE, linewidth=1)
        power.set(ylabel="power, W", xlim=(0, max(course.elapsed_s, 1e-3)))
        power.set_ylim(bottom=min(0.0, powers.min(initial=0.0)))
        if not len(times):
            note_in_middle(power, "no readings")
        _shade(power, course)
        count = np.arange(len(course.served_s) + 2)
        count[-1] = len(course.served_s)
        served_s = np.concatenate([[0.0], course.served_s, [course.elapsed_s]])
        events.step(*thinned(served_s, count, MOST_POINTS), where="post", color=BROWN, linewidth=1.2)
        marked, _ = thinned(course.posts_s, course.posts_s, MOST_MARKED)
        events.vlines(marked, 0, 0.25, transform=events.get_xaxis_transform(), color=GREEN, linewidth=0.8)
        events.set(xlabel="seconds since the start of the window", ylabel="images served")
        events.set_ylim(bottom=0)
        events.set_title("upright lines: POSTs", fontsize="medium", loc="right", color=GREEN)
        for axes in (power, events):
            axes.grid(alpha=0.3)

    return inline_svg("Power over time with the images served and the POSTs", draw, (9, 4.6))


def _shade(axes: Any, course: Course) -> None:
    """Grey where the board waited or was idle, with the word where there is space for it."""
    ends = [at_s for at_s, _ in course.changes[1:]] + [course.elapsed_s]
    for (start_s, phase), end_s in zip(course.changes, ends, strict=True):
        if phase in (Phase.WAITING, Phase.IDLE) and end_s > start_s:
            axes.axvspan(start_s, end_s, color="0.9", zorder=0)
            if end_s - start_s > 0.08 * course.elapsed_s:
                middle = (start_s + end_s) / 2
                axes.text(middle, 0.04, phase, transform=axes.get_xaxis_transform(), ha="center", color="0.3")


def curves_chart(curves: Mapping[int, Curve | CocoCurve], label: str, names: Mapping[int, str]) -> str:
    """Precision by recall: those of `names` are named in a legend, the others are thin grey lines."""
    most = min(MOST_POINTS, max(MOST_POINTS_OF_ALL // max(len(curves), 1), 20))

    def draw(figure: Any) -> None:
        axes = figure.add_subplot(xlim=(0, 1), ylim=(0, 1.02), xlabel="recall", ylabel="precision")
        for category in sorted(curves.keys() - names.keys()):
            axes.plot(*thinned(*_points(curves[category]), most), color="0.45", linewidth=0.6, alpha=0.7)
        lines = []
        for place, category in enumerate(names):
            points = thinned(*_points(curves[category]), most)
            style = STYLES[place % len(STYLES)]
            lines += axes.plot(*points, style, linewidth=1.5, marker="." if len(points[0]) < 2 else "")
        axes.grid(alpha=0.3)
        if not any(np.any(_points(curve)[1]) for curve in curves.values()):
            note_in_middle(axes, "no detection found an object")
        if lines:
            legend = axes.legend(lines, [" "] * len(lines), loc="upper left", bbox_to_anchor=(1.01, 1))
            for text, name in zip(legend.get_texts(), names.values(), strict=True):
                text.set_parse_math(False)  # names are drawn as they are, even with dollar signs
                text.set_text(printable(name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]} ..."))

    return inline_svg(label, draw, (9, 4))


def _points(curve: Curve | CocoCurve) -> tuple[Floats, Floats]:
    if isinstance(curve, CocoCurve):
        return curve.recall, curve.precision_50
    return (curve.recall, curve.precision) if len(curve.recall) else (np.zeros(1), np.zeros(1))


def thinned(x: Floats, y: Any, most: int) -> tuple[Floats, Any]:
    """At most so many of the points, evenly chosen, with the first and the last."""
    if len(x) <= most:
        return x, y
    kept = np.linspace(0, len(x) - 1, most).astype(np.int64)
    return x[kept], y[kept]


def envelope(x: Floats, y: Floats, most: int) -> tuple[Floats, Floats]:
    """At most so many of the points: of each stretch its lowest and its highest, so that no peak is lost."""
    if len(x) <= most:
        return x, y
    kept: list[int] = []
    for part in np.array_split(np.arange(len(x)), most // 2):
        kept += sorted({int(part[y[part].argmin()]), int(part[y[part].argmax()])})
    return x[kept], y[kept]


def regret_chart(regret: StopRegret) -> str:
    """The score of a log-out at each moment."""
    best_s = regret.elapsed_s[regret.best]

    def draw(figure: Any) -> None:
        axes = figure.add_subplot(xlabel="log-out, seconds since the start", ylabel="score, mAP/Wh")
        axes.plot(regret.elapsed_s, regret.score, color=BLUE, marker=".", markersize=4, linewidth=1.2)
        axes.axvline(best_s, color=BROWN, linestyle="--")
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        is_late = 2 * best_s > regret.elapsed_s[-1]
        place = {"xytext": (-4 if is_late else 4, 0), "ha": "right" if is_late else "left"}
        where = axes.get_xaxis_transform()
        axes.annotate(
            "best", (best_s, 0.03), xycoords=where, textcoords="offset points", color=BROWN, **place
        )
        axes.grid(alpha=0.3)

    return inline_svg("Score by the moment of the log-out", draw, (9, 3.2))
