"""Awards the prizes of contest.toml to ranked runs. Pure.

Two rules have a condition, as in LPIRC 2016: an mAP at least one standard deviation above the mean of all participants,
or an energy at least one below. The participants are the whole population: the deviation divides by their number.

A prize is shared by the teams whose order relative to the best one is uncertain. The spread of energies is never taken
from the attempts of those who would share: a wasteful attempt must not win a share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import mean, pvariance

from lpirc_score.analysis.interval import (
    EnergySpread,
    Halved,
    Quantity,
    chance_of_order,
)
from referee.config import Prize
from referee.judging.ranking import SURE, Standing

MERITS: dict[str, Callable[[Standing], float]] = {
    "best-score": lambda one: one.score,
    "least-energy": lambda one: -one.energy_wh,
    "highest-map": lambda one: one.map,
}
QUANTITIES: dict[str, Quantity] = {
    "best-score": "score",
    "least-energy": "energy",
    "highest-map": "map",
}
ASSUMED_SPREAD = EnergySpread(0.02)
"""Spread of a team's energy from attempt to attempt that is assumed unless the best team's attempts show less."""
CONDITIONS = {
    "least-energy": MERITS["highest-map"],
    "highest-map": MERITS["least-energy"],
}
"""The figure that must lie a standard deviation above its mean; less energy is more."""


@dataclass(frozen=True)
class Award:
    """A prize and the teams that share it; empty if no team fulfils its condition.

    `value` is what the best reached: a score (1/Wh), an energy (Wh) or an mAP. `bar` is the least mAP, or the highest
    energy, that the condition asks for, which may lie below 0; None where there is no condition, or no participant.
    `unsure` of the teams share it because their order with the best is not sure. How sure the order of the teams in
    `not_known` is, is not known; they do not share it.
    """

    name: str
    rule: str
    teams: tuple[str, ...]
    value: float | None = None
    bar: float | None = None
    unsure: tuple[str, ...] = ()
    not_known: tuple[str, ...] = ()


def awards(
    prizes: Sequence[Prize],
    participants: Sequence[Standing],
    halved: Mapping[int, Halved | None] | None = None,
) -> tuple[Award, ...]:
    """The winners of each prize; `participants` has the best ranked run of each team. Equal figures share a prize.

    `halved` has the runs, by number, of which it is known how sure their order is.
    """
    return tuple(_award(prize, participants, halved or {}) for prize in prizes)


def is_sure(
    best: Halved,
    other: Halved,
    of: Quantity,
) -> bool:
    """Tell whether an order is sure by ASSUMED_SPREAD or by the best team's energy spread, so no prize is shared."""
    spreads = {ASSUMED_SPREAD, best.energy_spread or ASSUMED_SPREAD}
    chances = (
        chance_of_order(
            replace(best, energy_spread=one),
            replace(other, energy_spread=one),
            of,
        )
        for one in spreads
    )
    return max(chances) >= SURE


def _award(
    prize: Prize,
    able: Sequence[Standing],
    halved: Mapping[int, Halved | None],
) -> Award:
    merit = MERITS[prize.rule]
    condition = CONDITIONS.get(prize.rule)
    bar = None
    if condition is not None and able:
        # Exactly, in fractions: of two teams the better one always lies one deviation from the mean.
        values = [Fraction(condition(one)) for one in able]
        middle = mean(values)
        variance = pvariance(values)
        bar = float(middle) + math.sqrt(variance)
        bar = -bar if condition is MERITS["least-energy"] else bar
        beyond = [
            value >= middle and (value - middle) ** 2 >= variance for value in values
        ]
        able = [one for one, is_beyond in zip(able, beyond, strict=True) if is_beyond]
    best = max(map(merit, able), default=None)
    winners = [one for one in able if merit(one) == best]
    first = halved.get(winners[0].run) if winners else None
    behind = [(one.team, halved.get(one.run)) for one in able if merit(one) != best]
    of = QUANTITIES[prize.rule]
    unsure = tuple(
        team for team, its in behind if first and its and not is_sure(first, its, of)
    )
    not_known = tuple(team for team, its in behind if first is None or its is None)
    return Award(
        prize.name,
        prize.rule,
        teams=tuple(one.team for one in winners) + unsure,
        value=None if best is None else abs(best),
        bar=bar,
        unsure=unsure,
        not_known=not_known,
    )
