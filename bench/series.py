"""What the interval of a series is worth that ended itself, and what its warnings find, by attempts with a known mean.

Each series is drawn attempt by attempt and ends as `meter record --until-stable 1%` does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.figures import as_markdown, replace_part, show
from lpirc_power.energy.attempt_order import attempt_warnings
from lpirc_power.energy.spread import half_of_mean
from lpirc_power.recording_run.series_run import LEAST_STABLE, MOST_STABLE, is_stable

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator], Floats]
"""Draws the energies of MOST_STABLE attempts."""

DOCUMENT = Path(__file__).parents[1] / "docs" / "lab.md"
BEGIN = '<!-- series: make bench ARGS="series --save" -->'
END = "<!-- end of series -->"

SERIES: Final = 4000
STABLE: Final = 0.01
NAMES: Final = [f"{place}" for place in range(1, MOST_STABLE + 1)]


@dataclass(frozen=True)
class Situation:
    """Attempts of one kind, and their mean in the long run, in Wh."""

    name: str
    draw: Draw
    mean_wh: float = 1.0


@dataclass(frozen=True)
class Drawn:
    """One series that ended as stable: its attempts, its error and half of its interval."""

    attempts: int
    off_wh: float
    half_wh: float
    is_warned: bool


def normal(deviation: float) -> Draw:
    """Draw independent attempts with this relative scatter."""
    return lambda random: 1.0 + deviation * random.normal(size=MOST_STABLE)


def costly(chance: float, more: float) -> Draw:
    """Draw attempts of which some, by this chance, take so much more; the others scatter by 0.5 %."""

    def draw(random: np.random.Generator) -> Floats:
        is_costly = random.random(MOST_STABLE) < chance
        return normal(0.005)(random) + more * is_costly

    return draw


def correlated(part: float) -> Draw:
    """Draw attempts with a scatter of 2 %, of which each keeps this part of the one before (AR 1)."""

    def draw(random: np.random.Generator) -> Floats:
        steps = random.normal(size=MOST_STABLE)
        steps[1:] *= math.sqrt(1.0 - part * part)
        for place in range(1, MOST_STABLE):
            steps[place] += part * steps[place - 1]
        return np.asarray(1.0 + 0.02 * steps)

    return draw


def warming(attempts: float) -> Draw:
    """Draw attempts that begin 5 % below their mean and come nearer by a time constant of so many attempts."""

    def draw(random: np.random.Generator) -> Floats:
        below = 0.05 * np.exp(-np.arange(MOST_STABLE) / attempts)
        return np.asarray(normal(0.005)(random) - below)

    return draw


SITUATIONS: Final = (
    Situation("independent, scatter 0.5 %", normal(0.005)),
    Situation("independent, scatter 2 %", normal(0.02)),
    Situation("independent, scatter 4 %", normal(0.04)),
    Situation("1 of 10 takes 10 % more", costly(0.10, 0.10), 1.01),
    Situation("1 of 10 takes 30 % more", costly(0.10, 0.30), 1.03),
    Situation("1 of 20 takes 30 % more", costly(0.05, 0.30), 1.015),
    Situation("each keeps 0.5 of the one before", correlated(0.5)),
    Situation("each keeps 0.8 of the one before", correlated(0.8)),
    Situation("warms up by 5 % over 5 attempts", warming(5.0)),
    Situation("warms up by 5 % over 15 attempts", warming(15.0)),
)


def measure() -> list[dict[str, Any]]:
    """Draw every situation; print the table and return its rows."""
    rows = [row_of(one, SERIES) for one in SITUATIONS]
    show("series", rows)
    return rows


def write(rows: list[dict[str, Any]]) -> None:
    """Put the table into the page of the laboratory."""
    replace_part(DOCUMENT, BEGIN, f"\n{as_markdown(rows)}\n", END)


def row_of(situation: Situation, series: int) -> dict[str, Any]:
    """Return the row of one situation, from so many drawn series."""
    random = np.random.default_rng(32)
    drawn = [_ended(situation, random) for _ in range(series)]
    found = [one for one in drawn if one is not None]
    row: dict[str, Any] = {
        "attempts": situation.name,
        "end as stable, %": _percent(len(found), series),
    }
    if not found:
        return row | {"made": "", "hold, %": "", "bias, %": "", "warned, %": ""}
    held = sum(abs(one.off_wh) <= one.half_wh for one in found)
    warned = sum(one.is_warned for one in found)
    return row | {
        "made": round(float(np.mean([one.attempts for one in found])), 1),
        "hold, %": _percent(held, len(found)),
        "bias, %": _bias_percent(found, situation),
        "warned, %": _percent(warned, len(found)),
    }


def _ended(situation: Situation, random: np.random.Generator) -> Drawn | None:
    """Return the series that ended as stable; None if it gave up."""
    energies_wh = situation.draw(random).tolist()
    for count in range(LEAST_STABLE, MOST_STABLE + 1):
        made = energies_wh[:count]
        if is_stable(made, STABLE):
            off_wh = float(np.mean(made)) - situation.mean_wh
            warned = attempt_warnings(made, NAMES)
            return Drawn(count, off_wh, half_of_mean(made) or 0.0, bool(warned))
    return None


def _bias_percent(found: list[Drawn], situation: Situation) -> float:
    off_wh = float(np.mean([one.off_wh for one in found]))
    # A rounded 0 has no sign.
    return round(100.0 * off_wh / situation.mean_wh, 2) + 0.0


def _percent(part: int, whole: int) -> float:
    return round(100.0 * part / whole, 1)
