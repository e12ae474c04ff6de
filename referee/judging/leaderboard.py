"""The leaderboard: each team's best run, ranked by score. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Standing:
    """A judged run as the leaderboard shows it; the interval is that of the score (1/Wh), None before it is known.

    `official` is false where the meter was simulated or one for rehearsing at home.
    """

    team: str
    run: int
    score: float
    score_low: float | None
    score_high: float | None
    map: float
    energy_wh: float
    needs_review: bool
    official: bool = True


@dataclass(frozen=True)
class Place:
    """A standing with its rank, and the teams whose intervals overlap its own: chance may have decided their order."""

    rank: int
    standing: Standing
    level_with: tuple[str, ...]


def rank(standings: Sequence[Standing]) -> tuple[Place, ...]:
    """The best run of each team, highest score first; equal scores share a rank, and the earlier run is listed first.

    A run that needs review is ranked like the others, with its mark: an operator decides, not the program.
    """
    ordered = best_of_each(
        sorted(standings, key=lambda one: (-one.score, one.run)), team=lambda one: one.team
    )
    return tuple(
        Place(
            rank=1 + sum(other.score > one.score for other in ordered),
            standing=one,
            level_with=tuple(other.team for other in ordered if other is not one and _overlap(one, other)),
        )
        for one in ordered
    )


def best_of_each(best_first: Iterable[T], team: Callable[[T], str]) -> list[T]:
    """The first of each team, in the order given."""
    best: dict[str, T] = {}
    for one in best_first:
        best.setdefault(team(one), one)
    return list(best.values())


def _overlap(one: Standing, other: Standing) -> bool:
    if one.score_low is None or one.score_high is None or other.score_low is None or other.score_high is None:
        return False
    return one.score_low <= other.score_high and other.score_low <= one.score_high


def head_to_head(score_a: float | None, score_b: float | None) -> tuple[int, int]:
    """The points of two runs that met: 2 for the higher score, 1 each for a tie (LPIRC 2016).

    A run without a score has lost; two of them tie at 0. The energies of both must be known: a run whose energy is
    still missing may get a score later.
    """
    if score_a is None and score_b is None:
        return 0, 0
    if score_a == score_b:
        return 1, 1
    first = score_b is None or (score_a is not None and score_a > score_b)
    return (2, 0) if first else (0, 2)
