"""The board of a season: each team's best run in any of the season's contests, and all its runs. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise, starmap
from typing import Any, cast

from lpirc_score.analysis.interval import EnergySpread, chance_of_order
from lpirc_testsets.truth_marks import NO_TRUTH_CLAUSE
from referee.contest_rules import DEFAULT
from referee.judging.bound_rules import rule_of
from referee.judging.ranking import (
    SURE,
    Level,
    NotRanked,
    Place,
    Standing,
    covered,
    differences,
    rank,
)
from referee.judging.run_figures import standing_review
from referee.judging.score_uncertainty import energy_spread_of
from referee.judging.standings import place_document, standing_of
from referee.season.season_doubts import Doubt, DoubtCode
from referee.season.season_runs import SeasonRun
from referee.store.records import RunState

ByRun = dict[tuple[str, int], Place]


@dataclass(frozen=True)
class SeasonStanding(Standing):
    """A run with a score, from the contest or bundle at the path `contest`; `utc` is when the run was over.

    If the contest's board has been frozen since `frozen_utc` (None: it is live), the run is as that board shows it.
    `doubts` are the contradictions found in the run or its contest.
    """

    contest: str = ""
    station: str = ""
    utc: str = ""
    frozen_utc: str | None = None
    doubts: tuple[Doubt, ...] = ()


def is_verified(one: Standing) -> bool:
    """Return True if the figures agree with the log, or come from a version that logged no figures."""
    return one.not_ranked_code is not NotRanked.NOT_VERIFIED


@dataclass(frozen=True)
class SeasonBoard:
    """The teams' places, best first, and each team's `history`: all its runs, oldest first.

    `unranked` are the runs in review and the runs that failed verification, best score first. They are shown, but give
    no team a rank. `usual` is the most common signature; each place is compared with it. `left_out` says why runs are
    not on the board at all.
    """

    places: list[Place]
    history: dict[str, list[Place]]
    left_out: list[str]
    usual: str
    unranked: list[Place]

    @property
    def not_verified(self) -> list[str]:
        """Return a sentence for each run that failed verification."""
        standings = [cast(SeasonStanding, place.standing) for place in self.unranked]
        return [
            f"Run {one.run} of {one.team} in {one.contest} is not ranked: {one.not_ranked}."
            for one in standings
            if not is_verified(one)
        ]

    @property
    def by_run(self) -> ByRun:
        """Return every run's place, by contest and run number."""
        every = (one for its in self.history.values() for one in its)
        return {(vars(one.standing)["contest"], one.standing.run): one for one in every}

    @property
    def histories(self) -> list[list[Place]]:
        """Return the history of each team, ranked teams first."""
        teams = dict.fromkeys(
            place.standing.team for place in (*self.places, *self.unranked)
        )
        return [self.history[team] for team in teams]

    @property
    def documents(self) -> list[dict[str, Any]]:
        """Return the JSON documents of all runs, team by team; `latest` marks the newest run of a team."""
        return [
            place_document(one) | {"latest": one is its[-1]}
            for its in self.histories
            for one in its
        ]


def season_board(
    runs: Iterable[SeasonRun],
    apart: Callable[..., Iterable[float]] = starmap,
) -> SeasonBoard:
    """Rank the teams. `apart` is a `map` for the comparisons of neighbours, which may use other processes.

    Only neighbours on the board are compared: there would be too many pairs otherwise.
    """
    found: dict[Standing, SeasonRun] = {}
    left_out = []
    for run in runs:
        if isinstance(standing := _standing(run), str):
            left_out.append(
                f"Run {run.run.id} of {run.run.team} in {run.path} is not on the board: {standing}."
            )
        else:
            found[standing] = run
    spreads = _energy_spreads(found)
    without_spread = found
    found = {}
    for one, run in without_spread.items():
        spread = spreads[_attempts(one)]
        if spread is not None:
            one = replace(one, energy_spread=spread.sd)
        found[one] = run
    ordered = sorted(
        found,
        key=lambda one: (found[one].utc, str(found[one].path), one.run),
    )
    verified = [one for one in ordered if is_verified(one)]
    counts = Counter(
        one.signature.partition("|meter:")[0] for one in verified or ordered
    ).most_common(1)
    usual = counts[0][0] if counts else ""
    ranked = {place.standing: place for place in rank(ordered, {})}
    level: dict[Standing, list[Level]] = defaultdict(list)
    known = {
        one: replace(its, energy_spread=spreads[_attempts(one)])
        for one in ranked
        if (its := found[one].halved)
    }
    chances = apart(chance_of_order, pairwise(known.values()))
    for (one, other), chance in zip(pairwise(known), chances, strict=True):
        if chance < SURE:
            covers = covered(one, other)
            level[one].append(Level(other.team, chance, covers))
            level[other].append(Level(one.team, chance, covers))
    history: dict[str, list[Place]] = defaultdict(list)
    differs = cache(partial(differences, usual=usual))  # many runs share a signature
    for one in ordered:
        place = ranked.get(one, Place(None, one))
        place = replace(
            place,
            level_with=tuple(level[one]),
            differs=differs(one.signature) + one.other_rules,
        )
        history[one.team].append(place)
    every = [place for its in history.values() for place in its]
    ranked_places = {place.standing.team: place for place in every if place.rank}
    places = [ranked_places[one.team] for one in ranked]
    unranked = [place for place in every if place.standing.not_ranked is not None]
    unranked.sort(key=lambda place: -place.standing.score)
    return SeasonBoard(places, history, left_out, usual, unranked)


def _attempts(one: Standing) -> tuple[str, str]:
    """Return the team and contest of a run as the key under which its attempts are collected."""
    return vars(one)["contest"], one.team


def _energy_spreads(
    standings: Iterable[Standing],
) -> dict[tuple[str, str], EnergySpread | None]:
    energies_wh: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one in standings:
        its = energies_wh[_attempts(one)]
        if not one.needs_review and is_verified(one):
            its.append(one.energy_wh)
    return {of: energy_spread_of(its) for of, its in energies_wh.items()}


def _standing(one: SeasonRun) -> SeasonStanding | str:
    """Return the run as boards show it, or the reason why it is on no board."""
    rule = rule_of(one.run)
    if rule != DEFAULT:
        return f"it is ranked by {rule.figure}, and a season ranks by accuracy over energy alone"
    found = _judged_standing(one) if one.shown is None else one.shown
    if isinstance(found, str):
        return found
    if found.not_ranked_code is NotRanked.BELOW_LEAST_MAP:
        return str(found.not_ranked)
    if told := [
        doubt.sentence for doubt in one.doubts if doubt.code is not DoubtCode.NOT_BOUND
    ]:
        reason = f"its records failed verification: {'; '.join(told)}"
        found = replace(
            found,
            not_ranked_code=NotRanked.NOT_VERIFIED,
            not_ranked=reason,
        )
    return SeasonStanding(
        **vars(found),
        contest=str(one.path),
        station=one.run.station,
        utc=one.utc,
        frozen_utc=one.frozen_utc,
        doubts=one.doubts,
    )


def _judged_standing(one: SeasonRun) -> Standing | str:
    run = one.run
    judged = one.judged
    if judged is None or run.state is not RunState.JUDGED:
        return "it is not judged"
    if judged.map is None:
        return NO_TRUTH_CLAUSE
    if judged.score is None or judged.energy_wh is None:
        return "it has no score"
    return standing_of(run, judged, standing_review(judged, one.review), one.least_map)
