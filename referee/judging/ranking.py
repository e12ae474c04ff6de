"""The leaderboard: each team's best run that may be ranked, by score. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple, TypeVar

from lpirc_score.analysis.interval import Halved, chance_of_order
from lpirc_score.metrics.evaluation_result import signature_parts

T = TypeVar("T")
SURE = 0.95  # an order that is real with this chance or more needs no remark
IMAGES = "images"  # the part of a signature for the images of the run
NOT_COMPARED = (
    "v",
    "meter",
    "extra",
)  # the program's version, which meter it was, a mark of its own
RULES = (
    "rules"  # a signature without this part is of an earlier form, and says too little
)


class NotRanked(StrEnum):
    """The reasons why a judged run with a score has no rank."""

    BELOW_LEAST_MAP = "below-least-map"
    IN_REVIEW = "in-review"
    NOT_VERIFIED = "not-verified"


@dataclass(frozen=True)
class FailedCheck:
    """A failed check of severity `error`: its code, and the sentence with what was found."""

    code: str
    sentence: str


@dataclass(frozen=True)
class Standing:
    """A judged run as the leaderboard shows it; the interval is that of the score (1/Wh), None before it is known.

    `map` is by the contest's metric, `map_ilsvrc_det` compares with the published champions. `complete` is false where
    judging again would add to it: it broke off, or was done by an earlier form of the program. `official` is false
    where the meter was simulated or one for rehearsing at home. `extra_s` were added to its window. `reviewed` is the
    note with which an operator let it stand though a check had failed: then it no longer needs review. Until then
    `failed_checks` says why it does. `images_seen` of its images were served to earlier runs of its team. `not_ranked`
    is the clause that says why it has no rank, `not_ranked_code` the same for programs. `rules_sha256` is of the rules
    that are bound to it (None: not bound), `other_rules` where others were applied. `energy_spread` is how its team's
    energy varies from attempt to attempt, relative to it; None where there is one attempt only.
    """

    team: str
    run: int
    score: float
    score_low: float | None
    score_high: float | None
    map: float
    map_ilsvrc_det: float | None
    energy_wh: float
    needs_review: bool
    signature: str
    complete: bool = True
    official: bool = True
    extra_s: float | None = None
    reviewed: str | None = None
    rules_sha256: str | None = None
    other_rules: tuple[str, ...] = ()
    failed_checks: tuple[FailedCheck, ...] = ()
    images_seen: int = 0
    not_ranked: str | None = None
    not_ranked_code: NotRanked | None = None
    energy_spread: float | None = None


class Level(NamedTuple):
    """A team whose order with another is not sure: the chance that it is real, and the part that this `covers`."""

    team: str
    chance: float
    covers: str | None = None


@dataclass(frozen=True)
class Place:
    """A standing with its rank; None where it is not ranked, or another run of its team is.

    `level_with` has the teams whose order with it is less than SURE; `differs` how it was measured or scored otherwise
    than the first, or judged otherwise than by its bound rules.
    """

    rank: int | None
    standing: Standing
    level_with: tuple[Level, ...] = ()
    differs: tuple[str, ...] = ()


def rank(
    standings: Sequence[Standing],
    halved: Mapping[int, Halved | None],
) -> tuple[Place, ...]:
    """The best run of each team, highest score first; equal scores share a rank, and the earlier run is listed first.

    Runs that are `not_ranked` are ignored: a team whose best run is in review is ranked by its best other one.
    `halved` has the runs, by number, of which it is known how sure their order is.
    """
    able = [one for one in standings if one.not_ranked is None]
    best_first = sorted(able, key=lambda one: (-one.score, one.run))
    ordered = best_of_each(best_first, team=lambda one: one.team)
    level: dict[str, list[Level]] = {one.team: [] for one in ordered}
    for better, other in combinations(ordered, 2):
        one = halved.get(better.run)
        two = halved.get(other.run)
        if one and two and (chance := chance_of_order(one, two)) < SURE:
            covers = covered(better, other)
            level[better.team].append(Level(other.team, chance, covers))
            level[other.team].append(Level(better.team, chance, covers))
    usual = next(
        (one.signature for one in ordered if RULES in signature_parts(one.signature)),
        "",
    )
    places = []
    for standing in ordered:
        better_ones = [other for other in ordered if other.score > standing.score]
        differs = differences(standing.signature, usual) + standing.other_rules
        place = Place(
            rank=1 + len(better_ones),
            standing=standing,
            level_with=tuple(level[standing.team]),
            differs=differs,
        )
        places.append(place)
    return tuple(places)


def covered(one: Standing, other: Standing) -> str | None:
    """Return the part that the chance of an order covers; None where it includes both teams' energy spread."""
    if one.energy_spread is not None and other.energy_spread is not None:
        return None
    mine, theirs = (
        signature_parts(each.signature).get(IMAGES) for each in (one, other)
    )
    return f"{'same' if mine == theirs else 'other'} images; energy spread not known"


def differences(signature: str, usual: str) -> tuple[str, ...]:
    """Return how a run was measured or scored differently than usual; empty if its signature is of an earlier form."""
    mine = signature_parts(signature)
    others = signature_parts(usual)
    return tuple(
        f"{name} {mine.get(name, 'none')} instead of {others.get(name, 'none')}"
        for name in others | mine
        if RULES in mine
        and name not in NOT_COMPARED
        and mine.get(name) != others.get(name)
    )


def best_of_each(best_first: Iterable[T], team: Callable[[T], str]) -> list[T]:
    """The first of each team, in the order given."""
    best: dict[str, T] = {}
    for one in best_first:
        best.setdefault(team(one), one)
    return list(best.values())


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
