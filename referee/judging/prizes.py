"""Who wins each prize of contest.toml, from the ranked runs. Pure.

Two rules have a condition, as in LPIRC 2016: an mAP at least one standard deviation above the mean of all participants,
or an energy at least one below. The participants are the whole population: the deviation divides by their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import mean, pvariance

from referee.config import Prize
from referee.judging.leaderboard import Standing

MERITS: dict[str, Callable[[Standing], float]] = {
    "best-score": lambda one: one.score,
    "least-energy": lambda one: -one.energy_wh,
    "highest-map": lambda one: one.map,
}
CONDITIONS = {"least-energy": MERITS["highest-map"], "highest-map": MERITS["least-energy"]}
"""What must lie a standard deviation above its mean; less energy is more."""


@dataclass(frozen=True)
class Award:
    """A prize and the teams that share it; none where no team fulfils its condition.

    `value` is what they reached: a score (1/Wh), an energy (Wh) or an mAP. `bar` is the least mAP, or the highest
    energy, that the condition asks for, which may lie below 0; None where there is no condition, or no participant.
    """

    name: str
    rule: str
    teams: tuple[str, ...]
    value: float | None = None
    bar: float | None = None


def awards(prizes: Sequence[Prize], participants: Sequence[Standing]) -> tuple[Award, ...]:
    """The winners of each prize; `participants` has the best ranked run of each team. Equal figures share a prize."""
    return tuple(_award(prize, participants) for prize in prizes)


def _award(prize: Prize, able: Sequence[Standing]) -> Award:
    merit, condition, bar = MERITS[prize.rule], CONDITIONS.get(prize.rule), None
    if condition is not None and able:
        # Exactly, in fractions: of two teams the better one always lies one deviation from the mean.
        values = [Fraction(condition(one)) for one in able]
        middle, variance = mean(values), pvariance(values)
        bar = float(middle) + math.sqrt(variance)
        bar = -bar if condition is MERITS["least-energy"] else bar
        beyond = [value >= middle and (value - middle) ** 2 >= variance for value in values]
        able = [one for one, is_beyond in zip(able, beyond, strict=True) if is_beyond]
    best = max(map(merit, able), default=None)
    winners = tuple(one.team for one in able if merit(one) == best)
    return Award(prize.name, prize.rule, winners, None if best is None else abs(best), bar)
