"""Award of the prizes of contest.toml to ranked runs. Pure.

Two rules have a condition, as in LPIRC 2016: an mAP at least one standard deviation above the mean of all participants,
or an energy at least one standard deviation below it. The participants are the whole population, so the variance is
divided by their number.

Teams share a prize if their order relative to the best team is uncertain. The energy spread for this decision never
comes from the attempts of the teams that would share: a wasteful attempt must not win a share.
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
from referee.contest_rules import DEFAULT, ContestRule
from referee.judging.ranking import SURE, Standing

BEST_SCORE = "best-score"
MERITS: dict[str, Callable[[Standing], float]] = {
    BEST_SCORE: lambda one: one.score,
    "least-energy": lambda one: -one.energy_wh,
    "highest-map": lambda one: one.map,
}
QUANTITIES: dict[str, Quantity] = {
    BEST_SCORE: "score",
    "least-energy": "energy",
    "highest-map": "map",
}
ASSUMED_SPREAD = EnergySpread(0.02)
"""Assumed spread of a team's energy between attempts, unless the best team's attempts show a smaller one."""
CONDITIONS = {
    "least-energy": MERITS["highest-map"],
    "highest-map": MERITS["least-energy"],
}
"""For each rule with a condition, the figure that must be one standard deviation better than its mean."""


@dataclass(frozen=True)
class Award:
    """A prize and the teams that share it; empty if no team meets its condition.

    `value` is the best team's score (in the unit of the rule), energy (Wh) or mAP.

    `bar` is the lowest mAP or the highest energy that the condition allows; it may be above 1 or below 0, and is None
    if there is no condition or no participant. `unsure` has the teams that share the prize because their order
    relative to the best team is uncertain. `not_known` has the teams for which the certainty of that order is unknown
    until they are judged again; they do not share it. It is empty where no score by the contest's rule has that
    certainty.
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
    rule: ContestRule = DEFAULT,
) -> tuple[Award, ...]:
    """Return the award of each prize; teams with equal figures share a prize.

    `participants` has the best ranked run of each team. `halved` has, by run number, the values that decide how
    certain the order of two runs is. `rule` says which score is the best one.
    """
    known = halved or {}
    return tuple(_award(prize, participants, known, rule) for prize in prizes)


def is_sure(
    best: Halved,
    other: Halved,
    of: Quantity,
) -> bool:
    """Return True if ASSUMED_SPREAD or the best team's energy spread makes the order certain: nobody shares a prize."""
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


def _merit_by(rule: ContestRule) -> Callable[[Standing], float]:
    return lambda one: rule.merit(one.score)


def _award(
    prize: Prize,
    able: Sequence[Standing],
    halved: Mapping[int, Halved | None],
    rule: ContestRule,
) -> Award:
    merit = MERITS[prize.rule]
    of = QUANTITIES[prize.rule]
    has_certainty = True
    if prize.rule == BEST_SCORE:
        merit = _merit_by(rule)
        of = rule.quantity or of
        has_certainty = rule.quantity is not None
    condition = CONDITIONS.get(prize.rule)
    bar = None
    if condition is not None and able:
        # Exact, in fractions: with two teams, the better one is always exactly one deviation from the mean.
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
    unsure = tuple(
        team for team, its in behind if first and its and not is_sure(first, its, of)
    )
    not_known = tuple(
        team for team, its in behind if has_certainty and (first is None or its is None)
    )
    return Award(
        prize.name,
        prize.rule,
        teams=tuple(one.team for one in winners) + unsure,
        value=None if best is None else abs(best),
        bar=bar,
        unsure=unsure,
        not_known=not_known,
    )
