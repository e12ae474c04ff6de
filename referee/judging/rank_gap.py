"""The gap of a run to its neighbours on the board, and what would close it. Nothing here follows from noise.

A gap is a ratio of two scores with its interval. What a run needs to pass its neighbour is stated only if the whole
interval lies on one side of 1. A lever, such as an earlier log-out, closes a gap only if its lowest effect is at least
the upper end of that interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

import numpy as np

from lpirc_score.analysis.error_types import OF_DETECTIONS, ErrorType
from lpirc_score.analysis.interval import Halved, chance_of_order, ratio_interval
from referee.contest import Contest
from referee.contest_rules import DEFAULT
from referee.judging.energy_course import energy_course, energy_limits_wh
from referee.judging.freeze import Freeze
from referee.judging.ranking import Place, covered
from referee.judging.run_course import Course
from referee.judging.score_explanation import Cost
from referee.judging.standings import standings
from referee.judging.stop_regret import StopRegret
from referee.store.records import Run


@dataclass(frozen=True)
class Estimate:
    """A value with its interval at LEVEL; `low` and `high` are None if they are not known."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Needs:
    """What a run needs to reach the score of the next rank, each with the other figure as it is.

    `energy_share` is the part of its energy to save and `energy_wh` the energy that is left; `map_points` are
    hundredths of mAP to gain and `map` the mAP to reach, both None if an end of that mAP is above 1.
    """

    energy_share: Estimate
    energy_wh: Estimate
    map_points: Estimate | None
    map: Estimate | None


@dataclass(frozen=True)
class Gap:
    """The ratio of the score of the better to that of the other of two neighbours, and how sure their order is.

    `ahead` is True if the neighbour is the better one. `map_chance` and `energy_chance` are the chances that the
    neighbour has the higher mAP, and uses less energy. `covers` says what the interval includes if the energy spread of
    a team is unknown. `needs` is None unless the neighbour is surely ahead. `ratio` is None if a score is 0.
    """

    place: Place
    ahead: bool
    ratio: Estimate | None
    map_chance: float | None
    energy_chance: float | None
    covers: str | None
    needs: Needs | None

    @property
    def is_sure(self) -> bool:
        """True if the interval of the ratio lies above 1."""
        ratio = self.ratio
        return ratio is not None and ratio.low is not None and ratio.low > 1


class LeverKind(StrEnum):
    """The levers that the record of a run itself shows."""

    LOG_OUT = "log-out"
    WAITING = "waiting"
    MENDED = "mended"


@dataclass(frozen=True)
class Lever:
    """A change of the run, and the ratio by which it would raise the score: the best guess and the `least`.

    `at_s` is the time of a log-out, `error` the type of errors of which all are mended. `closes` is True if it closes
    the gap to the next rank even at the least; False if there is no such gap.
    """

    kind: LeverKind
    ratio: float
    least: float
    closes: bool
    at_s: float | None = None
    error: ErrorType | None = None


@dataclass(frozen=True)
class OnTheBoard:
    """The place of a run and the gaps to its neighbours; `why_none` says in a clause why it has no place.

    `near` has the places from the neighbour above to the one below. The gaps are known only where the score is accuracy
    over energy: what closes a gap follows from that quotient.
    """

    place: Place | None
    above: Gap | None
    below: Gap | None
    why_none: str | None
    near: tuple[Place, ...] = ()


LEAST_EFFECT = 1.005
"""A lever with a smaller effect on the score is not worth a line."""
MENDED = (*OF_DETECTIONS, ErrorType.MISSED)
FROZEN = "the board is frozen, and a report names no other team until it is unveiled"


def place_of(contest: Contest, run: Run, now: datetime) -> OnTheBoard:
    """Return the place of a run among the published ones. While the board hides news, it has none."""
    freeze = Freeze(contest.store.published.get(), contest.config.freeze_at)
    if freeze.hides_news(now):
        return OnTheBoard(None, None, None, FROZEN)
    ranked = standings(contest, published_only=True)
    places = ranked.places
    at = next((at for at, one in enumerate(places) if one.standing.run == run.id), None)
    if at is None:
        return OnTheBoard(None, None, None, None)
    own = places[at]
    if contest.config.contest_rule != DEFAULT:
        near = places[max(at - 1, 0) : at + 2]
        return OnTheBoard(own, None, None, None, near)
    above = None
    near = (own,)
    if at > 0:
        above = gap_between(own, places[at - 1], ranked.known)
        near = (above.place, *near)
    below = None
    if at + 1 < len(places):
        below = gap_between(own, places[at + 1], ranked.known)
        near = (*near, below.place)
    return OnTheBoard(own, above, below, None, near)


