"""The chart of a run over time, as an SVG element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_score.files.plots import inline_svg, note_in_middle
from referee.judging.power_steps import PowerStep
from referee.judging.run_course import Course
from referee.judging.stop_regret import StopRegret
from referee.judging.unread_time import Pause

Floats = NDArray[np.float64]
MOST_READINGS = 2000
MOST_SERVED = 1000
MOST_POSTS = 400
BLUE = "#0b5394"
BROWN = "#a04000"
GREEN = "#2e6b1e"


def time_chart(
    course: Course,
    regret: StopRegret | None,
    steps: Sequence[PowerStep] = (),
    pauses: Sequence[Pause] = (),
) -> str:
    """Draw power and its steps, served images, POSTs, and the score of a log-out at each moment, on one time axis."""

    def draw(figure: Any) -> None:
        power, served, *more = figure.subplots(2 + bool(regret), 1, sharex=True)
        times, powers = envelope(course.reading_s, course.power_w, MOST_READINGS)
        power.plot(
            *_broken(times, powers, pauses), color=BLUE, linewidth=0.8, alpha=0.55
        )
        _draw_steps(power, steps)
        power.set(ylabel="power, W", xlim=(0, max(course.elapsed_s, 1e-3)))
        power.set_ylim(bottom=min(0.0, powers.min(initial=0.0)))
        if not len(times):
            note_in_middle(power, "no readings")
        at = np.unique(
            np.linspace(0, len(course.served_s), MOST_SERVED).astype(np.int64)
        )
        served_s = np.concatenate([[0.0], course.served_s, [course.elapsed_s]])
        served.step(
            served_s[[*at, -1]], [*at, at[-1]], where="post", color=BROWN, linewidth=1.2
        )
        posts_s = course.posts_s[:: 1 + len(course.posts_s) // MOST_POSTS]
        served.vlines(
            posts_s,
            0,
            0.25,
            transform=served.get_xaxis_transform(),
            color=GREEN,
            linewidth=0.8,
        )
        served.set_ylabel("images served")
        served.set_ylim(bottom=0)
        served.set_title(
            "upright lines: POSTs", fontsize="medium", loc="right", color=GREEN
        )
        if regret:
            (score,) = more
            _draw_regret(score, regret)
        figure.axes[-1].set_xlabel("seconds since the start of the window")
        for axes in figure.axes:
            axes.grid(alpha=0.3)

    return inline_svg(
        "Power, images served and POSTs over time", draw, (9, 6.4 if regret else 4.6)
    )


def _draw_steps(axes: Any, steps: Sequence[PowerStep]) -> None:
    """Draw the power as steps."""
    if not steps:
        return
    times_s: list[float] = []
    levels: list[float] = []
    for one in steps:
        if times_s and times_s[-1] != one.start_s:
            times_s.append(one.start_s)
            levels.append(math.nan)  # the meter was not read
        times_s += [one.start_s, one.end_s]
        levels += [one.power_w, one.power_w]
    axes.plot(times_s, levels, color=BROWN, linewidth=1.6)
    axes.set_title(
        "thick line: the same power in few steps",
        fontsize="medium",
        loc="right",
        color=BROWN,
    )


def _draw_regret(axes: Any, regret: StopRegret) -> None:
    """Draw the smoothed ratio of a log-out at each moment with its band, and the best time if there is an earlier one.

    Dots are the moments as they were.
    """
    band = regret.band
    has_band = ~np.isnan(band.ratio)
    when_s = regret.elapsed_s[has_band]
    axes.fill_between(
        when_s,
        band.low[has_band],
        band.high[has_band],
        color=BLUE,
        alpha=0.2,
        linewidth=0,
    )
    axes.plot(when_s, band.ratio[has_band], color=BLUE, linewidth=1.4)
    if regret.score[-1] > 0:
        own = regret.score[has_band] / regret.score[-1]
        axes.plot(when_s, own, ".", color=BLUE, markersize=3, alpha=0.6)
    axes.axhline(1.0, color="#555555", linewidth=0.8)
    title = "line: smoothed, with its 95% band; dots: as it was"
    if regret.is_earlier:
        axes.axvline(regret.elapsed_s[regret.best], color=BROWN, linestyle="--")
        title += "; dashed: the best time"
    axes.set_ylabel("times the score")
    axes.set_ylim(0, max(1.2, 1.1 * float(np.nanmax(band.ratio))))
    axes.set_title(title, fontsize="medium", loc="right", color=BLUE)


def _broken(
    times_s: Floats,
    powers: Floats,
    pauses: Sequence[Pause],
) -> tuple[Floats, Floats]:
    """Return the points with a break of the line in each pause."""
    breaks_s = [(one.start_s + one.end_s) / 2 for one in pauses]
    places = np.searchsorted(times_s, breaks_s)
    return np.insert(times_s, places, breaks_s), np.insert(powers, places, math.nan)


def envelope(x: Floats, y: Floats, most: int) -> tuple[Floats, Floats]:
    """Return at most `most` of the points: the lowest and the highest of each section, so that no peak is lost."""
    if len(x) <= most:
        return x, y
    kept: list[int] = []
    for part in np.array_split(np.arange(len(x)), most // 2):
        kept += sorted({int(part[y[part].argmin()]), int(part[y[part].argmax()])})
    return x[kept], y[kept]
