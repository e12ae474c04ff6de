"""Who wins each prize of contest.toml, from the ranked runs. Pure.

Special prizes as in LPIRC 2016: the least energy with an mAP at least one standard deviation above the mean of all
participants, the highest mAP with an energy at least one below. The participants are the whole population, so the
deviation is that of a population (division by their number).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean, mean, pstdev, pvariance

from referee.config import Prize
from referee.judging.leaderboard import Standing


@dataclass(frozen=True)
class Award:
    """A prize and the teams that share it; none where no team fulfils its condition.

    `value` is what they reached: a score (1/Wh), an energy (Wh) or an mAP. `bar` is the least mAP, or the highest
    energy, that the condition asks for; None where there is no condition, or no participant.
    """

    name: str
    rule: str
    teams: tuple[str, ...]
    value: float | None = None
    bar: float | None = None


def awards(prizes: Sequence[Prize], participants: Sequence[Standing]) -> tuple[Award, ...]:
    """The winners of each prize; `participants` has the best ranked run of each team. Equal figures share a prize."""
    return tuple(_RULES[prize.rule](prize, participants) for prize in prizes)


def _best_score(prize: Prize, participants: Sequence[Standing]) -> Award:
    return _award(prize, participants, lambda one: one.score)


def _least_energy(prize: Prize, participants: Sequence[Standing]) -> Award:
    maps = [one.map for one in participants]
    able = [one for one in participants if _is_outlying(one.map, maps, 1)]
    bar = fmean(maps) + pstdev(maps) if maps else None
    return _award(prize, able, lambda one: -one.energy_wh, bar)


def _highest_map(prize: Prize, participants: Sequence[Standing]) -> Award:
    energies_wh = [one.energy_wh for one in participants]
    able = [one for one in participants if _is_outlying(one.energy_wh, energies_wh, -1)]
    bar = fmean(energies_wh) - pstdev(energies_wh) if energies_wh else None
    return _award(prize, able, lambda one: one.map, bar)


_RULES: dict[str, Callable[[Prize, Sequence[Standing]], Award]] = {
    "best-score": _best_score,
    "least-energy": _least_energy,
    "highest-map": _highest_map,
}


def _is_outlying(value: float, values: Sequence[float], sign: int) -> bool:
    """Whether the value lies at least one deviation beyond the mean, exactly: of two teams one always does."""
    exact = [Fraction(one) for one in values]
    beyond = (Fraction(value) - mean(exact)) * sign
    return beyond >= 0 and beyond**2 >= pvariance(exact)


def _award(
    prize: Prize, able: Sequence[Standing], merit: Callable[[Standing], float], bar: float | None = None
) -> Award:
    best = max(map(merit, able), default=None)
    winners = tuple(one.team for one in able if merit(one) == best)
    return Award(prize.name, prize.rule, winners, None if best is None else abs(best), bar)
