"""Plots as SVG elements for a page: drawn without a library, coloured by the page's style, described in words.

Nothing in them is a style attribute or a script, so a strict content security policy allows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from lpirc_score.files.plots import printable

Floats = NDArray[np.float64]

WIDTH = 400
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_LETTER = 9
"""The width, with some reserve, of a letter of 13 pixels."""


@dataclass(frozen=True)
class _Axes:
    """The area of a plot whose both axes run from 0 to 1."""

    left: float = 60
    top: float = 10
    width: float = 326
    height: float = 240

    def x(self, value: float) -> float:
        return round(self.left + value * self.width, 2)

    def y(self, value: float) -> float:
        return round(self.top + (1 - value) * self.height, 2)

    def frame(self, across: str, up: str) -> list[str]:
        """Return the grid, the numbers and the names of the axes."""
        parts = []
        bottom = self.y(0)
        for share in _SHARES:
            x = self.x(share)
            y = self.y(share)
            parts.append(_line(x, self.top, x, bottom, "grid"))
            parts.append(_line(self.left, y, self.x(1), y, "grid"))
            parts.append(_text(x, bottom + 16, f"{share:g}", "quiet", "middle"))
            parts.append(_text(self.left - 6, y + 4, f"{share:g}", "quiet", "end"))
        parts.append(_text(self.x(0.5), bottom + 33, across, anchor="middle"))
        middle = self.y(0.5)
        turned = f'transform="rotate(-90 12 {middle:g})"'
        parts.append(_text(12, middle, up, anchor="middle", more=turned))
        return parts

    def path(self, xs: Iterable[float], ys: Iterable[float]) -> str:
        points = [f"{self.x(x):g},{self.y(y):g}" for x, y in zip(xs, ys, strict=True)]
        return " ".join(points)


def lines_plot(
    lines: Mapping[str, tuple[Floats, Floats]],
    mean: tuple[Floats, Floats],
    label: str,
) -> str:
    """Return precision over recall: each line faint with its name as a tooltip, and the mean."""
    axes = _Axes()
    parts = axes.frame("recall", "precision")
    for name, (recall, precision) in lines.items():
        points = axes.path(recall.tolist(), precision.tolist())
        parts.append(_curve(points, "faint", name))
    points = axes.path(mean[0].tolist(), mean[1].tolist())
    parts.append(_curve(points, "mean", "mean of the categories"))
    return _svg(label, 300, parts)


@dataclass(frozen=True)
class Bin:
    """A bin of a reliability curve: its range, and the share of true detections and mean confidence of its `count`."""

    low: float
    high: float
    count: int
    precision: float | None
    confidence: float | None


def reliability_plot(bins: Sequence[Bin], label: str) -> str:
    """Return the share of true detections over their mean confidence; below, how many each bin has."""
    axes = _Axes()
    parts = axes.frame("mean confidence", "share that is true")
    ideal = axes.path([0, 1], [0, 1])
    parts.append(_curve(ideal, "ideal", "as confident as right"))
    known = [
        one for one in bins if one.precision is not None and one.confidence is not None
    ]
    xs = [one.confidence or 0.0 for one in known]
    ys = [one.precision or 0.0 for one in known]
    parts.append(_curve(axes.path(xs, ys), "mean", "this detector"))
    for one, x, y in zip(known, xs, ys, strict=True):
        told = f"{one.low:g} to {one.high:g}: {one.count} detections, {y:.3f} true, confidence {x:.3f}"
        parts.append(
            f'<circle class="dot" cx="{axes.x(x):g}" cy="{axes.y(y):g}" r="4">'
            f"<title>{escape(told)}</title></circle>"
        )
    most = max((one.count for one in bins), default=0)
    base = 372
    for one in bins:
        height = round(50 * one.count / max(most, 1), 2)
        x = axes.x(one.low) + 1
        width = max(axes.x(one.high) - axes.x(one.low) - 2, 0.5)
        told = f"{one.low:g} to {one.high:g}: {one.count} detections"
        parts.append(_bar(x, base - height, width, height, told))
    parts.append(_line(axes.left, base, axes.x(1), base, "grid"))
    parts.append(_text(axes.left, base + 16, "detections by confidence", "quiet"))
    return _svg(label, 394, parts)


def bars_plot(rows: Sequence[tuple[str, float | None, str]], label: str) -> str:
    """Return horizontal bars, one for each name, value and text.

    A value below 0 is drawn as a loss, None as no bar.
    """
    names = [printable(name) for name, _, _ in rows]
    left = min(max((len(name) for name in names), default=0) * _LETTER + 8, 170)
    room = WIDTH - left - 70
    most = max((abs(value or 0.0) for _, value, _ in rows), default=0.0) or 1.0
    parts = []
    for place, (name, stated, text) in enumerate(rows):
        value = stated or 0.0
        y = 8 + place * 28
        width = round(abs(value) / most * room, 2)
        kind = "loss" if value < 0 else "bar"
        parts.append(_text(left - 8, y + 14, _shortened(name, 22), anchor="end"))
        if stated is not None:
            parts.append(_bar(left, y, width, 20, f"{name}: {text}", kind))
        parts.append(_text(left + width + 6, y + 14, text, "quiet"))
    return _svg(label, 12 + 28 * len(rows), parts)


def matrix_plot(
    names: Sequence[str],
    counts: Sequence[Sequence[int]],
    shares: Sequence[Sequence[float]],
    label: str,
) -> str:
    """Return a confusion matrix: each cell as strong as its share of its row, with its count."""
    size = 38
    short = [_shortened(name, 16) for name in names]
    left = max(map(len, short)) * _LETTER + 12
    top = left
    parts = []
    for place, name in enumerate(short):
        middle = left + place * size + size / 2 + 4
        turned = f'transform="rotate(-60 {middle:g} {top - 6:g})"'
        parts.append(_text(middle, top - 6, name, more=turned))
        y = top + place * size + size / 2 + 4
        parts.append(_text(left - 6, y, name, anchor="end"))
    for row, of_row in enumerate(counts):
        for column, count in enumerate(of_row):
            share = shares[row][column]
            x = left + column * size
            y = top + row * size
            told = f"{names[row]} found as {names[column]}: {count} ({share:.1%})"
            parts.append(_cell(x, y, size, share, count, told))
    side = left + size * len(names)
    drawn = _svg(label, side + 8, parts, side + left * 0.6)
    return drawn.replace(
        "<svg ", f'<svg class="matrix" width="{side + left * 0.6:g}" ', 1
    )


def _cell(
    x: float,
    y: float,
    size: float,
    share: float,
    count: int,
    told: str,
) -> str:
    place = f'x="{x:g}" y="{y:g}" width="{size}" height="{size}"'
    title = f"<title>{escape(printable(told))}</title>"
    if not count:
        return f'<rect class="empty" {place}>{title}</rect>'
    depth = 0.08 + 0.92 * share
    text = f"{count}" if count < 10_000 else f"{count / 1000:.0f}k"
    rect = f'<rect class="cell" {place} fill-opacity="{depth:.3f}">{title}</rect>'
    return rect + _text(x + size / 2, y + size / 2 + 4, text, anchor="middle")


def _svg(label: str, height: float, parts: Iterable[str], width: float = WIDTH) -> str:
    described = escape(printable(label))
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{described}">'
        f"{''.join(parts)}</svg>"
    )


def _text(
    x: float,
    y: float,
    text: str,
    kind: str = "",
    anchor: str = "start",
    more: str = "",
) -> str:
    written = escape(printable(text))
    styled = f' class="{kind}"' if kind else ""
    placed = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
    return f"<text{styled} {placed} {more}>{written}</text>"


def _line(
    x: float,
    y: float,
    to_x: float,
    to_y: float,
    kind: str,
) -> str:
    return f'<line class="{kind}" x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}"/>'


def _curve(points: str, kind: str, name: str) -> str:
    title = f"<title>{escape(printable(name))}</title>"
    return f'<polyline class="{kind}" points="{points}">{title}</polyline>'


def _bar(
    x: float,
    y: float,
    width: float,
    height: float,
    told: str,
    kind: str = "bar",
) -> str:
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    title = f"<title>{escape(printable(told))}</title>"
    return f'<rect class="{kind}" {place}>{title}</rect>'


def _shortened(name: str, most: int) -> str:
    if len(name) <= most:
        return name
    return f"{name[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