def gap_between(
    own: Place,
    other: Place,
    known: Mapping[int, Halved | None],
) -> Gap:
    """Return the gap between the places of a run and a neighbour; `known` has what decides how sure it is, by run."""
    mine = known.get(own.standing.run)
    its = known.get(other.standing.run)
    ahead = other.standing.score >= own.standing.score
    better = other if ahead else own
    worse = own if ahead else other
    covers = covered(own.standing, other.standing)
    if worse.standing.score <= 0:
        return Gap(other, ahead, None, None, None, covers, None)
    ratio = Estimate(better.standing.score / worse.standing.score, None, None)
    map_chance = None
    energy_chance = None
    if mine and its:
        first = its if ahead else mine
        second = mine if ahead else its
        low, high = ratio_interval(first, second)
        ratio = Estimate(ratio.value, low, high)
        map_chance = chance_of_order(its, mine, "map")
        energy_chance = chance_of_order(its, mine, "energy")
    gap = Gap(
        other,
        ahead,
        ratio,
        map_chance,
        energy_chance,
        covers,
        None,
    )
    if ahead and gap.is_sure:
        return replace(gap, needs=needs_of(own, ratio))
    return gap


def needs_of(own: Place, ratio: Estimate) -> Needs:
    """Return what the run of a place needs to raise its score by a ratio."""
    standing = own.standing
    highest = ratio.value if ratio.high is None else ratio.high
    most_map = standing.map * highest
    reached = None
    points = None
    if most_map <= 1:
        reached = _through(ratio, lambda one: standing.map * one)
        points = _through(ratio, lambda one: 100 * standing.map * (one - 1))
    return Needs(
        energy_share=_through(ratio, lambda one: 1 - 1 / one),
        energy_wh=_through(ratio, lambda one: standing.energy_wh / one),
        map_points=points,
        map=reached,
    )


def _through(ratio: Estimate, formula: Callable[[float], float]) -> Estimate:
    """Return a monotone formula of a ratio, with its interval."""
    if ratio.low is None or ratio.high is None:
        return Estimate(formula(ratio.value), None, None)
    ends = sorted((formula(ratio.low), formula(ratio.high)))
    return Estimate(formula(ratio.value), *ends)


def levers(
    above: Gap | None,
    reached: float,
    costs: Sequence[Cost],
    regret: StopRegret | None,
    waiting: Estimate | None,
) -> tuple[Lever, ...]:
    """Return what would have raised the score of a run with the mAP `reached`, the largest effect first.

    `waiting` is the ratio by which the score rises without the energy used before the first image. A lever whose effect
    is not surely above 1 is left out. `costs` count only if they make a score.
    """
    found = []
    if regret is not None and regret.is_earlier:
        at_s = float(regret.elapsed_s[regret.best])
        found.append(_lever(LeverKind.LOG_OUT, regret.ratio, regret.least_ratio, above))
        found[-1] = replace(found[-1], at_s=at_s)
    if waiting is not None and waiting.low is not None:
        found.append(_lever(LeverKind.WAITING, waiting.value, waiting.low, above))
    for cost in costs:
        if reached > 0 and cost.score is not None and cost.type in MENDED:
            ratio = 1 + cost.map / reached
            one = _lever(LeverKind.MENDED, ratio, ratio, above)
            found.append(replace(one, error=cost.type))
    sure = [one for one in found if one.least > LEAST_EFFECT]
    return tuple(sorted(sure, key=lambda one: -one.least))


def _lever(kind: LeverKind, ratio: float, least: float, above: Gap | None) -> Lever:
    closes = (
        above is not None
        and above.ahead
        and above.ratio is not None
        and above.ratio.high is not None
        and least >= above.ratio.high
    )
    return Lever(kind, ratio, least, closes)


def effect_of_waiting(contest: Contest, run: Run, course: Course) -> Estimate | None:
    """Return the ratio by which the score rises without the energy used before the first image; None if not known."""
    if run.energy_wh is None or not len(course.served_s):
        return None
    known = energy_course(contest, run, course.elapsed_s)
    if known is None:
        return None
    first_s = course.served_s[:1]
    used_wh = float(np.interp(first_s, *known)[0])
    limit_wh = float(energy_limits_wh(contest, run, known, first_s)[0])
    ends = (used_wh, used_wh - limit_wh, used_wh + limit_wh)
    if not 0 <= ends[0] < run.energy_wh:
        return None
    value, low, high = (run.energy_wh / max(run.energy_wh - one, 1e-12) for one in ends)
    return Estimate(value, low, high)
