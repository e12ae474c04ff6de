"""The leaderboard: the best run of each team that may be ranked, by score. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple, TypeVar

from lpirc_score.analysis.interval import Halved, chance_of_order
from lpirc_score.metrics.evaluation_result import signature_parts
from referee.contest_rules import DEFAULT, ContestRule

T = TypeVar("T")
SURE = 0.95  # an order with at least this chance of being real needs no remark
IMAGES = "images"  # the part of a signature for the images of the run
NOT_COMPARED = (
    "v",
    "meter",
    "extra",
)  # program version, meter, and extra time, which has its own mark
RULES = (
    "rules"  # a signature without this part is of an earlier form, and says too little
)


class NotRanked(StrEnum):
    """Reasons why a judged run has no rank."""

    NO_TRUTH = "no-truth"
    BELOW_LEAST_MAP = "below-least-map"
    IN_REVIEW = "in-review"
    OUTSIDE_RULE = "outside-rule"
    NOT_VERIFIED = "not-verified"


@dataclass(frozen=True)
class FailedCheck:
    """A failed check of severity `error`: its code, and the sentence with the finding."""

    code: str
    sentence: str


@dataclass(frozen=True)
class Standing:
    """A judged run as the leaderboard shows it; the score, in the unit of its rule, and its interval, None if unknown.

    `map` is by the contest's metric; `map_ilsvrc_det` is comparable with the published champions. `complete` is False
    if judging again would add something: the judging was interrupted, or done by an earlier version of the program.
    `official` is False if the meter was simulated or a meter for rehearsing at home. `extra_s` were added to the run's
    window. `reviewed` is the note with which an operator accepted the run despite a failed check; without a note,
    the run needs review because of `failed_checks`. `images_seen` is how many of the run's images had been served to
    earlier runs of its team. `not_ranked` is the clause that says why it has no rank, `not_ranked_code` is the reason
    as a code for programs. `rules_sha256` identifies the run's rules (None: none are recorded); `other_rules`
    names the rules that were applied instead of them. `energy_spread` is the relative spread of the team's energy
    between attempts, None if there is only one attempt. `is_published` is False while the jury has not published the
    judgement, so that only operators see it. `others` has the further figures of a task other than boxes, by name.
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
    is_published: bool = True
    others: Mapping[str, float] | None = field(default=None, hash=False)


class Level(NamedTuple):
    """A team whose order relative to another is uncertain: the chance that the order is right, and what it `covers`."""

    team: str
    chance: float
    covers: str | None = None


@dataclass(frozen=True)
class Place:
    """A standing with its rank. The rank is None if the run is not ranked, or another run of its team is ranked.

    `level_with` has the teams whose order relative to this team is less certain than SURE. `differs` says how the run
    was measured or scored differently from the first run, or which of its rules were not applied.
    """

    rank: int | None
    standing: Standing
    level_with: tuple[Level, ...] = ()
    differs: tuple[str, ...] = ()


def rank(
    standings: Sequence[Standing],
    halved: Mapping[int, Halved | None],
    rule: ContestRule = DEFAULT,
) -> tuple[Place, ...]:
    """Rank the best run of each team, best score by the contest's rule first.

    Equal scores share a rank, and the earlier run is listed first. Runs that are `not_ranked` are ignored: if a team's
    best run is in review, the team is ranked by its next best one. `halved` has, by run number, the values that
    decide how certain the order of two runs is.
    """
    able = [one for one in standings if one.not_ranked is None]
    best_first = sorted(able, key=lambda one: (-rule.merit(one.score), one.run))
    of = rule.quantity or "score"
    ordered = best_of_each(best_first, team=lambda one: one.team)
    level: dict[str, list[Level]] = {one.team: [] for one in ordered}
    for better, other in combinations(ordered, 2):
        one = halved.get(better.run)
        two = halved.get(other.run)
        if one and two and (chance := chance_of_order(one, two, of)) < SURE:
            covers = covered(better, other)
            level[better.team].append(Level(other.team, chance, covers))
            level[other.team].append(Level(better.team, chance, covers))
    usual = next(
        (one.signature for one in ordered if RULES in signature_parts(one.signature)),
        "",
    )
    places = []
    for standing in ordered:
        own = rule.merit(standing.score)
        better_ones = [other for other in ordered if rule.merit(other.score) > own]
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
    """Return which errors the chance of an order includes, or None if it includes the energy spread of both teams."""
    if one.energy_spread is not None and other.energy_spread is not None:
        return None
    mine, theirs = (
        signature_parts(each.signature).get(IMAGES) for each in (one, other)
    )
    return f"{'same' if mine == theirs else 'different'} images; the energy spread is unknown"


def differences(signature: str, usual: str) -> tuple[str, ...]:
    """Return the differences of a judgement's signature from the `usual` one; empty if it has an earlier version.

    Images that were drawn for each run (`per_attempt`) are no difference, as long as there are as many of them.
    """
    mine = signature_parts(signature)
    others = signature_parts(usual)
    if IMAGES in others and _drawn(mine) == _drawn(others):
        mine[IMAGES] = others[IMAGES]
    return tuple(
        f"{name} {mine.get(name, 'none')} instead of {others.get(name, 'none')}"
        for name in others | mine
        if RULES in mine
        and name not in NOT_COMPARED
        and mine.get(name) != others.get(name)
    )


def _drawn(parts: Mapping[str, str]) -> str | None:
    """Return how many images of how many were drawn for a run; which ones follows after a colon."""
    images = parts.get(IMAGES)
    return None if images is None else images.partition(":")[0]


def best_of_each(best_first: Iterable[T], team: Callable[[T], str]) -> list[T]:
    """Return the first item of each team, in the given order."""
    best: dict[str, T] = {}
    for one in best_first:
        best.setdefault(team(one), one)
    return list(best.values())


def head_to_head(
    score_a: float | None, score_b: float | None, rule: ContestRule = DEFAULT
) -> tuple[int, int]:
    """Return the points of two competing runs: 2 for the better score, 1 each for a tie (LPIRC 2016).

    A run without a score gets 0 points, so two runs without a score both get 0. The energies of both runs must be
    final: a run with a missing energy may get a score later.
    """
    if score_a is None and score_b is None:
        return 0, 0
    if score_a == score_b:
        return 1, 1
    first = score_b is None or (
        score_a is not None and rule.merit(score_a) > rule.merit(score_b)
    )
    return (2, 0) if first else (0, 2)
