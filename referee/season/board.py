"""The board of a season: each team's best run in any of its contests, and all its runs. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise, starmap
from typing import Any

from referee.judging.leaderboard import SURE, Place, Standing, differences, rank
from referee.judging.results import below_least_map, place_document, standing_of, standing_review
from referee.scoring.interval import chance_of_order
from referee.season.contests import SeasonRun
from referee.store.records import RunState

ByRun = dict[tuple[str, int], Place]


@dataclass(frozen=True)
class SeasonStanding(Standing):
    """A run with a score, of the contest or bundle at a path; `utc` is when it was over."""

    contest: str = ""
    station: str = ""
    utc: str = ""


@dataclass(frozen=True)
class SeasonBoard:
    """The teams' places, best first, and each team's `history`: all its runs, oldest first.

    `usual` is the most common signature, from which places differ. `left_out` says why runs are on no board.
    """

    places: list[Place]
    history: dict[str, list[Place]]
    left_out: list[str]
    usual: str

    @property
    def by_run(self) -> ByRun:
        """Every run by its contest and number."""
        every = (one for its in self.history.values() for one in its)
        return {(vars(one.standing)["contest"], one.standing.run): one for one in every}

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The JSON documents of all runs, team by team; `latest` is the newest of its team."""
        teams = [self.history[place.standing.team] for place in self.places]
        return [place_document(one) | {"latest": one is its[-1]} for its in teams for one in its]


def season_board(runs: Iterable[SeasonRun], apart: Callable[..., Iterable[float]] = starmap) -> SeasonBoard:
    """Rank the teams. Only neighbours are compared, of all pairs there would be too many; `apart` says how."""
    found: dict[Standing, SeasonRun] = {}
    left_out = []
    for run in runs:
        if isinstance(standing := _standing(run), str):
            left_out.append(f"Run {run.run.id} of {run.run.team} in {run.path} is left out: {standing}.")
        else:
            found[standing] = run
    ordered = sorted(found, key=lambda one: (found[one].utc, str(found[one].path), one.run))
    counts = Counter(one.signature.partition("|meter:")[0] for one in ordered).most_common(1)
    usual = counts[0][0] if counts else ""
    ranked = {place.standing: place for place in rank(ordered, {})}
    level: dict[Standing, list[tuple[str, float]]] = defaultdict(list)
    known = {one: drawn for one in ranked if (drawn := found[one].resampled)}
    chances = apart(chance_of_order, pairwise(known.values()))
    for (one, other), chance in zip(pairwise(known), chances, strict=True):
        if chance < SURE:
            level[one].append((other.team, chance))
            level[other].append((one.team, chance))
    history: dict[str, list[Place]] = defaultdict(list)
    differs = cache(partial(differences, usual=usual))  # few signatures are unlike
    for one in ordered:
        place = ranked.get(one, Place(None, one))
        place = replace(place, level_with=tuple(level[one]), differs=differs(one.signature) + one.other_rules)
        history[one.team].append(place)
    places = [next(place for place in history[one.team] if place.rank) for one in ranked]
    return SeasonBoard(places, history, left_out, usual)


def _standing(one: SeasonRun) -> SeasonStanding | str:
    """The run as boards show it, or why it is on none."""
    run, judged = one.run, one.judged
    if judged is None or run.state is not RunState.JUDGED:
        return "it is not judged"
    if judged.score is None or judged.energy_wh is None:
        return "it has no score"
    if why := below_least_map(one.least_map, judged.map):
        return why
    found = standing_of(run, judged, judged.score, judged.energy_wh, standing_review(judged, one.review))
    return SeasonStanding(**vars(found), contest=str(one.path), station=run.station, utc=one.utc)
