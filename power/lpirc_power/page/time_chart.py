"""A chart over time as SVG: drawn without a library, as wide as its place, its letters never scaled.

Letters and lengths across are placed in percent of the width; only the traces are stretched, in an inner SVG. Nothing
in it is a style attribute or a script, so a strict content security policy allows it. Numbers stand inside the plot:
a margin for them would take a sixth of a telephone's screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np

from lpirc_power.page.scale import Scale, duration_words, time_scale, value_scale
from lpirc_power.page.traces import (
    COLUMNS,
    Floats,
    Span,
    Trace,
    merged,
    thinned,
)

PLOT_TOP: Final = 30
"""Height above the plot, for the marks' numbers and the flags, in pixels."""
PLOT_HEIGHT: Final = 220
FLAG_HEIGHT: Final = 6
BELOW: Final = 24
"""Height below the plot, for the times."""
HEIGHT: Final = PLOT_TOP + PLOT_HEIGHT + BELOW
LEAST_PERCENT: Final = 0.25
"""Least width of a span, so that a single reading of many can be seen."""
UNITS: Final = 1000
"""Height of the inner SVG in its own units."""
WHOLE_TRACES: Final = 4
"""Traces that all have as many columns as there are; more share them, so that the page stays small."""
LEAST_COLUMNS: Final = 100
APART_PERCENT: Final = 3.5
"""Least distance of two numbers of one digit, as a part of the width of a narrow page."""
MOST_JOINED: Final = 3
"""Numbers that stand together in one text; of more, the first and the last."""
MOST_NUMBERED: Final = 40
"""Marks above which their numbers are left out; the tooltips stay."""


@dataclass(frozen=True)
class TimeChart:
    """A chart of one quantity in `unit` over time, with a `label` that says in words what it shows.

    `marks` are bands, numbered by their names in order, `pauses` times without readings, `flags` spans above the plot.
    The axis runs from `begin_s` to `end_s`.
    """

    label: str
    unit: str
    traces: Sequence[Trace]
    begin_s: float
    end_s: float
    marks: Sequence[Span] = ()
    pauses: Sequence[Span] = ()
    flags: Sequence[Span] = ()

    def svg(self, *, width: str = "100%", style: str = "") -> str:
        """Return the chart as one SVG element; `style` is a style sheet to stand in it."""
        across = time_scale(self.begin_s, self.end_s)
        columns = min(COLUMNS, WHOLE_TRACES * COLUMNS // max(len(self.traces), 1))
        lines = [
            thinned(trace, across.low, across.high, max(columns, LEAST_COLUMNS))
            for trace in self.traces
        ]
        up = self._scale(lines)
        styled = f"<style>{style}</style>" if style else ""
        parts = [
            *self._bands(across),
            *_grid(up),
            *self._flags(across),
            *_times(across),
            _drawn(self.traces, lines, across, up),
            *_numbers(up, self.unit),
        ]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="{width}" height="{HEIGHT}" '
            f'role="img" aria-label="{escape(self.label)}">{styled}{"".join(parts)}</svg>'
        )

    def _flags(self, across: Scale) -> list[str]:
        top = PLOT_TOP - FLAG_HEIGHT
        return [_band(across, flag, "flag", top, FLAG_HEIGHT) for flag in self.flags]

    def _scale(self, lines: Iterable[Sequence[tuple[Floats, Floats]]]) -> Scale:
        values = [piece for line in lines for _, piece in line]
        if not values:
            return value_scale(0.0, 1.0)
        every = np.concatenate(values)
        return value_scale(float(every.min()), float(every.max()))

    def _bands(self, across: Scale) -> list[str]:
        parts = []
        marks = merged(self.marks, (across.high - across.low) / COLUMNS)
        numbered = len(marks) <= MOST_NUMBERED
        names = list(dict.fromkeys(mark.name for mark in self.marks))
        seen = [one for one in marks if _is_within(one, across)]
        placed = []
        for mark in seen:
            parts.append(_band(across, mark, "mark", PLOT_TOP, PLOT_HEIGHT))
            x = _percent(across, (mark.begin_s + mark.end_s) / 2)
            placed.append((x, names.index(mark.name) + 1))
        if numbered:
            parts += [
                _text(x, PLOT_TOP - 10, text, "number", _anchor(x))
                for x, text in _apart(placed)
            ]
        parts += [
            _band(across, pause, "pause", PLOT_TOP, PLOT_HEIGHT)
            for pause in self.pauses
        ]
        parts += [_band(across, flag, "flag", PLOT_TOP - 4, 8) for flag in self.flags]
        return parts


