"""The energies of the attempts of a series as dots, with their mean: shows a drift, and an attempt that stands out."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from lpirc_power.report.reading_facts import figure

TOP: Final = 24
HEIGHT: Final = 140
BELOW: Final = 24
MARGIN: Final = 0.08
"""Part of the width that stays free at each side."""
MOST_NUMBERED: Final = 20


def attempt_chart(
    energies_wh: Sequence[float], mean_wh: float, names: Sequence[str]
) -> str:
    """Return the chart as SVG; its axis of energies begins at the least one, not at 0. A name ends with a number."""
    least = min(energies_wh)
    most = max(energies_wh)
    width = most - least or abs(most) or 1.0
    parts = []
    for value in (least, mean_wh, most):
        y = _y(value, least, width)
        kind = "base" if value == mean_wh else "grid"
        parts.append(f'<line class="{kind}" x1="0" y1="{y:g}" x2="100%" y2="{y:g}"/>')
    count = len(energies_wh)
    for place, energy_wh in enumerate(energies_wh):
        x = 100 * _across(place, count)
        name = names[place]
        told = f"{name}: {figure(energy_wh, 'Wh')}"
        parts.append(
            f'<circle class="dot" cx="{x:.2f}%" cy="{_y(energy_wh, least, width):g}" r="4">'
            f"<title>{escape(told)}</title></circle>"
        )
        if count <= MOST_NUMBERED:
            y = TOP + HEIGHT + 18
            parts.append(
                f'<text class="quiet" x="{x:.2f}%" y="{y}" text-anchor="middle">{escape(name.split()[-1])}</text>'
            )
    parts += [
        _number(most, TOP - 6),
        _number(least, TOP + HEIGHT - 6),
    ]
    label = (
        f"Energies of {count} attempts, from {figure(least, 'Wh')} to {figure(most, 'Wh')}, mean "
        f"{figure(mean_wh, 'Wh')}."
    )
    whole = TOP + HEIGHT + BELOW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="100%" height="{whole}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _across(place: int, count: int) -> float:
    if count == 1:
        return 0.5
    return MARGIN + (1 - 2 * MARGIN) * place / (count - 1)


def _y(value: float, least: float, width: float) -> float:
    return round(TOP + (1 - (value - least) / width) * HEIGHT, 2)


def _number(value: float, y: float) -> str:
    return f'<text class="value" x="0" y="{y:g}">{escape(figure(value, "Wh"))}</text>'
