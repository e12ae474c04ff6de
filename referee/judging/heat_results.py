"""The results of heats, by the points of LPIRC 2016 (`referee.judging.meetings`): decided, or why not.

A heat of two is one meeting; in a heat of more each side meets every other one, and its points are added. Nothing is
guessed: a heat with a side that is void, in review or without energy is not decided.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

from referee.contest import Contest
from referee.contest_rules import DEFAULT, ContestRule
from referee.errors import RefereeError
from referee.judging.jury_decisions import NOT_PUBLISHED, unpublished
from referee.judging.meetings import Pending, Undecided, comparable, points_of
from referee.judging.run_figures import Figures
from referee.store.records import Run, RunState


class Outcome(StrEnum):
    """What became of a heat."""

    NOT_STARTED = "not-started"
    RUNNING = "running"
    UNDECIDED = "undecided"
    WON = "won"
    TIED = "tied"
    NO_SCORE = "no-score"


_HIDDEN = Pending(
    Undecided.NOT_PUBLISHED,
    RefereeError("run-state", f"The heat is not decided for others: {NOT_PUBLISHED}."),
)
DECIDED = (Outcome.WON, Outcome.TIED, Outcome.NO_SCORE)


@dataclass(frozen=True)
class HeatSide:
    """A side of a heat: the figures of its run, or why it cannot be compared; `points` once the heat is decided."""

    run: Run
    figures: Figures | None
    pending: Pending | None
    points: int | None = None


@dataclass(frozen=True)
class Pair:
    """Two teams that have met, and their points."""

    teams: tuple[str, str]
    points: tuple[int, int]


@dataclass(frozen=True)
class HeatResult:
    """A heat, its sides in the order of their stations, and its outcome; `winner` only if it is won."""

    name: str
    round: int | None
    sides: tuple[HeatSide, ...]
    outcome: Outcome
    winner: str | None = None
    pairs: tuple[Pair, ...] = ()

    @property
    def teams(self) -> tuple[str, ...]:
        """The teams, in the order of the sides."""
        return tuple(side.run.team for side in self.sides)

    @property
    def is_decided(self) -> bool:
        """True if every side can be compared."""
        return self.outcome in DECIDED


def heat_results(
    contest: Contest,
    *,
    published_only: bool = False,
) -> list[HeatResult]:
    """Return the heats in the order of their first runs, with `published_only` as the jury has published them."""
    hidden = unpublished(contest) if published_only else {}
    stations = [one.name for one in contest.config.stations]
    rounds = {heat.name: heat.round for heat in contest.store.heats.all()}
    runs: dict[str, list[Run]] = {}
    for run in contest.store.runs.find():
        if run.heat is not None:
            runs.setdefault(run.heat, []).append(run)
    found = []
    for name, its in runs.items():
        sides = [_side(contest, run, hidden) for run in sides_of(its, stations)]
        if sides:
            rule = contest.config.contest_rule
            found.append(result_of(name, rounds.get(name), sides, rule))
    return found


def sides_of(runs: Sequence[Run], stations: Sequence[str]) -> list[Run]:
    """Return the runs of a heat that are its sides, in the order of these stations, as they stand in the hall.

    A run that was voided before it opened is none, nor a void one whose team has another run in the heat.
    """
    valid = [run for run in runs if run.state is not RunState.VOID]
    teams = {run.team for run in valid}
    void = {
        run.team: run
        for run in runs
        if run.state is RunState.VOID
        and run.opened_utc is not None
        and run.team not in teams
    }

    def place(run: Run) -> tuple[int, int]:
        known = run.station in stations
        return (stations.index(run.station) if known else len(stations), run.id)

    return sorted([*valid, *void.values()], key=place)


def _side(contest: Contest, run: Run, hidden: Container[int]) -> HeatSide:
    if run.id in hidden:
        return HeatSide(run, None, _HIDDEN)
    found = comparable(contest, run)
    if isinstance(found, Pending):
        return HeatSide(run, None, found)
    return HeatSide(run, found, None)


def result_of(
    name: str,
    round_: int | None,
    sides: Sequence[HeatSide],
    rule: ContestRule = DEFAULT,
) -> HeatResult:
    """Return the result of a heat with these sides, by the contest's rule."""
    undecided = HeatResult(name, round_, tuple(sides), _outcome_of(sides))
    if undecided.outcome is not Outcome.WON:
        return undecided
    pairs = []
    points = {side.run.team: 0 for side in sides}
    for one, other in combinations(sides, 2):
        teams = (one.run.team, other.run.team)
        both = _met(one, other, rule)
        pairs.append(Pair(teams, both))
        for team, its in zip(teams, both, strict=True):
            points[team] += its
    scored = tuple(replace(side, points=points[side.run.team]) for side in sides)
    most = max(points.values())
    best = [team for team, its in points.items() if its == most]
    decided = replace(undecided, sides=scored, pairs=tuple(pairs))
    if most == 0:
        return replace(decided, outcome=Outcome.NO_SCORE)
    if len(best) > 1:
        return replace(decided, outcome=Outcome.TIED)
    return replace(decided, winner=best[0])


def _met(one: HeatSide, other: HeatSide, rule: ContestRule) -> tuple[int, int]:
    if one.figures is None or other.figures is None:
        raise ValueError("a side that cannot be compared has met nobody")
    return points_of(one.figures, other.figures, rule)


def _outcome_of(sides: Sequence[HeatSide]) -> Outcome:
    """Return the outcome by the states of the sides; WON stands for any that the points decide."""
    states = {side.run.state for side in sides}
    if states == {RunState.ARMED}:
        return Outcome.NOT_STARTED
    if RunState.OPEN in states:
        return Outcome.RUNNING
    if len(sides) == 1 or any(side.pending is not None for side in sides):
        return Outcome.UNDECIDED
    return Outcome.WON


PUBLIC_REASONS = {
    Undecided.NOT_OVER: "its run is not over",
    Undecided.NOT_JUDGED: "its run is not judged yet",
    Undecided.NOT_PUBLISHED: NOT_PUBLISHED,
    Undecided.IN_REVIEW: "its run is in review",
    Undecided.NO_ENERGY: "its run has no energy",
    Undecided.VOID: "its run is void",
    Undecided.OTHER_RULE: "its run was armed with another rule",
}


def why_undecided(result: HeatResult) -> list[str]:
    """Return, for each side that cannot be compared, the team and why, as clauses for everyone."""
    found = [
        f"{side.run.team}: {PUBLIC_REASONS[side.pending.why]}"
        for side in result.sides
        if side.pending is not None
    ]
    if len(result.sides) == 1:
        found.append(f"{result.sides[0].run.team} has no opponent")
    return found
