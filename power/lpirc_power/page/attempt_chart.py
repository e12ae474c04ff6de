"""The energies of attempts as dots, with their mean: shows a drift, and an attempt that stands out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from lpirc_power.report.reading_facts import figure

TOP: Final = 24
HEIGHT: Final = 140
BELOW: Final = 40
"""Height below the dots: the least energy, and below it the numbers of the attempts."""
MARGIN: Final = 0.08
"""Part of the width that stays free at each side."""
MOST_NUMBERED: Final = 20


@dataclass(frozen=True)
class Dots:
    """The energies of some attempts in their order, in Wh, and their mean. Each name ends with a number."""

    name: str
    energies_wh: Sequence[float]
    mean_wh: float
    names: Sequence[str]


@dataclass(frozen=True)
class _Axis:
    """The axis of energies, in Wh; it begins at the least one, not at 0."""

    least: float
    most: float

    def y(self, energy_wh: float) -> float:
        width = self.most - self.least or abs(self.most) or 1.0
        return round(TOP + (1 - (energy_wh - self.least) / width) * HEIGHT, 2)


def attempt_chart(groups: Sequence[Dots]) -> str:
    """Return groups of attempts beside each other as one chart, an SVG: each has its colour and a line at its mean."""
    energies_wh = [one for group in groups for one in group.energies_wh]
    axis = _Axis(min(energies_wh), max(energies_wh))
    parts = [_line("grid", (0.0, 1.0), axis.y(one)) for one in (axis.least, axis.most)]
    is_numbered = len(energies_wh) <= MOST_NUMBERED
    for place, group in enumerate(groups):
        begin = place / len(groups)
        end = (place + 1) / len(groups)
        parts.append(_line("base", (begin, end), axis.y(group.mean_wh)))
        parts += _dots(group, place, (begin, end), axis, is_numbered=is_numbered)
    parts += [
        _number(axis.most, TOP - 6),
        _number(axis.least, TOP + HEIGHT + 16),
    ]
    label = " ".join(_label(one) for one in groups)
    whole = TOP + HEIGHT + BELOW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="100%" height="{whole}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _label(group: Dots) -> str:
    of = f"{group.name}: e" if group.name else "E"
    ends = [min(group.energies_wh), max(group.energies_wh)]
    least, most = (figure(one, "Wh") for one in ends)
    mean = figure(group.mean_wh, "Wh")
    count = len(group.energies_wh)
    if count == 1:
        return f"{of}nergy of 1 attempt, {mean}."
    return f"{of}nergies of {count} attempts, from {least} to {most}, mean {mean}."


def _dots(
    group: Dots,
    place: int,
    ends: tuple[float, float],
    axis: _Axis,
    *,
    is_numbered: bool,
) -> Iterator[str]:
    """Yield the dots of a group, each with its number below it."""
    count = len(group.energies_wh)
    for index, (energy_wh, name) in enumerate(
        zip(group.energies_wh, group.names, strict=True)
    ):
        x = 100 * _across(index, count, ends)
        told = f"{name}: {figure(energy_wh, 'Wh')}"
        yield (
            f'<circle class="dot t{place % 6}" cx="{x:.2f}%" cy="{axis.y(energy_wh):g}" r="4">'
            f"<title>{escape(told)}</title></circle>"
        )
        if is_numbered:
            y = TOP + HEIGHT + 34
            yield (
                f'<text class="quiet" x="{x:.2f}%" y="{y}" text-anchor="middle">{escape(name.split()[-1])}</text>'
            )


def _across(index: int, count: int, ends: tuple[float, float]) -> float:
    """Return where a dot stands between the two ends, as a part of the width."""
    begin, end = ends
    share = 0.5
    if count > 1:
        share = MARGIN + (1 - 2 * MARGIN) * index / (count - 1)
    return begin + (end - begin) * share


def _line(kind: str, ends: tuple[float, float], y: float) -> str:
    begin, end = (f"{100 * one:g}%" for one in ends)
    return f'<line class="{kind}" x1="{begin}" y1="{y:g}" x2="{end}" y2="{y:g}"/>'


def _number(value: float, y: float) -> str:
    return f'<text class="value" x="0" y="{y:g}">{escape(figure(value, "Wh"))}</text>'