def _apart(placed: Sequence[tuple[float, int]]) -> list[tuple[float, str]]:
    """Return numbers with their places in percent; those that would overlap on a narrow page stand as one, "4, 5"."""
    groups: list[list[tuple[float, int]]] = []
    for x, number in sorted(placed):
        if groups and x - groups[-1][-1][0] < APART_PERCENT * len(str(number)):
            groups[-1].append((x, number))
        else:
            groups.append([(x, number)])
    shown = []
    for group in groups:
        numbers = sorted({number for _, number in group})
        text = ", ".join(map(str, numbers))
        if len(numbers) > MOST_JOINED:
            text = f"{numbers[0]} ... {numbers[-1]}"
        shown.append(((group[0][0] + group[-1][0]) / 2, text))
    return shown


def _is_within(span: Span, across: Scale) -> bool:
    return span.end_s >= across.low and span.begin_s <= across.high


def _anchor(x: float) -> str:
    """Return where a text begins so that neither edge cuts it off."""
    if x < 4:
        return "start"
    return "end" if x > 92 else "middle"


def _percent(across: Scale, time_s: float) -> float:
    share = min(max(across.share(time_s), 0.0), 1.0)
    return round(100 * share, 3)


def _y(up: Scale, value: float) -> float:
    return round(PLOT_TOP + (1 - up.share(value)) * PLOT_HEIGHT, 2)


def _band(across: Scale, span: Span, kind: str, top: float, height: float) -> str:
    left = _percent(across, span.begin_s)
    width = max(_percent(across, span.end_s) - left, LEAST_PERCENT)
    left = min(left, 100 - width)
    place = f'x="{left:g}%" y="{top:g}" width="{width:g}%" height="{height:g}"'
    return f'<rect class="{kind}" {place}><title>{escape(span.name)}</title></rect>'


def _grid(up: Scale) -> list[str]:
    parts = []
    for tick in up.ticks:
        y = _y(up, tick)
        kind = "base" if tick == 0 else "grid"
        parts.append(f'<line class="{kind}" x1="0" y1="{y:g}" x2="100%" y2="{y:g}"/>')
    return parts


def _numbers(up: Scale, unit: str) -> list[str]:
    """Return the numbers over the traces, with the unit at the topmost one."""
    parts = []
    for tick in up.ticks:
        if tick == up.ticks[0]:
            continue  # the base line; its number would stand in the times
        shown = f"{tick:.6g}"
        if tick == up.ticks[-1]:
            shown += f" {unit}"
        parts.append(_text(0, _y(up, tick) + 13, shown, "value"))
    return parts


def _times(across: Scale) -> list[str]:
    parts = []
    step_s = across.high - across.low
    if len(across.ticks) > 1:
        step_s = across.ticks[1] - across.ticks[0]
    bottom = PLOT_TOP + PLOT_HEIGHT
    for tick in across.ticks:
        x = _percent(across, tick)
        shown = duration_words(tick - across.low, step_s)
        parts.append(
            f'<line class="grid" x1="{x:g}%" y1="{bottom}" x2="{x:g}%" y2="{bottom + 5}"/>'
        )
        parts.append(_text(x, bottom + 18, shown, "quiet", _anchor(x)))
    return parts


def _drawn(
    traces: Sequence[Trace],
    lines: Sequence[Sequence[tuple[Floats, Floats]]],
    across: Scale,
    up: Scale,
) -> str:
    """Return the traces in an inner SVG, whose lines keep their width while it is stretched."""
    parts = []
    for place, (trace, pieces) in enumerate(zip(traces, lines, strict=True)):
        shapes = "".join(_piece(times, values, across, up) for times, values in pieces)
        title = f"<title>{escape(trace.name)}</title>"
        parts.append(f'<path class="trace t{place % 6}" d="{shapes}">{title}</path>')
    return (
        f'<svg class="plot" x="0" y="{PLOT_TOP}" width="100%" height="{PLOT_HEIGHT}" '
        f'viewBox="0 0 {COLUMNS} {UNITS}" preserveAspectRatio="none">{"".join(parts)}</svg>'
    )


def _piece(times: Floats, values: Floats, across: Scale, up: Scale) -> str:
    xs = (times - across.low) / (across.high - across.low) * COLUMNS
    ys = (1.0 - (values - up.low) / (up.high - up.low)) * UNITS
    points = [f"{x:.1f} {y:.1f}" for x, y in zip(xs.tolist(), ys.tolist(), strict=True)]
    if len(points) == 1:
        points.append(
            points[0]
        )  # a line of no length shows as a dot, with its round ends
    return f"M{'L'.join(points)}"


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    place = f'x="{x:g}%" y="{y:g}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{escape(text)}</text>'
