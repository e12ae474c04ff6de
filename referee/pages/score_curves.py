"""Curves of scores over time as one SVG element, of few lines, each with the number of its place at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from markupsafe import Markup

WIDTH = 720.0
HEIGHT = 240.0
LEFT = 56.0
RIGHT = 40.0
TOP = 12.0
BOTTOM = 28.0
MOST_CURVES = 6
"""More lines than this cannot be told apart."""
LEAST_POINTS = 2


@dataclass(frozen=True)
class Curve:
    """The scores of one team, oldest first; `number` stands at the end of its line."""

    number: int
    name: str
    points: Sequence[tuple[datetime, float]]


@dataclass(frozen=True)
class _Frame:
    """Where times and scores are in the picture."""

    first: datetime
    last: datetime
    highest: float

    def x(self, moment: datetime) -> float:
        span_s = (self.last - self.first).total_seconds()
        share = (moment - self.first).total_seconds() / span_s
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, score: float) -> float:
        share = score / self.highest
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def score_curves(curves: Sequence[Curve], what: str) -> Markup:
    """Draw the first curves; nothing if there is no line to draw. `what` describes the picture."""
    drawn = curves[:MOST_CURVES]
    points = [point for curve in drawn for point in curve.points]
    moments = {moment for moment, _ in points}
    highest = max((score for _, score in points), default=0.0)
    if len(moments) < LEAST_POINTS or highest <= 0:
        return Markup("")
    frame = _Frame(min(moments), max(moments), highest)
    lines = Markup("").join(_line(curve, frame) for curve in drawn)
    form = Markup(
        '<figure><svg class="curves" viewBox="0 0 {0:g} {1:g}" role="img" aria-label="{2}">{3}{4}</svg>'
        "<figcaption>{2}. {5}</figcaption></figure>"
    )
    names = "; ".join(f"{curve.number}: {curve.name}" for curve in drawn)
    return form.format(WIDTH, HEIGHT, what, _axes(frame), lines, names)


def _axes(frame: _Frame) -> Markup:
    bottom = HEIGHT - BOTTOM
    form = Markup(
        '<path class="axis" d="M{left} {top}V{bottom}H{right}"/>'
        '<text x="{beside}" y="{top_text}" text-anchor="end">{highest:.3g}</text>'
        '<text x="{beside}" y="{bottom}" text-anchor="end">0</text>'
        '<text x="{left}" y="{below}">{first}</text>'
        '<text x="{right}" y="{below}" text-anchor="end">{last}</text>'
    )
    return form.format(
        left=LEFT,
        right=WIDTH - RIGHT,
        top=TOP,
        bottom=bottom,
        beside=LEFT - 6,
        top_text=TOP + 8,
        below=HEIGHT - 8,
        highest=frame.highest,
        first=_day(frame.first),
        last=_day(frame.last),
    )


def _line(curve: Curve, frame: _Frame) -> Markup:
    places = [(frame.x(moment), frame.y(score)) for moment, score in curve.points]
    if not places:
        return Markup("")
    corners = " ".join(f"{x},{y}" for x, y in places)
    dots = Markup("").join(
        Markup('<circle cx="{}" cy="{}" r="3.5"/>').format(x, y) for x, y in places
    )
    end_x, end_y = places[-1]
    form = Markup(
        '<g class="curve-{0}"><title>{1}</title><polyline points="{2}"/>{3}<text x="{4}" y="{5}">{6}</text></g>'
    )
    kind = (curve.number - 1) % MOST_CURVES
    return form.format(
        kind, curve.name, corners, dots, end_x + 8, end_y + 4, curve.number
    )


def _day(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
