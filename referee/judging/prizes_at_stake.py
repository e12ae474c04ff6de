"""Which prizes depend on a run in review: it would win them, or decide who does, if it were let stand. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from referee.config import Prize
from referee.contest_rules import ContestRule
from referee.judging.prizes import awards
from referee.judging.ranking import NotRanked, Place, Standing, best_of_each
from referee.judging.standings import Standings


def prizes_at_stake(
    prizes: Sequence[Prize],
    found: Standings,
) -> dict[int, tuple[str, ...]]:
    """Return the names of the prizes that depend on each run in review, by run number; only runs with any.

    Whether orders are certain is not considered.
    """
    rule = found.rule
    ranked = [place.standing for place in found.places]
    winners = _winners(prizes, ranked, rule)
    at_stake = {}
    for place in found.unranked:
        if place.standing.not_ranked_code is not NotRanked.IN_REVIEW:
            continue
        would_be = _winners(prizes, _with(ranked, place, rule), rule)
        names = tuple(name for name in winners if winners[name] != would_be[name])
        if names:
            at_stake[place.standing.run] = names
    return at_stake


def _winners(
    prizes: Sequence[Prize], ranked: Sequence[Standing], rule: ContestRule
) -> dict[str, tuple[str, ...]]:
    return {one.name: one.teams for one in awards(prizes, ranked, rule=rule)}


def _with(
    ranked: Sequence[Standing], place: Place, rule: ContestRule
) -> list[Standing]:
    best_first = sorted(
        [*ranked, place.standing], key=lambda one: (-rule.merit(one.score), one.run)
    )
    return best_of_each(best_first, team=lambda one: one.team)
